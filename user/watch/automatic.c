/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures that the resident recorder takes by itself: who is hurt in each second, and whether that
 * is worth one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "judge/verdicts.h"
#include "output/report_text.h"
#include "output/verdict_words.h"
#include "watch/minutes.h"
#include "watch/private.h"

/* Verdicts are of so many seconds together, at the most: what is too seldom to tell in one. */
#define JUDGED_SLICES 5
/* Who is still hurt is asked about again: another trunk, a rest that is over. */
#define ASK_AGAIN_NS (10 * SECOND_NS)
/* The trunk is that of the last seconds. */
#define TRUNK_NS (15 * SECOND_NS)
/* A method that holds less of the CPU tells no trouble from another; nor does any of a process that
 * hardly runs. */
#define TRUNK_SHARE   0.25
#define TRUNK_RUNNING 0.25
/* Lines a second that say why there is none. */
#define TOLD_MAX 3

/* --- time ------------------------------------------------------------------------------------ */

static int64_t not_later(int64_t time_s, int64_t now_s)
{
	return time_s < now_s ? time_s : now_s;
}

void automatic_take_over(struct watch *w)
{
	struct policy_memory *memory = &w->policy.memory;
	int64_t now_s = (int64_t)time(NULL);

	w->policy_base_s = now_s - (int64_t)(clock_ns(CLOCK_BOOTTIME) / SECOND_NS);
	*memory = w->state.memory;
	/* Of a clock that was ahead then. */
	for (size_t i = 0; i < POLICY_HOUR_MAX; i++)
		memory->taken_s[i] = not_later(memory->taken_s[i], now_s);
	for (size_t i = 0; i < POLICY_LIKES; i++) {
		memory->likes[i].taken_s = not_later(memory->likes[i].taken_s, now_s);
		memory->likes[i].seen_s = not_later(memory->likes[i].seen_s, now_s);
	}
}

/* --- who is hurt ----------------------------------------------------------------------------- */

/* In the newest second; or, where each second has too little to tell, over all of them. */
static bool is_bad(const struct verdict_row *row, uint32_t newest)
{
	return row->newest == newest || (row->result.hurt && !row->hurt_slices);
}

static uint64_t tenant_of(const struct model_process *p)
{
	if (*p->container_id)
		return hash_bytes(p->container_id, strlen(p->container_id));
	return p->uid == UID_UNKNOWN ? hash_u64(p->cgroup_id) : p->uid + 1ull;
}

/* place: for the row, which borrows it. */
static struct suspect_row suspect_of(const struct model *m, const struct verdict_row *row,
				     char place[static HISTORY_PLACE_BYTES])
{
	const struct model_process *p = &m->processes[row->process];
	bool seconds = row->hurt_slices > 0;
	char name[HISTORY_NAME_BYTES];

	minutes_kind(p, name, place);
	return (struct suspect_row){
		.tgid = p->tgid,
		.start_ns = p->start_ns,
		.process = row->process,
		.name = *p->name ? p->name : p->comm,
		.unit = p->unit,
		.place = place,
		.tenant = tenant_of(p),
		.result = seconds ? row->worst_result : row->result,
		.input = seconds ? row->worst_input : row->input,
		.no_capture = row->no_capture,
	};
}

/* Those who are hurt, and the host where it is itself the reason. */
static size_t find_bad(const struct watch *w, const struct model *m, const struct verdicts *v,
		       struct suspect_row rows[static SUSPECTS_MAX + 1],
		       char places[static SUSPECTS_MAX][HISTORY_PLACE_BYTES])
{
	uint32_t newest = (uint32_t)m->slices_cnt - 1;
	size_t cnt = 0;

	for (size_t i = 0; i < v->rows_cnt && cnt < SUSPECTS_MAX; i++)
		if (is_bad(&v->rows[i], newest) &&
		    selection_has(&w->config.selection, &m->processes[v->rows[i].process])) {
			rows[cnt] = suspect_of(m, &v->rows[i], places[cnt]);
			cnt++;
		}
	if (v->host.newest == newest)
		rows[cnt++] = (struct suspect_row){.process = MODEL_NONE,
						   .name = m->host.name,
						   .unit = "",
						   .place = "",
						   .result = v->host.worst_result,
						   .input = v->host.worst_input,
						   .no_capture = v->host.no_capture};
	return cnt;
}

static void follow(struct watch *w, const struct model *m)
{
	const struct model_slice *newest = &m->slices[m->slices_cnt - 1];
	size_t window = (size_t)(w->config.confirm_ns / SECOND_NS), cnt;
	struct suspect_row rows[SUSPECTS_MAX + 1];
	char places[SUSPECTS_MAX][HISTORY_PLACE_BYTES];
	struct verdicts *v;

	window = window > JUDGED_SLICES ? JUDGED_SLICES : window;
	window = window > m->slices_cnt ? m->slices_cnt : window;
	/* At rest it costs next to nothing. */
	if (verdicts_all_calm(m, (uint32_t)(m->slices_cnt - window), &w->config.limits)) {
		suspects_second(&w->suspects, NULL, 0, true, newest->start_ns, newest->end_ns);
		return;
	}
	v = verdicts_recent(m, (uint32_t)(m->slices_cnt - window), &w->config.limits, true);
	if (!v)
		return;
	cnt = find_bad(w, m, v, rows, places);
	suspects_second(&w->suspects, rows, cnt, !v->missing, newest->start_ns, newest->end_ns);
	verdicts_free(v);
}

const struct suspect *automatic_suspect(const struct watch *w)
{
	return suspects_first(&w->suspects);
}

/* --- its trunks ------------------------------------------------------------------------------ */

/* A question about one of them. */
struct asking {
	struct watch *w;
	const struct suspect *who;
	struct auto_trunks trunks;
};

static const char *trunk_of(void *ctx)
{
	struct asking *a = ctx;
	uint64_t from_ns = a->who->last_ns > TRUNK_NS ? a->who->last_ns - TRUNK_NS : 0;

	if (a->who->since_ns > from_ns)
		from_ns = a->who->since_ns;
	if (a->who->tgid && a->who->input.running < TRUNK_RUNNING)
		return "";
	if (finished_trunks(a->w, a->who, from_ns, &a->trunks) || !a->trunks.cnt ||
	    a->trunks.shares[0] < TRUNK_SHARE)
		return "";
	return a->trunks.names[0];
}

/* Of the host nothing is asked: what is usual is known of who runs on it. */
static void past_of(void *ctx, struct policy_past *ret_past)
{
	const struct asking *a = ctx;
	const struct verdict_result *result = &a->who->result;
	struct past_usual usual;

	*ret_past = (struct policy_past){.known = false};
	/* Of other figures there is no past: better a capture too many. */
	if (!a->who->tgid || !result->evidence_cnt ||
	    result->evidence[0].figure != FIGURE_SLOW_SHARE ||
	    !history_usual(a->w->history, a->who->name, a->who->place, &usual))
		return;
	*ret_past = (struct policy_past){.known = usual.served > 0,
					 .hours = usual.hours,
					 .bad_share = usual.bad_share[result->verdict],
					 .usual = usual.slow.high};
}

/* What becomes of it, for the history. */
static void remember(const struct asking *a, bool taken, const char *reason, const char *capture)
{
	history_add_decision(
		a->w->history,
		&(struct history_decision){.time_s = (int64_t)time(NULL),
					   .process = a->who->name,
					   .verdict = a->who->result.verdict,
					   .taken = taken,
					   .reason = reason,
					   .trunk = a->trunks.cnt ? a->trunks.names[0] : "",
					   .capture = capture});
}

/* --- the question ---------------------------------------------------------------------------- */

static struct policy_means means_of(struct watch *w, uint64_t now_ns)
{
	const struct model *m = collector_model(w->collector);
	const struct job *job = jobs_auto(w);
	struct policy_means means = {.free_bytes = UINT64_MAX, .last_bytes = w->last_bytes};
	struct statvfs disk;

	if (w->control && !fstatvfs(w->dir, &disk))
		means.free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	means.cpu_granted_ns = (uint64_t)(w->config.budget * m->host.cpus_online * POLICY_HOUR_S *
					  (double)SECOND_NS);
	if (job) {
		means.running = job->name;
		means.running_left_s =
			job->end_ns > now_ns ? (uint32_t)((job->end_ns - now_ns) / SECOND_NS) : 0;
	}
	return means;
}

/* Of the host, all who are hurt. */
static double people_of(const struct watch *w, const struct suspect *s)
{
	double people = 0;

	if (s->tgid)
		return suspect_people(&s->input);
	for (size_t i = 0; i < w->suspects.cnt; i++)
		if (w->suspects.rows[i].tgid)
			people += suspect_people(&w->suspects.rows[i].input);
	return people;
}

static void ask(struct asking *a, uint64_t now_ns, struct policy_reply *ret_reply)
{
	const struct watch_config *config = &a->w->config;
	const struct policy_options options = {.on = config->capture_on,
					       .cooldown_s =
						       (uint32_t)(config->cooldown_ns / SECOND_NS),
					       .per_hour = (uint32_t)config->captures_per_hour};
	struct policy_means means = means_of(a->w, now_ns);
	char evidence[VERDICT_WORDS_BYTES], identity[SUSPECT_IDENTITY];
	const struct policy_case c = {.identity = identity,
				      .tenant = a->who->tenant,
				      .result = &a->who->result,
				      .evidence = evidence,
				      .people = people_of(a->w, a->who),
				      .no_capture = a->who->no_capture,
				      .past = past_of,
				      .trunk = trunk_of,
				      .ctx = a};

	suspect_identity(identity, a->who);
	finished_evidence(evidence, a->who);
	policy_ask(&a->w->policy, &options, &c, &means, finished_now_s(a->w), ret_reply);
	if (ret_reply->answer == POLICY_RUNNING && policy_holds(&means))
		policy_held(&a->w->policy, ret_reply, a->who->result.verdict, finished_now_s(a->w));
}

/* --- the answer ------------------------------------------------------------------------------ */

/* So that its first bad second is in it, as long as that is in memory. */
static uint64_t before_of(const struct watch *w, const struct suspect *s, uint64_t now_ns)
{
	uint64_t bad_ns = now_ns - s->since_ns + SECOND_NS;

	return bad_ns > w->config.before_ns && bad_ns <= w->config.ring_ns ? bad_ns
									   : w->config.before_ns;
}

static enum policy_answer take(struct asking *a, const struct policy_reply *reply, uint64_t now_ns)
{
	struct watch *w = a->w;
	char who[AUTO_WHO_BYTES], name[FOLDER_NAME_BYTES], why[512], taken[AUTO_TAKEN_BYTES];
	struct job_options options = {.by = FOLDER_AUTO,
				      .before_ns = before_of(w, a->who, now_ns),
				      .after_ns = w->config.after_ns,
				      .taken = taken};

	finished_who(who, a->who);
	snprintf(taken, sizeof(taken), "%s, hurt for %s; %s", who, number_time(a->who->bad_ns).text,
		 reply->text);
	if (jobs_begin(w, &options, name, why, sizeof(why))) {
		log_warn("no capture of %s: %s", who, why);
		remember(a, false, why, "");
		return POLICY_FAILED;
	}
	log_info("taking a capture: %s: %s", name, taken);
	remember(a, true, reply->text, name);
	suspects_taken(&w->suspects);
	policy_taken(&w->policy, reply, a->who->tenant, a->who->result.verdict, finished_now_s(w));
	finished_see(w, a->who, &a->trunks);
	finished_expect(w, name, a->who, taken);
	w->maps_process = a->who->tgid ? a->who->process : MODEL_NONE;
	return POLICY_TAKEN;
}

/* What it was taken for goes on: no news. */
static bool is_news(const struct suspect *s, enum policy_answer answer, bool held)
{
	if (!s->is_answered)
		return true;
	if (s->is_captured && (answer == POLICY_LATELY || held))
		return false;
	return s->answer != (int)answer;
}

static void refuse(const struct asking *a, const struct policy_reply *reply, unsigned int *told)
{
	char who[AUTO_WHO_BYTES];

	a->w->refusals[reply->answer]++;
	if (reply->answer == POLICY_OFF)
		return;
	if (reply->answer != POLICY_FAILED)
		remember(a, false, reply->text, "");
	if (++*told > TOLD_MAX)
		return;
	finished_who(who, a->who);
	log_info("no capture of %s: %s", who, reply->text);
}

static void consider(struct watch *w, struct suspect *s, uint64_t now_ns, unsigned int *told)
{
	struct asking asking = {.w = w, .who = s};
	struct policy_reply reply;
	bool held;

	/* What is too little may be enough with the next second. */
	if (s->is_answered && s->answer != POLICY_SMALL && now_ns - s->asked_ns < ASK_AGAIN_NS)
		return;
	s->asked_ns = now_ns;
	ask(&asking, now_ns, &reply);
	held = reply.answer == POLICY_RUNNING;
	if (reply.answer == POLICY_TAKEN)
		reply.answer = take(&asking, &reply, now_ns);
	if (reply.answer == POLICY_TAKEN)
		s->is_captured = true;
	else if (is_news(s, reply.answer, held))
		refuse(&asking, &reply, told);
	s->is_captured |= held;
	s->is_answered = true;
	s->answer = (int)reply.answer;
}

void automatic_slice(struct watch *w)
{
	const struct model *m = collector_model(w->collector);
	struct suspect *rows[SUSPECTS_MAX];
	unsigned int told = 0;
	uint64_t end_ns;
	size_t cnt;

	w->maps_process = MODEL_NONE;
	if (!m->slices_cnt)
		return;
	end_ns = m->slices[m->slices_cnt - 1].end_ns;
	follow(w, m);
	cnt = suspects_confirmed(&w->suspects, w->config.confirm_ns, end_ns, rows);
	for (size_t i = 0; i < cnt && w->config.capture_on && w->control; i++)
		consider(w, rows[i], end_ns, &told);
	w->state.memory = w->policy.memory;
	if (w->options.maps)
		w->options.maps(w->options.maps_ctx, m, w->maps_process, jobs_asked(w), &w->config);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the resident recorder tells others: metrics, health, status. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/privileges.h"
#include "base/text.h"
#include "judge/verdicts.h"
#include "kernel/host.h"
#include "watch/notify.h"
#include "watch/private.h"

/* The loop turns twice a second: when it has not for so long, something is badly wrong. */
#define BEAT_NS 30000000000ull
/* Verdicts are of all that the ring holds, and change slowly. */
#define JUDGE_EVERY_NS 10000000000ull
/* Where the model is renewed all the time: of what there is. */
#define JUDGE_LATEST_NS (3 * JUDGE_EVERY_NS)

/* --- HTTP: on the server's thread ------------------------------------------------------------ */

static int put_metrics(void *ctx, const struct http_counts *counts, FILE *out)
{
	struct watch *w = ctx;
	int err;

	pthread_mutex_lock(&w->mutex);
	w->own.uptime_ns = clock_now_ns() - w->start_ns;
	w->own.http_answered = counts->answered;
	w->own.http_refused = counts->refused;
	w->own.http_late = counts->late;
	w->own.http_displaced = counts->displaced;
	err = metrics_write(out, series_metrics(w->series), &w->own);
	pthread_mutex_unlock(&w->mutex);
	return err;
}

static bool is_healthy(void *ctx, char *why, size_t why_bytes)
{
	struct watch *w = ctx;
	uint64_t silent_ns;

	pthread_mutex_lock(&w->mutex);
	silent_ns = clock_now_ns() - w->beat_ns;
	pthread_mutex_unlock(&w->mutex);
	if (silent_ns < BEAT_NS)
		return true;
	snprintf(why, why_bytes, "the loop stands still since %llu s",
		 (unsigned long long)(silent_ns / 1000000000));
	return false;
}

static bool is_ready(void *ctx, char *why, size_t why_bytes)
{
	struct watch *w = ctx;
	bool ready;

	pthread_mutex_lock(&w->mutex);
	ready = w->own.ready;
	text_copy_safe(why, why_bytes, w->why, strlen(w->why));
	pthread_mutex_unlock(&w->mutex);
	return ready;
}

struct opening {
	struct watch *w;
	char *why;
	size_t why_bytes;
	uint64_t privileges; /* to keep */
	int err;
};

/* In a thread that has let go of its capabilities, so that the one that serves is made without. */
static void *open_http(void *ctx)
{
	struct opening *o = ctx;
	const struct http_ops ops = {o->w, put_metrics, is_healthy, is_ready};

	o->err = privileges_keep(o->privileges);
	if (!o->err)
		o->err = http_new(o->w->options.listen, &ops, o->why, o->why_bytes, &o->w->http);
	else
		snprintf(o->why, o->why_bytes, "capabilities: %s", strerror(-o->err));
	return NULL;
}

static int open_without(struct watch *w, uint64_t privileges, char *why, size_t why_bytes)
{
	struct opening o = {w, why, why_bytes, privileges, 0};
	pthread_t thread;
	int err = pthread_create(&thread, NULL, open_http, &o);

	if (err) {
		snprintf(why, why_bytes, "%s: %s", w->options.listen, strerror(err));
		return -err;
	}
	pthread_join(thread, NULL);
	return o.err;
}

int page_open(struct watch *w, char *why, size_t why_bytes)
{
	int err;

	if (!*w->why)
		page_not_ready(w, "starting");
	if (!w->options.listen)
		return 0;
	err = open_without(w, 0, why, why_bytes);
	/* A port below 1024. */
	if (err == -EACCES)
		err = open_without(w, PRIVILEGE(CAP_NET_BIND_SERVICE), why, why_bytes);
	if (!err)
		log_info("metrics: port %u of %s", http_port(w->http), w->options.listen);
	return err;
}

/* --- the loop's side ------------------------------------------------------------------------- */

void page_not_ready(struct watch *w, const char *why)
{
	char safe[sizeof(w->why)], status[sizeof("STATUS=not ready: ") + sizeof(safe)];

	if (why && !strcmp(why, w->why))
		return;
	pthread_mutex_lock(&w->mutex);
	w->own.ready = !why;
	snprintf(w->why, sizeof(w->why), "%s", why ? why : "");
	w->own.why = w->why;
	pthread_mutex_unlock(&w->mutex);
	text_copy_safe(safe, sizeof(safe), w->why, strlen(w->why));
	snprintf(status, sizeof(status), why ? "STATUS=not ready: %s" : "STATUS=watching", safe);
	notify(status);
}

static uint64_t rss_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long all, resident = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &all, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The row of a name; NULL: there is no more room. */
static struct metrics_costly *costly_row(struct metrics_own *own, const char *name)
{
	struct metrics_costly *row = NULL;

	for (uint32_t i = 0; i < own->costly_cnt && !row; i++)
		if (!strncmp(own->costly[i].process, name, METRICS_LABEL_BYTES))
			row = &own->costly[i];
	if (!row && own->costly_cnt == METRICS_COSTLY)
		return NULL;
	if (!row) {
		row = &own->costly[own->costly_cnt++];
		*row = (struct metrics_costly){0};
		snprintf(row->process, sizeof(row->process), "%s", name);
	}
	return row;
}

/* Adds a process to those of its name. */
static void add_costly(struct metrics_own *own, const struct model_process *p)
{
	struct metrics_costly *row = costly_row(own, *p->name ? p->name : p->comm);

	if (!row)
		return;
	row->left_out[METRICS_LEFT_OUT_FILES] += p->files_refused;
	row->left_out[METRICS_LEFT_OUT_MAP] += p->map_unread_bytes;
}

/* Who is set aside now: who costs most comes before the others. */
static void take_aside(struct watch *w, uint64_t now_ns)
{
	const struct set_aside_row *rows[SET_ASIDE_MAX];
	size_t cnt = set_aside_now(&w->set_aside, now_ns, rows);

	for (size_t i = 0; i < cnt; i++) {
		struct metrics_costly *row = costly_row(&w->own, rows[i]->who);

		if (row)
			row->left_out[METRICS_LEFT_OUT_ASIDE] = now_ns - rows[i]->since_ns;
	}
}

static void take_naming(struct watch *w)
{
	const struct names_cost cost = collector_names_cost(w->collector);
	const struct model *m = collector_model(w->collector);
	struct metrics_own *own = &w->own;

	own->naming_cpu_ns = budget_helpers_ns(w);
	own->naming_rss_bytes = cost.memory_bytes;
	own->naming_table_bytes = cost.table_bytes;
	own->naming_killed = cost.killed;
	own->costly_cnt = 0;
	take_aside(w, clock_now_ns());
	for (size_t i = 0; i < m->processes_cnt; i++)
		if (m->processes[i].files_refused || m->processes[i].map_unread_bytes)
			add_costly(own, &m->processes[i]);
}

_Static_assert(POLICY_ANSWER_CNT <= METRICS_REFUSALS, "each has a line");

/* With the lock held. */
static void take_own(struct watch *w)
{
	const struct model *m = collector_model(w->collector);
	uint64_t from_ns = ring_from_ns(w->ring, m);
	struct metrics_own *own = &w->own;

	own->quiet = collector_gear(w->collector).quiet;
	own->sample_hz = m->host.sample_hz / collector_gear(w->collector).sample_every;
	own->level = w->governor.level;
	own->bpf_ns = budget_bpf_ns(w);
	own->map_bytes = collector_map_bytes(w->collector);
	own->requests = collector_sees_requests(w->collector);
	collector_features(w->collector, &own->features);
	own->samples = feature_is_on(&own->features, FEATURE_SAMPLES);
	own->budget = w->config.budget;
	own->cpu_ns = budget_cpu_ns(RUSAGE_SELF) + budget_cpu_ns(RUSAGE_CHILDREN);
	own->http_cpu_ns = http_cpu_ns(w->http);
	own->rss_bytes = rss_bytes();
	take_naming(w);
	own->ring_ns = from_ns ? m->host.end_ns - from_ns : 0;
	own->ring_bytes = ring_bytes(w->ring, m);
	own->triggered = w->state.triggered;
	own->rotated = w->state.rotated;
	own->automatic = w->state.automatic;
	own->suspects = w->suspects.cnt;
	own->refusals_cnt = 0;
	for (int i = POLICY_TAKEN + 1; i < POLICY_ANSWER_CNT; i++)
		own->refusals[own->refusals_cnt++] = (struct metrics_refusal){
			policy_answer_id((enum policy_answer)i), w->refusals[i]};
	own->failed = w->state.failed;
	own->removed = w->state.removed;
	own->trigger_s = w->state.trigger_s;
}

static void remember(void *ctx, uint32_t slice, uint32_t process, const struct verdict_input *input,
		     const struct verdict_result *result)
{
	history_judge(ctx, slice, process, input, result);
}

/* A model that has just begun knows of too few requests and waits: until then the last verdict
 * stands. */
static bool is_time_to_judge(const struct watch *w, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - w->judged_ns;
	uint64_t known_ns = now_ns - collector_start_ns(w->collector);

	return since_ns >= JUDGE_LATEST_NS ||
	       (since_ns >= JUDGE_EVERY_NS && known_ns >= JUDGE_EVERY_NS);
}

void page_slice(struct watch *w)
{
	const struct model *m = collector_model(w->collector);
	struct verdicts *verdicts = NULL; /* not now, or no memory */
	uint64_t now_ns = clock_now_ns();
	int err;

	history_slice(w->history, m, (uint32_t)(m->slices_cnt - 1));
	if (is_time_to_judge(w, now_ns)) {
		w->judged_ns = now_ns;
		verdicts = verdicts_recent_told(m, 0, &w->config.limits, remember, w->history);
		history_judged(w->history);
	}
	pthread_mutex_lock(&w->mutex);
	err = series_slice(w->series, m, (uint32_t)(m->slices_cnt - 1), verdicts);
	take_own(w);
	pthread_mutex_unlock(&w->mutex);
	verdicts_free(verdicts);
	if (err)
		log_warn("metrics: a slice is missing in part: %s", strerror(-err));
}

/* A line each: for how many seconds, and who. */
static void put_aside(const struct watch *w, char *text, size_t bytes)
{
	const struct set_aside_row *rows[SET_ASIDE_MAX];
	uint64_t now_ns = clock_now_ns();
	size_t cnt = set_aside_now(&w->set_aside, now_ns, rows), n;

	n = (size_t)snprintf(text, bytes, "names_aside %zu\n", cnt);
	for (size_t i = 0; i < cnt && n < bytes; i++) {
		char who[2 * METRICS_LABEL_BYTES];

		text_copy_safe(who, sizeof(who), rows[i]->who, strlen(rows[i]->who));
		n += (size_t)snprintf(text + n, bytes - n, "aside_s %.0f %s\n",
				      (double)(now_ns - rows[i]->since_ns) / 1e9, who);
	}
}

/* How many are suspected, and for how many seconds who is for longest. */
static size_t put_suspect(const struct watch *w, char *text, size_t bytes)
{
	const struct suspect *first = automatic_suspect(w);
	char name[2 * SUSPECT_NAME] = "";
	int n;

	if (first)
		text_copy_safe(name, sizeof(name), first->name, strlen(first->name));
	n = snprintf(text, bytes, "suspects %zu\n", w->suspects.cnt);
	if (first)
		n += snprintf(text + n, (size_t)n < bytes ? bytes - (size_t)n : 0,
			      "suspect_s %.0f %u %s %s\n",
			      (double)(clock_now_ns() - first->since_ns) / 1e9, first->tgid,
			      verdict_id(first->result.verdict), name);
	return (size_t)n;
}

/* A line each: its id, what is lost and why. */
static size_t put_features_off(const struct metrics_own *own, char *text, size_t bytes)
{
	size_t n = 0;

	for (enum feature f = 0; f < FEATURE_CNT; f++)
		if (feature_why(&own->features, f))
			n += (size_t)snprintf(text + n, n < bytes ? bytes - n : 0,
					      "feature_off %s: %s; %s\n", feature_rows[f].id,
					      feature_why(&own->features, f), feature_rows[f].lost);
	return n;
}

void page_status(struct watch *w, char *text, size_t bytes)
{
	const struct metrics_own *own = &w->own;
	char why[1024];
	size_t n;

	text_copy_safe(why, sizeof(why), w->why, strlen(w->why));
	n = (size_t)snprintf(
		text, bytes,
		"ready %d\nwhy %s\ngear %s\nsample_hz %u\nrequests %d\nlevel %s\nring_s %.0f\n"
		"captures %llu\nartifacts_pending %u\n",
		own->ready, why, own->quiet ? "quiet" : "full", own->sample_hz, own->requests,
		governor_level_id(governor_plan(&w->governor).level), (double)own->ring_ns / 1e9,
		(unsigned long long)own->captures,
		w->artifacts ? artifacts_pending(w->artifacts) : 0);
	n += put_features_off(own, text + n, n < bytes ? bytes - n : 0);
	n += put_suspect(w, text + n, n < bytes ? bytes - n : 0);
	put_aside(w, text + n, n < bytes ? bytes - n : 0);
}

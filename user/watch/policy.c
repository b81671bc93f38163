/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/policy.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "output/report_text.h"

/* --- what is written down -------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void say(struct policy_reply *r, const char *format,
						      ...)
{
	size_t len = strlen(r->text);
	va_list args;

	if (len && len + 2 < sizeof(r->text)) {
		strcpy(r->text + len, "; ");
		len += 2;
	}
	va_start(args, format);
	vsnprintf(r->text + len, sizeof(r->text) - len, format, args);
	va_end(args);
}

static void safe_name(char buf[static 256], const char *name)
{
	text_copy_safe(buf, 256, name, strlen(name));
}

/* --- the questions --------------------------------------------------------------------------- */

struct question {
	struct policy *p;
	const struct policy_options *options;
	const struct policy_case *c;
	const struct policy_means *means;
	int64_t now_s;
	struct policy_reply *r;
};

/* Each returns POLICY_TAKEN where the answer is yes. */
static enum policy_answer is_wanted(struct question *q)
{
	enum verdict verdict = q->c->result->verdict;

	if (!q->c->no_capture && q->options->on & VERDICT_BIT(verdict))
		return POLICY_TAKEN;
	say(q->r, "wanted: no, %s",
	    q->c->no_capture ? "its section says capture = off" : "not one of capture-on");
	return POLICY_OFF;
}

static double distance_of(const struct policy_case *c)
{
	return c->result->evidence_cnt ? verdict_distance(&c->result->evidence[0]) : 0;
}

static enum policy_answer is_significant(struct question *q)
{
	double distance = distance_of(q->c), people = q->c->people;
	bool yes = people >= POLICY_PEOPLE || distance >= POLICY_DISTANCE;

	say(q->r, "significant: %s, %s%s hurt, %s, %s %% beyond it", yes ? "yes" : "no",
	    people >= 1 ? number_count((uint64_t)people).text : "no",
	    people < 2 ? " request" : " requests", q->c->evidence,
	    number_fixed(100 * fmax(distance, 0), 0).text);
	return yes ? POLICY_TAKEN : POLICY_SMALL;
}

static bool is_worse_than_usual(const struct policy_case *c, const struct policy_past *past)
{
	const struct verdict_evidence *e = c->result->evidence;

	if (!c->result->evidence_cnt || past->usual <= 0)
		return false;
	return e->figure == FIGURE_PROGRESS ? e->value * POLICY_USUAL_FACTOR < past->usual
					    : e->value > POLICY_USUAL_FACTOR * past->usual;
}

static enum policy_answer is_unusual(struct question *q)
{
	struct policy_past past = {0};

	if (q->c->past)
		q->c->past(q->c->ctx, &past);
	if (!past.known || past.hours < POLICY_PAST_HOURS) {
		say(q->r, "unusual: its past is not known");
		return POLICY_TAKEN;
	}
	if (past.bad_share >= POLICY_USUAL_SHARE && !is_worse_than_usual(q->c, &past)) {
		say(q->r, "unusual: no, so in %s of the minutes of %u such hours",
		    number_percent(past.bad_share).text, past.hours);
		return POLICY_USUAL;
	}
	say(q->r, "unusual: yes, so in %s of the minutes of %u such hours%s",
	    number_percent(past.bad_share).text, past.hours,
	    past.bad_share >= POLICY_USUAL_SHARE ? ", and worse than then" : "");
	return POLICY_TAKEN;
}

/* --- the like -------------------------------------------------------------------------------- */

/* FNV-1a: not secret, since a file keeps it. Who forges one gets no captures of his own. */
static uint64_t add_hash(uint64_t hash, const char *s)
{
	do {
		hash ^= (unsigned char)*s;
		hash *= 0x100000001b3ull;
	} while (*s++);
	return hash;
}

static uint64_t like_of(const char *identity, const char *trunk)
{
	uint64_t hash = add_hash(add_hash(0xcbf29ce484222325ull, identity), trunk);

	return hash ? hash : 1;
}

/* Figures that change places while one trouble lasts are one: what is slow first hangs later. */
static const char *kind_of(enum verdict_figure figure)
{
	switch (figure) {
	case FIGURE_SLOW_SHARE:
	case FIGURE_STUCK:
	case FIGURE_UNANSWERED:
	case FIGURE_REFUSED:
		return "requests";
	case FIGURE_PROGRESS:
	case FIGURE_DELAY:
		return "waits";
	case FIGURE_HOST_BUSY:
	case FIGURE_HOST_WAITING:
		return "host";
	default:
		return verdict_figure_id(figure);
	}
}

const char *policy_evidence(const struct verdict_result *result)
{
	return result->evidence_cnt ? kind_of(result->evidence[0].figure)
				    : verdict_id(result->verdict);
}

/* What tells one trouble of a process from another. */
static const char *trunk_of(const struct policy_case *c)
{
	const char *trunk = c->trunk ? c->trunk(c->ctx) : "";

	return *trunk ? trunk : policy_evidence(c->result);
}

static void forget_old(struct policy *p, int64_t now_s)
{
	for (size_t i = 0; i < POLICY_LIKES; i++)
		if (p->memory.likes[i].hash && now_s - p->memory.likes[i].seen_s >= POLICY_FORGET_S)
			p->memory.likes[i] = (struct policy_like){0};
}

static struct policy_like *find_like(struct policy *p, uint64_t hash)
{
	for (size_t i = 0; i < POLICY_LIKES; i++)
		if (p->memory.likes[i].hash == hash)
			return &p->memory.likes[i];
	return NULL;
}

int64_t policy_rest_s(const struct policy_like *like, uint32_t cooldown_s)
{
	int64_t rest_s = cooldown_s;

	for (uint32_t i = 1; i < like->times && rest_s < POLICY_COOLDOWN_MOST_S; i++)
		rest_s *= 2;
	return rest_s < POLICY_COOLDOWN_MOST_S ? rest_s : POLICY_COOLDOWN_MOST_S;
}

static enum policy_answer is_long_ago(struct question *q)
{
	const char *trunk = trunk_of(q->c);
	struct policy_like *like;
	int64_t ago_s, rest_s;
	char name[256];

	safe_name(name, trunk);
	forget_old(q->p, q->now_s);
	q->r->like = like_of(q->c->identity, trunk);
	like = find_like(q->p, q->r->like);
	if (!like) {
		say(q->r, "lately: nothing like it (%s)", name);
		return POLICY_TAKEN;
	}
	like->seen_s = q->now_s;
	ago_s = q->now_s > like->taken_s ? q->now_s - like->taken_s : 0;
	rest_s = policy_rest_s(like, q->options->cooldown_s);
	if (verdict_compare(q->c->result->verdict, like->verdict) < 0) {
		say(q->r, "lately: %lld s ago (%s), but %s then", (long long)ago_s, name,
		    verdict_id(like->verdict));
		return POLICY_TAKEN;
	}
	say(q->r, "lately: the like %lld s ago (%s, taken %u time%s), it rests for %lld s",
	    (long long)ago_s, name, like->times, like->times == 1 ? "" : "s", (long long)rest_s);
	return ago_s < rest_s ? POLICY_LATELY : POLICY_TAKEN;
}

/* --- budget ---------------------------------------------------------------------------------- */

/* ret_own: of these, that tenant's. */
static uint32_t taken_this_hour(const struct policy *p, uint64_t tenant, int64_t now_s,
				uint32_t *ret_own)
{
	uint32_t cnt = 0;

	*ret_own = 0;
	for (size_t i = 0; i < POLICY_HOUR_MAX; i++) {
		if (!p->memory.taken_s[i] || now_s - p->memory.taken_s[i] >= POLICY_HOUR_S)
			continue;
		cnt++;
		*ret_own += p->taken_by[i] == tenant;
	}
	return cnt;
}

/* What a tenant may use that had one in this hour: the rest is for who had none. */
static uint32_t shared_of(uint32_t per_hour)
{
	return per_hour > 1 ? per_hour - (per_hour + 3) / 4 : per_hour;
}

static uint64_t spent_this_hour_ns(const struct policy *p, int64_t now_s)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < sizeof(p->spent) / sizeof(p->spent[0]); i++)
		if (now_s / 60 - p->spent[i].minute < POLICY_HOUR_S / 60)
			sum_ns += p->spent[i].cpu_ns;
	return sum_ns;
}

static enum policy_answer has_budget(struct question *q)
{
	uint64_t room_bytes = POLICY_ROOM_FACTOR * q->means->last_bytes;
	uint64_t spent_ns = spent_this_hour_ns(q->p, q->now_s),
		 granted_ns = q->means->cpu_granted_ns;
	uint32_t own, taken = taken_this_hour(q->p, q->c->tenant, q->now_s, &own);
	enum policy_answer answer = POLICY_TAKEN;
	char disk[2 * NUMBER_BYTES + 32] = "free space not known", cpu[2 * NUMBER_BYTES + 32];

	if (room_bytes < POLICY_ROOM_BYTES)
		room_bytes = POLICY_ROOM_BYTES;
	if (q->means->free_bytes != UINT64_MAX)
		snprintf(disk, sizeof(disk), "%s free (it needs %s)",
			 number_bytes(q->means->free_bytes).text, number_bytes(room_bytes).text);
	snprintf(cpu, sizeof(cpu), granted_ns ? "%s of %s of CPU" : "%s of CPU",
		 number_time(spent_ns).text, number_time(granted_ns).text);
	if (taken >= q->options->per_hour || (own && taken >= shared_of(q->options->per_hour)))
		answer = POLICY_HOUR;
	else if (q->means->free_bytes < room_bytes)
		answer = POLICY_DISK;
	else if (granted_ns && spent_ns >= granted_ns)
		answer = POLICY_CPU;
	say(q->r, "budget: %s, %u of %u captures in an hour%s, %s, %s", answer ? "no" : "yes",
	    taken, q->options->per_hour,
	    answer == POLICY_HOUR && taken < q->options->per_hour
		    ? " (the rest is for tenants that had none)"
		    : "",
	    disk, cpu);
	return answer;
}

bool policy_holds(const struct policy_means *means)
{
	return means->running && means->running_left_s >= POLICY_HELD_S;
}

static enum policy_answer is_free(struct question *q)
{
	if (!q->means->running) {
		say(q->r, "running: none");
		return POLICY_TAKEN;
	}
	say(q->r, "running: %s, %u s of it left", q->means->running, q->means->running_left_s);
	return POLICY_RUNNING;
}

/* --- all together ---------------------------------------------------------------------------- */

void policy_ask(struct policy *p, const struct policy_options *options, const struct policy_case *c,
		const struct policy_means *means, int64_t now_s, struct policy_reply *ret_reply)
{
	static enum policy_answer (*const questions[])(struct question *) = {
		is_wanted, is_significant, is_unusual, is_long_ago, has_budget, is_free};
	struct question q = {p, options, c, means, now_s, ret_reply};

	*ret_reply = (struct policy_reply){.answer = POLICY_TAKEN};
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]) && !ret_reply->answer; i++)
		ret_reply->answer = questions[i](&q);
}

/* A free one, else that of who was seen longest ago. */
static struct policy_like *new_like(struct policy *p)
{
	struct policy_like *oldest = &p->memory.likes[0];

	for (size_t i = 0; i < POLICY_LIKES; i++) {
		if (!p->memory.likes[i].hash)
			return &p->memory.likes[i];
		if (p->memory.likes[i].seen_s < oldest->seen_s)
			oldest = &p->memory.likes[i];
	}
	return oldest;
}

static void note_like(struct policy *p, uint64_t hash, enum verdict verdict, bool own,
		      int64_t now_s)
{
	struct policy_like *like = find_like(p, hash);

	if (!hash)
		return;
	if (!like) {
		like = new_like(p);
		*like = (struct policy_like){.hash = hash, .verdict = verdict, .times = 1};
	} else {
		like->times += own && like->times < UINT32_MAX;
		if (verdict_compare(verdict, like->verdict) < 0)
			like->verdict = verdict;
	}
	like->taken_s = like->seen_s = now_s;
}

void policy_taken(struct policy *p, const struct policy_reply *reply, uint64_t tenant,
		  enum verdict verdict, int64_t now_s)
{
	note_like(p, reply->like, verdict, true, now_s);
	memmove(p->memory.taken_s + 1, p->memory.taken_s,
		(POLICY_HOUR_MAX - 1) * sizeof(p->memory.taken_s[0]));
	p->memory.taken_s[0] = now_s;
	memmove(p->taken_by + 1, p->taken_by, (POLICY_HOUR_MAX - 1) * sizeof(p->taken_by[0]));
	p->taken_by[0] = tenant;
}

void policy_held(struct policy *p, const struct policy_reply *reply, enum verdict verdict,
		 int64_t now_s)
{
	note_like(p, reply->like, verdict, false, now_s);
}

void policy_seen(struct policy *p, const char *identity, const char *trunk, enum verdict verdict,
		 int64_t now_s)
{
	note_like(p, like_of(identity, trunk), verdict, false, now_s);
}

void policy_spent(struct policy *p, uint64_t cpu_ns, int64_t now_s)
{
	int64_t minute = now_s / 60;
	size_t at = (size_t)(minute % (POLICY_HOUR_S / 60));

	if (p->spent[at].minute != minute)
		p->spent[at].cpu_ns = 0;
	p->spent[at].minute = minute;
	p->spent[at].cpu_ns += cpu_ns;
}

const char *policy_answer_id(enum policy_answer answer)
{
	static const char *const ids[POLICY_ANSWER_CNT] = {
		[POLICY_TAKEN] = "taken",     [POLICY_OFF] = "off",
		[POLICY_SMALL] = "small",     [POLICY_USUAL] = "usual",
		[POLICY_LATELY] = "lately",   [POLICY_HOUR] = "captures-per-hour",
		[POLICY_DISK] = "disk",	      [POLICY_CPU] = "cpu",
		[POLICY_RUNNING] = "running", [POLICY_FAILED] = "failed",
	};

	return ids[answer];
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/minutes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "model/requests.h"
#include "model/workload.h"
#include "watch/slice_rows.h"

/* Minutes that are open at a time: the one that goes on, and the one before it. */
#define OPEN 2
/* Of a minute: who wanted less of a CPU, and served nothing, has no row of his own. */
#define QUIET_MS 60
#define HOST	 0 /* rows of kinds */
#define OTHER	 1
#define FIRST	 2
#define ROWS	 (FIRST + MINUTES_KINDS)

/* Of one kind in one minute. */
struct part {
	struct history_figures figures;
	uint64_t cpu_ns, waited_ns, throttled_ns;
	uint64_t time_max_ns;
	uint64_t *times; /* response times by slot, or NULL */
	/* Of the slice that was added last. */
	uint64_t slice_end_ns, late, stuck;
	bool seen;
};

struct kind {
	uint64_t hash;
	char *name, *place;
	struct part parts[OPEN];
};

struct minute {
	int64_t time_s; /* 0 = none */
	uint64_t observed_ns, judged_ns, hurt_ns;
	uint64_t slice_end_ns; /* of its last slice */
};

/* A process row of the current model; strings are interned, so equal pointers are equal names. */
struct process {
	const char *name, *unit, *namespace, *pod, *container;
	uint32_t uid;
	uint32_t kind;
	uint64_t hash; /* of the kind, when it was there */
};

struct minutes {
	struct kind kinds[ROWS];
	uint32_t kinds_cnt;
	struct minute open[OPEN];
	unsigned int now; /* which of them goes on */
	uint64_t judged_end_ns, judging_end_ns;
	bool slice_hurt; /* somebody is, in the slice that is told */

	const struct model *m;
	uint64_t model_start_ns;
	struct process *processes;
	size_t processes_cnt, processes_cap;

	struct history_row rows[ROWS];
	bool taken; /* rows are of open[!now], which is done then */
};

struct minutes *minutes_new(void)
{
	struct minutes *s = calloc(1, sizeof(*s));

	if (s)
		s->kinds_cnt = FIRST;
	return s;
}

static void clear_part(struct part *p)
{
	free(p->times);
	*p = (struct part){.times = NULL};
}

static void clear_kind(struct kind *k)
{
	for (int i = 0; i < OPEN; i++)
		clear_part(&k->parts[i]);
	free(k->name);
	free(k->place);
	*k = (struct kind){.name = NULL};
}

void minutes_free(struct minutes *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->kinds_cnt; i++)
		clear_kind(&s->kinds[i]);
	free(s->processes);
	free(s);
}

/* --- minutes --------------------------------------------------------------------------------- */

static void clear_minute(struct minutes *s, unsigned int which)
{
	for (uint32_t i = 0; i < s->kinds_cnt; i++)
		clear_part(&s->kinds[i].parts[which]);
	s->open[which] = (struct minute){0};
}

/* Those that were in neither of the open minutes lose their place. */
static void sweep(struct minutes *s)
{
	uint32_t kept = FIRST;

	for (uint32_t i = FIRST; i < s->kinds_cnt; i++) {
		struct kind *k = &s->kinds[i];

		if (!k->parts[0].seen && !k->parts[1].seen) {
			clear_kind(k);
			continue;
		}
		if (i != kept) {
			s->kinds[kept] = *k;
			*k = (struct kind){.name = NULL};
		}
		kept++;
	}
	s->kinds_cnt = kept;
}

static int64_t minute_of(const struct model_slice *slice)
{
	int64_t s = ((int64_t)slice->start_ns + slice->wall_offset_ns) / 1000000000;

	return s < 0 ? 0 : s - s % HISTORY_MINUTE_S;
}

/* The open minute that the slice is in, or -1. */
static int find_minute(const struct minutes *s, const struct model_slice *slice)
{
	int64_t time_s = minute_of(slice);

	for (int i = 0; i < OPEN; i++)
		if (s->open[i].time_s && s->open[i].time_s == time_s)
			return i;
	return -1;
}

/* Where the clock was set, two minutes may end within one: what nobody has taken by now is lost,
 * and minutes_take() is asked after each slice. */
static unsigned int meet_minute(struct minutes *s, const struct model_slice *slice)
{
	int found = find_minute(s, slice);

	if (found >= 0)
		return (unsigned int)found;
	if (s->open[s->now].time_s) {
		s->now = !s->now;
		clear_minute(s, s->now);
		sweep(s);
	}
	s->open[s->now].time_s = minute_of(slice);
	return s->now;
}

/* --- kinds ----------------------------------------------------------------------------------- */

static void meet_model(struct minutes *s, const struct model *m)
{
	if (s->m == m && s->model_start_ns == m->host.start_ns &&
	    s->processes_cnt <= m->processes_cnt)
		return;
	s->m = m;
	s->model_start_ns = m->host.start_ns;
	free(s->processes);
	s->processes = NULL;
	s->processes_cnt = s->processes_cap = 0;
}

static int follow_model(struct minutes *s)
{
	while (s->processes_cnt < s->m->processes_cnt) {
		if (GROW(s->processes, s->processes_cnt, s->processes_cap))
			return -ENOMEM;
		s->processes[s->processes_cnt++] = (struct process){.kind = OTHER};
	}
	return 0;
}

static uint64_t used_ns(const struct part *p)
{
	return p->cpu_ns + p->waited_ns + p->throttled_ns;
}

static bool is_needed(const struct part *p)
{
	return p->figures.requests || p->figures.hurt_ms || p->figures.stuck || p->late ||
	       used_ns(p) >= QUIET_MS * 1000000ull;
}

/* A kind that did next to nothing so far, with all that is known of it counted with the others; 0:
 * there is none. So nobody keeps others out by ever new names. */
static uint32_t free_quiet(struct minutes *s)
{
	uint64_t least_ns = UINT64_MAX;
	uint32_t least = 0;

	for (uint32_t i = FIRST; i < s->kinds_cnt; i++) {
		struct kind *k = &s->kinds[i];
		uint64_t ns = used_ns(&k->parts[0]) + used_ns(&k->parts[1]);

		if (ns < least_ns && !is_needed(&k->parts[0]) && !is_needed(&k->parts[1])) {
			least = i;
			least_ns = ns;
		}
	}
	for (int i = 0; least && i < OPEN; i++) {
		struct part *p = &s->kinds[least].parts[i], *other = &s->kinds[OTHER].parts[i];

		other->cpu_ns += p->cpu_ns;
		other->waited_ns += p->waited_ns;
		other->throttled_ns += p->throttled_ns;
		other->seen |= p->seen;
	}
	if (least)
		clear_kind(&s->kinds[least]);
	return least;
}

static uint32_t add_kind(struct minutes *s, uint64_t hash, const char *name, const char *place)
{
	struct kind kind = {.hash = hash, .name = strdup(name), .place = strdup(place)};
	uint32_t row = s->kinds_cnt < ROWS ? s->kinds_cnt : free_quiet(s);

	if (!kind.name || !kind.place || !row) {
		clear_kind(&kind);
		return OTHER;
	}
	s->kinds[row] = kind;
	s->kinds_cnt += row == s->kinds_cnt;
	return row;
}

static uint32_t find_kind(struct minutes *s, const char *name, const char *place)
{
	uint64_t hash = hash_pair(hash_bytes(name, strlen(name)), hash_bytes(place, strlen(place)));

	for (uint32_t i = FIRST; i < s->kinds_cnt; i++)
		if (s->kinds[i].hash == hash && !strcmp(s->kinds[i].name, name) &&
		    !strcmp(s->kinds[i].place, place))
			return i;
	return add_kind(s, hash, name, place);
}

void minutes_kind(const struct model_process *p, char ret_name[static HISTORY_NAME_BYTES],
		  char ret_place[static HISTORY_PLACE_BYTES])
{
	const char *own = *p->name ? p->name : p->comm;
	bool kernel = p->flags & PROCESS_KERNEL;
	char workload[WORKLOAD_BYTES];

	workload_of(p, workload);
	history_copy(ret_name, HISTORY_NAME_BYTES, kernel ? workload : own);
	*ret_place = '\0';
	if (kernel)
		return;
	if (strcmp(workload, own) != 0)
		history_copy(ret_place, HISTORY_PLACE_BYTES, workload);
	else if (p->uid && p->uid != UID_UNKNOWN) /* anybody may have that name */
		snprintf(ret_place, HISTORY_PLACE_BYTES, "uid %u", p->uid);
}

static uint32_t kind_of_process(struct minutes *s, const struct model_process *p)
{
	char name[HISTORY_NAME_BYTES], place[HISTORY_PLACE_BYTES];

	minutes_kind(p, name, place);
	return *name ? find_kind(s, name, place) : OTHER;
}

static uint32_t kind_of(struct minutes *s, uint32_t process)
{
	const struct model_process *p = &s->m->processes[process];
	const char *container = *p->container_name ? p->container_name : p->container;
	struct process *row = &s->processes[process];

	if (row->kind >= FIRST && row->kind < s->kinds_cnt &&
	    s->kinds[row->kind].hash == row->hash && row->name == p->name && row->unit == p->unit &&
	    row->namespace == p->namespace && row->pod == p->pod && row->container == container &&
	    row->uid == p->uid)
		return row->kind;
	*row = (struct process){.name = p->name,
				.unit = p->unit,
				.namespace = p->namespace,
				.pod = p->pod,
				.container = container,
				.uid = p->uid};
	row->kind = kind_of_process(s, p);
	row->hash = s->kinds[row->kind].hash;
	return row->kind;
}

static struct part *part_of(struct minutes *s, uint32_t process, unsigned int which)
{
	struct part *p = &s->kinds[kind_of(s, process)].parts[which];

	p->seen = true;
	return p;
}

/* --- a slice --------------------------------------------------------------------------------- */

static void add_accounts(struct minutes *s, uint32_t slice, unsigned int which)
{
	const struct model *m = s->m;
	struct part *host = &s->kinds[HOST].parts[which];
	size_t first, end;

	SLICE_ROWS(m->accounts, m->accounts_cnt, slice, first, end);
	for (size_t i = first; i < end; i++) {
		const struct sched_figures *did = &m->accounts[i].sched;
		struct part *p = part_of(s, m->threads[m->accounts[i].thread].process, which);

		p->cpu_ns += did->on_cpu_ns;
		p->waited_ns += did->waited_ns;
		p->throttled_ns += did->throttled_ns;
		host->waited_ns += did->waited_ns;
		host->throttled_ns += did->throttled_ns;
	}
	SLICE_ROWS(m->cpus, m->cpus_cnt, slice, first, end);
	for (size_t i = first; i < end; i++)
		host->cpu_ns += m->cpus[i].accounted_ns + m->cpus[i].unaccounted_ns;
	host->figures.available_mcpu = 1000ull * m->host.cpus_online;
}

static void add_service(struct part *p, const struct model_service *did, uint64_t end_ns)
{
	if (p->slice_end_ns != end_ns)
		p->late = p->stuck = 0;
	p->slice_end_ns = end_ns;
	p->late += did->late;
	p->stuck += did->stuck;
	p->figures.requests += did->served.answered;
	p->figures.slow += did->served.slow;
	if (p->stuck > p->figures.stuck)
		p->figures.stuck = p->stuck;
	if (did->time_max_ns > p->time_max_ns)
		p->time_max_ns = did->time_max_ns;
}

static int add_response(struct part *p, const struct model_response *did)
{
	if (!p->times)
		p->times = calloc(RESPONSE_SLOTS, sizeof(*p->times));
	if (!p->times)
		return -ENOMEM;
	p->times[did->slot] += did->count;
	return 0;
}

static int add_requests(struct minutes *s, uint32_t slice, unsigned int which)
{
	const struct model *m = s->m;
	struct part *host = &s->kinds[HOST].parts[which];
	uint64_t end_ns = m->slices[slice].end_ns;
	size_t first, end;
	int err = 0;

	SLICE_ROWS(m->services, m->services_cnt, slice, first, end);
	for (size_t i = first; i < end; i++) {
		uint32_t process = m->endpoints[m->services[i].endpoint].process;

		add_service(part_of(s, process, which), &m->services[i], end_ns);
		add_service(host, &m->services[i], end_ns);
	}
	SLICE_ROWS(m->responses, m->responses_cnt, slice, first, end);
	for (size_t i = first; i < end && !err; i++) {
		uint32_t process = m->endpoints[m->responses[i].endpoint].process;

		err = add_response(part_of(s, process, which), &m->responses[i]);
		if (!err)
			err = add_response(host, &m->responses[i]);
	}
	return err;
}

int minutes_slice(struct minutes *s, const struct model *m, uint32_t slice)
{
	const struct model_slice *at = &m->slices[slice];
	unsigned int which;
	int err;

	meet_model(s, m);
	err = follow_model(s);
	if (err || at->end_ns <= at->start_ns)
		return err;
	which = meet_minute(s, at);
	s->kinds[HOST].parts[which].seen = true;
	s->open[which].observed_ns += at->end_ns - at->start_ns;
	s->open[which].slice_end_ns = at->end_ns;
	add_accounts(s, slice, which);
	return add_requests(s, slice, which);
}

/* --- verdicts -------------------------------------------------------------------------------- */

static void take_verdict(struct part *p, const struct verdict_result *r, uint64_t length_ms)
{
	struct history_figures *f = &p->figures;

	if (!f->judged_ms || verdict_compare(r->verdict, (enum verdict)f->verdict) < 0)
		f->verdict = r->verdict;
	f->judged_ms += length_ms;
}

void minutes_judge(struct minutes *s, uint32_t slice, uint32_t process,
		   const struct verdict_input *input, const struct verdict_result *result)
{
	const struct model_slice *at = &s->m->slices[slice];
	uint64_t length_ms = (at->end_ns - at->start_ns + 500000) / 1000000;
	int which = find_minute(s, at);
	bool host = process == MODEL_NONE, hurt = host ? s->slice_hurt : result->hurt;
	struct part *p;

	if (host)
		s->slice_hurt = false;
	if (at->end_ns <= s->judged_end_ns || which < 0 || (!host && process >= s->processes_cnt))
		return;
	if (at->end_ns > s->judging_end_ns)
		s->judging_end_ns = at->end_ns;
	p = host ? &s->kinds[HOST].parts[which] : part_of(s, process, (unsigned int)which);
	take_verdict(p, result, length_ms);
	s->slice_hurt |= hurt && !host;
	if (hurt)
		p->figures.hurt_ms += length_ms;
	if (!host && input->cpus_available * 1000 > (double)p->figures.available_mcpu &&
	    input->cpus_available < 1e6)
		p->figures.available_mcpu = (uint64_t)(input->cpus_available * 1000 + 0.5);
}

void minutes_judged(struct minutes *s)
{
	if (s->judging_end_ns > s->judged_end_ns)
		s->judged_end_ns = s->judging_end_ns;
}

/* --- rows ------------------------------------------------------------------------------------ */

static uint64_t ms_of(uint64_t ns)
{
	return (ns + 500000) / 1000000;
}

/* A slice may be judged for several processes of a kind. */
static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

static struct history_figures figures_of(const struct part *p, const struct minute *minute)
{
	struct requests_sum sum = {.times = p->times, .time_max_ns = p->time_max_ns};
	struct history_figures f = p->figures;

	f.observed_ms = ms_of(minute->observed_ns);
	f.judged_ms = at_most(f.judged_ms, f.observed_ms);
	f.hurt_ms = at_most(f.hurt_ms, f.observed_ms);
	f.cpu_ms = ms_of(p->cpu_ns);
	f.waited_ms = ms_of(p->waited_ns);
	f.throttled_ms = ms_of(p->throttled_ns);
	f.median_us = p->times ? requests_time_ns(&sum, 0.5) / 1000 : 0;
	f.p99_us = p->times ? requests_time_ns(&sum, 0.99) / 1000 : 0;
	/* Those that are still unanswered. */
	if (p->slice_end_ns == minute->slice_end_ns) {
		f.requests += p->late;
		f.slow += p->late;
	}
	f.bad_minutes = f.hurt_ms >= HISTORY_BAD_MS;
	return f;
}

static bool is_quiet(const struct history_figures *f)
{
	return f->cpu_ms + f->waited_ms + f->throttled_ms < QUIET_MS && !f->requests && !f->stuck &&
	       !f->hurt_ms;
}

static int worse(uint64_t a, uint64_t b)
{
	return verdict_compare((enum verdict)a, (enum verdict)b);
}

static void make_rows(struct minutes *s, unsigned int which, struct history_minute *minute)
{
	struct history_figures other = {0};
	bool others = s->kinds[OTHER].parts[which].seen;

	if (others)
		other = figures_of(&s->kinds[OTHER].parts[which], &s->open[which]);
	s->rows[0] = (struct history_row){
		.figures = figures_of(&s->kinds[HOST].parts[which], &s->open[which])};
	minute->rows_cnt = 1;
	for (uint32_t i = FIRST; i < s->kinds_cnt; i++) {
		const struct part *p = &s->kinds[i].parts[which];
		struct history_figures f;

		if (!p->seen)
			continue;
		f = figures_of(p, &s->open[which]);
		if (is_quiet(&f)) {
			history_add(&other, &f, worse);
			others = true;
			continue;
		}
		s->rows[minute->rows_cnt++] =
			(struct history_row){s->kinds[i].name, s->kinds[i].place, f};
	}
	if (!others)
		return;
	/* Sums of time, but for the time itself. */
	other.observed_ms = s->rows[0].figures.observed_ms;
	other.judged_ms = at_most(other.judged_ms, other.observed_ms);
	s->rows[minute->rows_cnt++] = (struct history_row){"", "", other};
}

bool minutes_take(struct minutes *s, bool all, struct history_minute *ret_minute)
{
	const struct minute *now = &s->open[s->now];
	unsigned int which = !s->now;

	if (s->taken)
		clear_minute(s, !s->now);
	s->taken = false;
	if (!s->open[which].time_s && all && now->time_s) {
		s->now = which;
		which = !which;
	}
	if (!s->open[which].time_s)
		return false;
	/* Nothing more can be said of it: the next one is well under way, or the clock was set. */
	if (!all && s->open[which].time_s + HISTORY_MINUTE_S == now->time_s &&
	    now->observed_ns < MINUTES_WAIT_S * 1000000000ull)
		return false;
	*ret_minute = (struct history_minute){.time_s = s->open[which].time_s, .rows = s->rows};
	make_rows(s, which, ret_minute);
	s->taken = true;
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/perf_maps.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "kernel/host.h"
#include "process/dotnet_ask.h"

#define LOOK_NS	       300000000ull  /* as the names room waits for one look-up */
#define ANSWER_NS      2000000000ull /* a runtime that needs longer keeps its map off */
#define QUICK_NS       200000000ull  /* at the end, when others wait */
#define TRIES	       6 /* of one whose runtime has just started, or that did not answer a look */
#define RETRY_NS       600000000ull
#define FAILURES_SHOWN 10
#define NAME_SHOWN     64
/* Where it was to be switched off. */
#define STAYS_ON "it may stay on until `hotrun perfmap disable %u`: "

enum entry_state {
	ENTRY_WAITING,
	ENTRY_ON,     /* by us */
	ENTRY_OTHERS, /* on already */
	ENTRY_ENDED,  /* gone, or not .NET after all */
	ENTRY_FAILED,
};

struct entry {
	uint32_t process; /* row */
	uint32_t tgid;
	uint64_t start_ticks; /* 0 until it was looked at where the start was a guess */
	uint64_t start_ns;    /* as the model had it */
	uint64_t due_ns;      /* CLOCK_MONOTONIC: when it is to be asked */
	unsigned int tries;
	enum entry_state state;
	bool ours;   /* to be switched off */
	bool silent; /* was asked, and may do it yet */
	char name[NAME_SHOWN];
	char why[512]; /* FAILED */
};

struct perf_maps {
	struct file_requests requests; /* the thread's */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. Entries are never removed; the thread works on a copy of one. */
	struct entry *entries;
	size_t entries_cnt, entries_cap;
	bool ending, resting;
	size_t beyond; /* processes that there was no room for */
	/* The caller's alone. */
	bool *known; /* by row of processes */
	size_t known_cnt, known_cap;
	/* The thread's alone. */
	uint64_t end_ns; /* when everything that is switched off must be */
	uint64_t second_ns;
	unsigned int second_cnt;
};

/* --- the thread ------------------------------------------------------------------------------- */

static void wait_until(struct perf_maps *p, uint64_t until_ns)
{
	struct timespec ts = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};

	if (until_ns == UINT64_MAX)
		pthread_cond_wait(&p->changed, &p->lock);
	else
		pthread_cond_timedwait(&p->changed, &p->lock, &ts);
}

/* The next that is to be asked, or NULL; then *ret_due_ns is when to look again. */
static struct entry *next_due(struct perf_maps *p, uint64_t *ret_due_ns)
{
	uint64_t now_ns = clock_now_ns();

	*ret_due_ns = UINT64_MAX;
	if (now_ns - p->second_ns >= 1000000000u) {
		p->second_ns = now_ns;
		p->second_cnt = 0;
	}
	for (size_t i = 0; i < p->entries_cnt; i++) {
		struct entry *e = &p->entries[i];

		if (e->state != ENTRY_WAITING)
			continue;
		if (e->due_ns <= now_ns && p->second_cnt < PERF_MAPS_SECOND)
			return e;
		if (e->due_ns <= now_ns)
			*ret_due_ns = p->second_ns + 1000000000u;
		else if (e->due_ns < *ret_due_ns)
			*ret_due_ns = e->due_ns;
	}
	return NULL;
}

static enum entry_state state_of(enum dotnet_outcome outcome)
{
	switch (outcome) {
	case DOTNET_DONE:
		return ENTRY_ON;
	case DOTNET_ALREADY:
		return ENTRY_OTHERS;
	case DOTNET_GONE:
	case DOTNET_NOT_DOTNET:
	case DOTNET_NATIVE:
		return ENTRY_ENDED;
	default:
		return ENTRY_FAILED;
	}
}

/* Whether it may be better in a moment. */
static bool is_early(const struct dotnet_switch *s)
{
	const struct dotnet_process *process = &s->target.process;

	switch (s->outcome) {
	case DOTNET_TOO_YOUNG:
		return true;
	case DOTNET_NO_SOCKET: /* the runtime makes it after it was mapped, on a busy host later */
		return !process->diagnostics_off && (process->socket == DOTNET_SOCKET_ABSENT ||
						     process->socket == DOTNET_SOCKET_STALE);
	case DOTNET_NO_ANSWER:
		return !s->may_be_on;
	default:
		return false;
	}
}

static void note(struct entry *e, const struct dotnet_switch *s)
{
	e->state = state_of(s->outcome);
	e->silent = s->may_be_on && s->outcome == DOTNET_SILENT;
	/* Also where it could not be verified, e.g. because a look came to no end. */
	e->ours = s->may_be_on && !e->silent;
	if (is_early(s) && ++e->tries < TRIES) {
		e->state = ENTRY_WAITING;
		e->due_ns = clock_now_ns() + RETRY_NS;
	}
	if (e->state == ENTRY_FAILED)
		dotnet_switch_text(s, e->why, sizeof(e->why));
	if (s->target.process.tgid)
		e->start_ticks = s->target.process.start_ticks;
}

/* Asks one runtime; the lock is not held meanwhile. */
static void ask_one(struct perf_maps *p, struct entry *entry, struct dotnet_switch *s)
{
	size_t row = (size_t)(entry - p->entries);
	struct entry e = *entry;

	p->second_cnt++;
	pthread_mutex_unlock(&p->lock);
	if (e.tries)
		file_requests_forget(&p->requests, e.tgid);
	dotnet_enable(&p->requests, e.tgid, e.start_ticks, ANSWER_NS, s);
	note(&e, s);
	pthread_mutex_lock(&p->lock);
	p->entries[row] = e;
}

/* Whether the map is off; if not, last says that there is no other try. */
static bool switch_one_off(struct perf_maps *p, struct entry *e, uint64_t answer_ns, bool last,
			   struct dotnet_switch *s)
{
	uint64_t now_ns = clock_now_ns(), left_ns = p->end_ns > now_ns ? p->end_ns - now_ns : 0;
	char text[sizeof(e->why) - sizeof(STAYS_ON)] = "no time was left";

	if (left_ns) {
		/* What did not answer when it was switched on may do so now. */
		file_requests_forget(&p->requests, e->tgid);
		dotnet_disable(&p->requests, e->tgid, e->start_ticks,
			       left_ns < answer_ns ? left_ns : answer_ns, s);
		dotnet_switch_text(s, text, sizeof(text));
		if (s->outcome == DOTNET_DONE || s->outcome == DOTNET_ALREADY ||
		    s->outcome == DOTNET_GONE || s->outcome == DOTNET_NOT_DOTNET)
			return true;
	}
	if (last) {
		e->state = ENTRY_FAILED;
		snprintf(e->why, sizeof(e->why), STAYS_ON "%s", e->tgid, text);
	}
	return false;
}

/* Takes a request back that was not answered. */
static void withdraw(struct perf_maps *p, struct entry *e, struct dotnet_switch *s)
{
	uint64_t now_ns = clock_now_ns(), left_ns = p->end_ns > now_ns ? p->end_ns - now_ns : 0;

	if (!left_ns) {
		snprintf(e->why, sizeof(e->why), STAYS_ON "no time was left", e->tgid);
		return;
	}
	file_requests_forget(&p->requests, e->tgid);
	dotnet_withdraw(&p->requests, e->tgid, e->start_ticks,
			left_ns < QUICK_NS ? left_ns : QUICK_NS, s);
	snprintf(e->why, sizeof(e->why),
		 "no answer at its diagnostics socket: it is stopped, short of CPU time, or hung; "
		 "the "
		 "request was taken back");
}

/* Entries that nobody adds to. Those that answer at once come first: what hangs shall not keep the
 * maps of others on. */
static void switch_off(struct perf_maps *p, struct entry *entries, size_t cnt,
		       struct dotnet_switch *s)
{
	p->end_ns = clock_now_ns() + PERF_MAPS_END_NS;
	for (int last = 0; last < 2; last++)
		for (size_t i = 0; i < cnt; i++) {
			struct entry *e = &entries[i];

			if (e->ours && switch_one_off(p, e, last ? ANSWER_NS : QUICK_NS, last, s))
				e->ours = false;
		}
	for (size_t i = 0; i < cnt; i++)
		if (entries[i].silent)
			withdraw(p, &entries[i], s);
}

static void report(const struct entry *entries, size_t cnt, const char *what)
{
	size_t states[ENTRY_FAILED + 1] = {0}, shown = 0;

	for (size_t i = 0; i < cnt; i++)
		states[entries[i].state]++;
	log_info("perf maps: switched on for the %s and off again: %zu (the files stay); on "
		 "anyway: %zu; failed: %zu",
		 what, states[ENTRY_ON], states[ENTRY_OTHERS], states[ENTRY_FAILED]);
	for (size_t i = 0; i < cnt && shown < FAILURES_SHOWN; i++) {
		const struct entry *e = &entries[i];

		if (e->state != ENTRY_FAILED)
			continue;
		shown++;
		log_warn("perf map of %u %s: %s", e->tgid, e->name, e->why);
	}
	if (states[ENTRY_FAILED] > shown)
		log_warn("perf maps: %zu more failed", states[ENTRY_FAILED] - shown);
	if (states[ENTRY_WAITING])
		log_warn("perf maps: the %s ended before %zu processes were asked", what,
			 states[ENTRY_WAITING]);
}

/* Called with the lock held, which others can have meanwhile. */
static void rest(struct perf_maps *p, struct dotnet_switch *s)
{
	struct entry *entries = p->entries;
	size_t cnt = p->entries_cnt;

	p->entries = NULL;
	p->entries_cnt = p->entries_cap = 0;
	pthread_mutex_unlock(&p->lock);
	switch_off(p, entries, cnt, s);
	if (cnt)
		report(entries, cnt, "capture");
	free(entries);
	pthread_mutex_lock(&p->lock);
	p->resting = false;
}

static void *run(void *arg)
{
	struct perf_maps *p = arg;
	struct dotnet_switch *s = calloc(1, sizeof(*s));

	pthread_mutex_lock(&p->lock);
	while (!p->ending) {
		uint64_t due_ns;
		struct entry *e;

		if (s && p->resting) {
			rest(p, s);
			continue;
		}
		e = s ? next_due(p, &due_ns) : NULL;
		if (e)
			ask_one(p, e, s);
		else
			wait_until(p, s ? due_ns : UINT64_MAX);
	}
	if (s)
		switch_off(p, p->entries, p->entries_cnt, s);
	pthread_mutex_unlock(&p->lock);
	free(s);
	return NULL;
}

/* --- the recording's side --------------------------------------------------------------------- */

struct perf_maps *perf_maps_new(void)
{
	struct perf_maps *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;
	int err;

	if (!p)
		return NULL;
	err = file_requests_init(&p->requests, NULL, "/proc", LOOK_NS);
	if (err) {
		file_requests_clear(&p->requests);
		free(p);
		errno = -err;
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
	return p;
}

/* Not before it is needed: whoever forks until then has one thread only. */
static void start_thread(struct perf_maps *p)
{
	sigset_t all, old;

	if (p->started)
		return;
	/* Signals are for the main thread, and shall end no exchange. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	p->started = !pthread_create(&p->thread, NULL, run, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool is_meant(const struct model_process *process, bool selected, bool sampled)
{
	if (!(process->flags & PROCESS_DOTNET) || process->exit_ns ||
	    (process->flags & PROCESS_GONE))
		return false;
	if (selected)
		return process->flags & PROCESS_SELECTED;
	return !sampled || (process->flags & PROCESS_SAMPLED);
}

static void add(struct perf_maps *p, const struct model *m, uint32_t row)
{
	const struct model_process *process = &m->processes[row];
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct entry e = {
		.process = row,
		.tgid = process->tgid,
		.start_ns = process->start_ns,
		.start_ticks = process->start_exact ? process->start_ns / tick_ns : 0,
		.due_ns = process->born_ns + DOTNET_AGE_MIN_NS + 2 * tick_ns,
	};

	snprintf(e.name, sizeof(e.name), "%s", process->name); /* the log escapes it */
	if (p->entries_cnt >= PERF_MAPS_MAX || GROW(p->entries, p->entries_cnt, p->entries_cap))
		p->beyond++;
	else
		p->entries[p->entries_cnt++] = e;
}

void perf_maps_look(struct perf_maps *p, const struct model *m, bool sampled)
{
	bool selected = false, added = false;

	for (size_t i = 0; i < m->processes_cnt && !selected; i++)
		selected = m->processes[i].flags & PROCESS_SELECTED;
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		if (i >= p->known_cnt) {
			if (GROW(p->known, p->known_cnt, p->known_cap))
				break;
			p->known[p->known_cnt++] = false;
		}
		if (p->known[i] || !is_meant(&m->processes[i], selected, sampled))
			continue;
		p->known[i] = added = true;
		add(p, m, i);
	}
	if (added)
		pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (added)
		start_thread(p);
}

static bool is_known(const struct perf_maps *p, const struct model_process *process)
{
	for (size_t i = 0; i < p->entries_cnt; i++)
		if (p->entries[i].tgid == process->tgid &&
		    p->entries[i].start_ns == process->start_ns)
			return true;
	return false;
}

/* With the lock held. Returns whether it was added. */
static bool look_at(struct perf_maps *p, const struct model *m, uint32_t row, size_t max,
		    bool (*wanted)(const void *ctx, const struct model_process *process),
		    const void *ctx)
{
	const struct model_process *process = &m->processes[row];

	if (p->entries_cnt >= max || !is_meant(process, false, false) || !wanted(ctx, process) ||
	    is_known(p, process))
		return false;
	add(p, m, row);
	return true;
}

bool perf_maps_look_for(struct perf_maps *p, const struct model *m, uint32_t first, size_t max,
			bool (*wanted)(const void *ctx, const struct model_process *process),
			const void *ctx)
{
	bool added = false, busy;

	pthread_mutex_lock(&p->lock);
	busy = p->resting;
	if (!busy && first < m->processes_cnt)
		added = look_at(p, m, first, max, wanted, ctx);
	for (uint32_t i = 0; !busy && i < m->processes_cnt; i++)
		added |= look_at(p, m, i, max, wanted, ctx);
	if (added)
		pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (added)
		start_thread(p);
	return !busy;
}

void perf_maps_rest(struct perf_maps *p)
{
	pthread_mutex_lock(&p->lock);
	p->resting = p->started;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

/* --- the end ---------------------------------------------------------------------------------- */

void perf_maps_end(struct perf_maps *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (p->started)
		pthread_join(p->thread, NULL);
	report(p->entries, p->entries_cnt, "recording");
	if (p->beyond)
		log_warn("perf maps: %zu processes were not asked (%u at the most)", p->beyond,
			 PERF_MAPS_MAX);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	file_requests_clear(&p->requests);
	free(p->entries);
	free(p->known);
	free(p);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/unwind_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compare.h"
#include "base/grow.h"
#include "collect/unwind_run.h"
#include "collect/unwind_tables.h"
#include "model/fair.h"

/* One call of unwind_feed_work(). */
#define WORK_NS 10000000ull
/* A process is looked at again after so many times what its last look took, and not before: one
 * that maps and unmaps all the time costs a hundredth of a CPU. */
#define LOOK_REST     100u
#define LOOK_AGAIN_NS 30000000ull
/* The same of who runs for ever: a fifth of that. */
#define LOOK_REST_CALM	   500u
#define LOOK_AGAIN_CALM_NS 1000000000ull
/*
 * CPU time of all looks in a second: at first, when everybody is looked at, then, and of who runs
 * for ever. Whose mappings change all the time rests in between (LOOK_REST), so that others have
 * their turn. And of a second, for processes that were not sampled yet.
 */
#define LOOKS_FIRST_NS 300000000ull
#define LOOKS_NS       30000000ull
#define LOOKS_CALM_NS  5000000ull
/* Files may be asked for so long in one look: meanwhile nobody looks at processes that just
 * started. */
#define LOOK_ASK_NS	8000000ull
#define EXPECTED_CPU_NS 10000000ull
#define SECOND_NS	1000000000ull
/* While files of it are being read: when workers have given an answer, at the latest after the
 * second. The first looks, for so much CPU time, have to rest less. */
#define PENDING_NS	  5000000ull
#define PENDING_LATEST_NS 60000000ull
#define EAGER_CPU_NS	  5000000ull
#define LOOK_REST_EAGER	  10u
/* Without room, and nobody who was sampled longer ago than that; and until there may be some. */
#define NO_ROOM_NS 5000000000ull
/* Until room that was made may be used. */
#define ROOM_MADE_NS (UNWIND_MAPS_GRACE_NS + 5000000ull)
/* The loader of a program that just started maps its libraries within a millisecond or two: who
 * looks before it is done has to look again. */
#define SETTLED_NS 3000000ull
/* What is due within so long is worth waking up for: a process that starts maps file after file. */
#define SOON_NS 50000000ull
_Static_assert(SOON_NS > LOOK_AGAIN_NS, "or it has to wait for the next drain");

struct fed {
	bool is_wanted, is_published;
	uint32_t changes; /* mapping_changes of the model at the last look */
	uint64_t answers; /* names_answers() then */
	uint64_t used_ns, not_before_ns, latest_ns;
	uint64_t cpu_ns;	 /* of its looks until now */
	uint64_t start_ns;	 /* with which it was published */
	struct unwind_made made; /* then; without tables where it is not published */
};

struct unwind_feed {
	bool is_calm;
	bool is_hurried;
	struct unwind_tables tables;
	struct unwind_run run; /* of the look under way */
	struct fed *fed;       /* by row of processes */
	size_t fed_cnt, fed_cap;
	uint32_t *wanted; /* rows of processes */
	size_t wanted_cnt, wanted_cap;
	uint32_t *published; /* the same */
	size_t published_cnt, published_cap;
	/* Of the second that began then: left for looks, and used for processes not sampled yet. */
	uint64_t second_ns, looks_ns, expected_cpu_ns;
	struct fair spent; /* us of looks in that second, by party */
};

struct unwind_feed *unwind_feed_new(struct unwind_maps *maps, bool is_calm)
{
	struct unwind_feed *f = calloc(1, sizeof(*f));

	if (f) {
		f->tables.maps = maps;
		f->is_calm = is_calm;
	}
	return f;
}

void unwind_feed_free(struct unwind_feed *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->fed_cnt; i++)
		free(f->fed[i].made.tables);
	fair_clear(&f->spent);
	unwind_tables_close(&f->tables);
	unwind_run_close(&f->run);
	free(f->fed);
	free(f->wanted);
	free(f->published);
	free(f);
}

/* --- processes -------------------------------------------------------------------------------- */

static bool is_over(const struct model *m, uint32_t process)
{
	return m->processes[process].exit_ns || (m->processes[process].flags & PROCESS_GONE);
}

static struct fed *fed_of(struct unwind_feed *f, uint32_t process)
{
	while (f->fed_cnt <= process) {
		if (GROW(f->fed, f->fed_cnt, f->fed_cap))
			return NULL;
		f->fed[f->fed_cnt++] = (struct fed){0};
	}
	return &f->fed[process];
}

static void remove_from(uint32_t *rows, size_t *cnt, uint32_t row)
{
	for (size_t i = 0; i < *cnt; i++)
		if (rows[i] == row) {
			rows[i] = rows[--*cnt];
			return;
		}
}

static void unpublish(struct unwind_feed *f, const struct model *m, uint32_t process)
{
	struct fed *fed = &f->fed[process];
	const struct model_process *p = &m->processes[process];

	if (!fed->is_published)
		return;
	unwind_maps_forget_process(f->tables.maps, p->tgid, fed->start_ns);
	unwind_tables_release(&f->tables, fed->made.tables, fed->made.tables_cnt);
	fed->made.tables_cnt = 0;
	fed->is_published = false;
	remove_from(f->published, &f->published_cnt, process);
}

static void want(struct unwind_feed *f, uint32_t process)
{
	struct fed *fed = &f->fed[process];

	if (fed->is_wanted || GROW(f->wanted, f->wanted_cnt, f->wanted_cap))
		return;
	fed->is_wanted = true;
	f->wanted[f->wanted_cnt++] = process;
}

void unwind_feed_note(struct unwind_feed *f, const struct model *m, const struct names *names,
		      uint32_t process, uint64_t time_ns, bool is_missing)
{
	struct fed *fed = fed_of(f, process);
	bool is_changed;

	if (!fed)
		return;
	fed->used_ns = time_ns;
	/* What is missing where nothing has changed since cannot be had. */
	is_changed = !fed->is_published || fed->made.is_pending || fed->made.is_short ||
		     fed->made.is_brief || fed->changes != m->processes[process].mapping_changes ||
		     fed->made.code != names_code_generation(names, process);
	if (is_changed && (!fed->is_published || is_missing))
		want(f, process);
}

/* Another second begins, when the last one is over. */
static void follow_seconds(struct unwind_feed *f, uint64_t now_ns)
{
	if (now_ns - f->second_ns < SECOND_NS)
		return;
	f->looks_ns = !f->second_ns ? LOOKS_FIRST_NS : f->is_calm ? LOOKS_CALM_NS : LOOKS_NS;
	f->expected_cpu_ns = 0;
	f->second_ns = now_ns;
	/* A cgroup gets all of it where nobody else wants any, children of one parent a third. */
	fair_begin_anew(&f->spent);
	f->spent.most = (uint32_t)(3 * f->looks_ns / 1000);
	f->spent.most_of_cgroup = f->spent.most_of_process = f->spent.most;
}

void unwind_feed_hurry(struct unwind_feed *f, bool on)
{
	f->is_hurried = on;
	if (on)
		f->second_ns = 0;
}

/* Whether there is time for processes that were not sampled yet. */
static bool may_expect(struct unwind_feed *f)
{
	follow_seconds(f, clock_now_ns());
	return f->expected_cpu_ns < EXPECTED_CPU_NS;
}

void unwind_feed_expect(struct unwind_feed *f, const struct model *m, uint32_t process)
{
	struct fed *fed = f->is_calm ? NULL : fed_of(f, process);

	if (!fed || fed->is_wanted || fed->changes == m->processes[process].mapping_changes ||
	    !may_expect(f))
		return;
	if (!fed->not_before_ns)
		fed->not_before_ns = clock_now_ns() + SETTLED_NS;
	want(f, process);
}

void unwind_feed_prepare(struct unwind_feed *f, uint32_t process)
{
	struct fed *fed = fed_of(f, process);

	if (!fed)
		return;
	fed->used_ns = clock_now_ns();
	fed->not_before_ns = fed->latest_ns = 0;
	want(f, process);
}

void unwind_feed_forget(struct unwind_feed *f, const struct model *m, uint32_t process)
{
	struct fed *fed = process < f->fed_cnt ? &f->fed[process] : NULL;

	if (!fed)
		return;
	unpublish(f, m, process);
	if (fed->is_wanted)
		remove_from(f->wanted, &f->wanted_cnt, process);
	free(fed->made.tables);
	*fed = (struct fed){.used_ns = fed->used_ns};
}

/* Makes room for a process: the one that was sampled longest ago loses its tables, unless that was
 * since then. Returns whether there will be some. */
static bool evict(struct unwind_feed *f, const struct model *m, uint32_t process, uint64_t since_ns)
{
	uint32_t oldest = MODEL_NONE;

	if (unwind_tables_drop_unused(&f->tables))
		return true;
	for (size_t i = 0; i < f->published_cnt; i++)
		if (f->published[i] != process &&
		    (oldest == MODEL_NONE ||
		     f->fed[f->published[i]].used_ns < f->fed[oldest].used_ns))
			oldest = f->published[i];
	if (oldest == MODEL_NONE || f->fed[oldest].used_ns >= since_ns)
		return false;
	unpublish(f, m, oldest);
	unwind_tables_drop_unused(&f->tables);
	return true;
}

void unwind_feed_clear(struct unwind_feed *f, const struct model *m)
{
	for (uint32_t i = 0; i < f->fed_cnt; i++)
		unwind_feed_forget(f, m, i);
	unwind_tables_clear(&f->tables);
	f->fed_cnt = 0;
}

/* --- a look ----------------------------------------------------------------------------------- */

/* One that had its id before it, and ended unseen, must not take its tables along. */
static void unpublish_former(struct unwind_feed *f, const struct model *m, uint32_t process)
{
	for (size_t i = f->published_cnt; i-- > 0;)
		if (f->published[i] != process &&
		    m->processes[f->published[i]].tgid == m->processes[process].tgid)
			unpublish(f, m, f->published[i]);
}

/* Gives the kernel the run. 0 or negative errno: it has what it had before. */
static int publish(struct unwind_feed *f, const struct model *m, uint32_t process,
		   const struct fed *now)
{
	uint32_t tgid = m->processes[process].tgid;
	int err;

	/* Room in the list first: there is no way back. */
	if (!now->is_published) {
		unpublish_former(f, m, process);
		if (GROW(f->published, f->published_cnt, f->published_cap))
			return -ENOMEM;
	}
	err = unwind_maps_set_process(f->tables.maps, tgid, now->start_ns, f->run.run,
				      (uint32_t)f->run.run_cnt);
	if (!err && !now->is_published)
		f->published[f->published_cnt++] = process;
	return err;
}

static uint64_t rest_ns(const struct unwind_feed *f, const struct fed *fed, uint64_t cpu_ns)
{
	uint64_t ns = cpu_ns * (f->is_calm		     ? LOOK_REST_CALM
				: fed->cpu_ns < EAGER_CPU_NS ? LOOK_REST_EAGER
							     : LOOK_REST);
	uint64_t least_ns = fed->made.is_pending && fed->made.is_short ? ROOM_MADE_NS
			    : fed->made.is_pending		       ? PENDING_NS
			    : fed->made.is_short		       ? NO_ROOM_NS
			    : f->is_calm			       ? LOOK_AGAIN_CALM_NS
								       : LOOK_AGAIN_NS;

	return ns > least_ns && !f->is_hurried ? ns : least_ns;
}

/* Whether the process is to be looked at again. */
static bool look(struct unwind_feed *f, struct model *m, struct names *names, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	struct fed now = f->fed[process], was = now;
	uint64_t begin_ns = clock_now_ns(), cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool changed, is_taken = false;

	now.changes = p->mapping_changes;
	/* That of a process which was seen to be forked is not exact before its first sample. */
	now.start_ns = p->start_exact ? p->start_ns : 0;
	if (unwind_run_make(&f->run, &f->tables, m, names, process, !now.used_ns, &now.made))
		return false;
	changed = !was.is_published || was.changes != now.changes ||
		  was.made.mapped != now.made.mapped || was.made.code != now.made.code ||
		  was.made.code_pages != now.made.code_pages || was.made.is_short ||
		  was.made.is_brief || now.made.is_pending != was.made.is_pending;
	if (f->run.run_cnt && changed) {
		is_taken = !publish(f, m, process, &now);
		now.is_published |= is_taken;
		now.made.is_short |= !is_taken;
	}
	/* Room is made once for each look. */
	if (now.made.is_short)
		now.made.is_pending |= evict(f, m, process, begin_ns - NO_ROOM_NS);
	/* The kernel walks by these tables, or by those that it had. */
	if (is_taken) {
		unwind_made_release(&was.made, &f->tables);
	} else {
		unwind_made_keep_tables(&now.made, &was.made, &f->tables);
		now.start_ns = was.start_ns;
	}
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	if (!now.used_ns)
		f->expected_cpu_ns += cpu_ns;
	now.cpu_ns += cpu_ns;
	now.answers = names_answers(names);
	now.not_before_ns = begin_ns + rest_ns(f, &now, cpu_ns);
	now.latest_ns = now.not_before_ns + PENDING_LATEST_NS;
	f->fed[process] = now;
	return now.made.is_pending;
}

/* Whether anything can be done for a process that is wanted. */
static bool is_worth_it(struct unwind_feed *f, const struct model *m, uint32_t process)
{
	/* Its first sample wants it again. */
	return !is_over(m, process) && (f->fed[process].used_ns || may_expect(f));
}

/* Children of init are services, each for itself. */
static uint32_t party_of(const struct model *m, uint32_t process)
{
	return m->processes[process].parent_tgid == 1 ? process : fair_party(m, process);
}

/* Whether there is somebody else for whom anything can be done soon. */
static bool wants_others(struct unwind_feed *f, const struct model *m, uint64_t now_ns)
{
	for (size_t i = 0; i < f->wanted_cnt; i++) {
		uint32_t process = f->wanted[i];

		if (!model_is_own(m, process) && m->processes[process].mapping_cnt &&
		    f->fed[process].not_before_ns < now_ns + SOON_NS && is_worth_it(f, m, process))
			return true;
	}
	return false;
}

/* look(), on the account of the second and of who answers for it. */
static bool look_on_account(struct unwind_feed *f, struct model *m, struct names *names,
			    uint32_t process)
{
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint32_t party = party_of(m, process);
	bool again;

	if (!fair_may(&f->spent, m, party)) {
		f->fed[process].not_before_ns = f->second_ns + SECOND_NS;
		f->fed[process].latest_ns = f->fed[process].not_before_ns;
		return true;
	}

	names_unwind_begin(names, LOOK_ASK_NS);
	again = look(f, m, names, process);
	names_unwind_end(names);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	f->looks_ns -= cpu_ns < f->looks_ns ? cpu_ns : f->looks_ns;
	fair_add(&f->spent, m, party, (uint32_t)(cpu_ns / 1000) + 1);
	return again;
}

/* When it may be looked at; what is pending also waits for an answer. */
static uint64_t due_ns_of(const struct fed *fed, const struct names *names)
{
	bool waits =
		fed->made.is_pending && !fed->made.is_short && fed->answers == names_answers(names);

	return waits ? fed->latest_ns : fed->not_before_ns;
}

uint64_t unwind_feed_work(struct unwind_feed *f, struct model *m, struct names *names)
{
	uint64_t begin_ns = clock_now_ns(), now_ns = begin_ns, due_ns = UINT64_MAX;
	size_t kept = 0, cnt = f->wanted_cnt;
	bool own_wait;

	follow_seconds(f, now_ns);
	own_wait = wants_others(f, m, now_ns);
	for (size_t i = 0; i < cnt; i++) {
		uint32_t process = f->wanted[i];
		struct fed *fed = &f->fed[process];
		/* Its mappings are not known before its facts are. */
		bool is_known = m->processes[process].mapping_cnt;
		bool may = f->looks_ns > 0 && !(own_wait && model_is_own(m, process));
		uint64_t look_ns;

		if (!is_worth_it(f, m, process)) {
			fed->is_wanted = false;
			continue;
		}
		if (is_known && may && now_ns >= due_ns_of(fed, names) &&
		    now_ns - begin_ns < WORK_NS) {
			fed->is_wanted = look_on_account(f, m, names, process);
			now_ns = clock_now_ns();
			if (!fed->is_wanted)
				continue;
		}
		look_ns = is_known && may ? due_ns_of(fed, names) : UINT64_MAX;
		if (look_ns < now_ns + SOON_NS && look_ns < due_ns)
			due_ns = look_ns;
		f->wanted[kept++] = process;
	}
	f->wanted_cnt = kept;
	return due_ns;
}

bool unwind_feed_is_busy(const struct unwind_feed *f)
{
	return f->wanted_cnt > 0;
}

bool unwind_feed_wants(const struct unwind_feed *f, uint32_t process)
{
	return process < f->fed_cnt && f->fed[process].is_wanted;
}

void unwind_feed_tidy(struct unwind_feed *f, const struct model *m)
{
	for (size_t i = f->published_cnt; i-- > 0;)
		if (is_over(m, f->published[i]))
			unwind_feed_forget(f, m, f->published[i]);
	for (size_t i = f->wanted_cnt; i-- > 0;)
		if (is_over(m, f->wanted[i]))
			unwind_feed_forget(f, m, f->wanted[i]);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/unwind_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/helper_names.h"
#include "model/fair.h"

/* Of one process; of a table: 2 GiB of code. */
#define MAPPINGS_MAX 8192u
#define PAGES_MAX    (UNWIND_PAGES_MAX / 8)
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

struct table {
	uint64_t content; /* 0: of one process alone */
	uint32_t first_page, page_cnt, page_base;
	uint32_t refs; /* processes, each once */
	bool is_free;
};

struct fed {
	bool is_wanted, is_published;
	bool is_pending;  /* a file of it is being read, or room is being made */
	bool is_short;	  /* there was no room for some of it */
	bool is_brief;	  /* some of it was left out before its first sample */
	uint32_t changes; /* mapping_changes of the model then */
	uint32_t mapped;  /* mappings with a table then */
	uint32_t code;	  /* names_code_generation() then */
	uint64_t answers; /* names_answers() then */
	uint64_t used_ns, not_before_ns, latest_ns;
	uint64_t cpu_ns;     /* of its looks until now */
	uint64_t start_ns;   /* with which it was published */
	uint32_t code_pages; /* of its tables of code */
	uint32_t *tables;    /* rows; owned; none where it is not published */
	size_t tables_cnt, tables_cap;
};

struct unwind_feed {
	struct unwind_maps *maps;
	bool is_calm;
	bool is_hurried;
	struct table *tables;
	size_t tables_cnt, tables_cap;
	struct hash_index by_content;
	struct fed *fed; /* by row of processes */
	size_t fed_cnt, fed_cap;
	uint32_t *wanted; /* rows of processes */
	size_t wanted_cnt, wanted_cap;
	uint32_t *published; /* the same */
	size_t published_cnt, published_cap;
	/* Of the second that began then: left for looks, and used for processes not sampled yet. */
	uint64_t second_ns, looks_ns, expected_cpu_ns;
	struct fair spent; /* us of looks in that second, by party */
	/* Of the look under way. */
	uint64_t *bounds;
	size_t bounds_cnt, bounds_cap;
	struct unwind_mapping *run;
	size_t run_cnt, run_cap;
	struct unwind_page *code_pages;
	size_t code_pages_cnt, code_pages_cap;
	struct unwind_row *code_rows;
	size_t code_rows_cnt, code_rows_cap;
};

struct unwind_feed *unwind_feed_new(struct unwind_maps *maps, bool is_calm)
{
	struct unwind_feed *f = calloc(1, sizeof(*f));

	if (f) {
		f->maps = maps;
		f->is_calm = is_calm;
	}
	return f;
}

void unwind_feed_free(struct unwind_feed *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->fed_cnt; i++)
		free(f->fed[i].tables);
	free(f->tables);
	fair_clear(&f->spent);
	hash_clear(&f->by_content);
	free(f->fed);
	free(f->wanted);
	free(f->published);
	free(f->bounds);
	free(f->run);
	free(f->code_pages);
	free(f->code_rows);
	free(f);
}

/* --- tables ----------------------------------------------------------------------------------- */

static bool content_equal(const void *owner, uint32_t row, const void *key)
{
	const struct table *t = &((const struct unwind_feed *)owner)->tables[row];

	return !t->is_free && t->content == *(const uint64_t *)key;
}

static uint32_t find_table(const struct unwind_feed *f, uint64_t content)
{
	return hash_find(&f->by_content, hash_pair(content, 0), content_equal, f, &content);
}

static void drop_table(struct unwind_feed *f, uint32_t row)
{
	struct table *t = &f->tables[row];

	unwind_maps_drop(f->maps, t->first_page, t->page_cnt);
	t->is_free = true;
}

/* Drops those that no process has; they may be used again after the grace. Returns whether there
 * were any. */
static bool drop_unused(struct unwind_feed *f)
{
	bool dropped = false;

	for (size_t i = 0; i < f->tables_cnt; i++) {
		if (f->tables[i].is_free || f->tables[i].refs)
			continue;
		drop_table(f, (uint32_t)i);
		dropped = true;
	}
	return dropped;
}

static void index_anew(struct unwind_feed *f)
{
	hash_clear(&f->by_content);
	for (size_t i = 0; i < f->tables_cnt; i++)
		if (!f->tables[i].is_free && f->tables[i].content)
			hash_add(&f->by_content, hash_pair(f->tables[i].content, 0), (uint32_t)i);
}

static uint32_t new_row(struct unwind_feed *f, uint64_t content)
{
	uint32_t row = 0;

	while (row < f->tables_cnt && !f->tables[row].is_free)
		row++;
	if (row == f->tables_cnt) {
		if (GROW(f->tables, f->tables_cnt, f->tables_cap))
			return HASH_NONE;
		f->tables[f->tables_cnt++] = (struct table){.is_free = true};
	}
	/* Entries of tables that were dropped stay for a while: their content is never given again,
	 * and a row that has another one by now is not equal. */
	if (!content)
		return row; /* nobody looks for it */
	if (f->by_content.cnt > 4 * f->tables_cnt + 64)
		index_anew(f);
	return hash_add(&f->by_content, hash_pair(content, 0), row) ? HASH_NONE : row;
}

/* HASH_NONE: there is no room. */
static uint32_t add_table(struct unwind_feed *f, const struct names_unwind *from)
{
	const struct unwind_maps_table table = {
		.pages = from->pages,
		.page_base = from->page_base,
		.page_cnt = from->page_cnt,
		.rows = from->rows,
		.row_cnt = from->row_cnt,
	};
	uint32_t first_page, row;

	if (from->page_cnt > PAGES_MAX || unwind_maps_add(f->maps, &table, &first_page))
		return HASH_NONE;
	row = new_row(f, from->content);
	if (row == HASH_NONE) {
		unwind_maps_drop(f->maps, first_page, from->page_cnt);
		return HASH_NONE;
	}
	f->tables[row] = (struct table){
		.content = from->content,
		.first_page = first_page,
		.page_cnt = from->page_cnt,
		.page_base = from->page_base,
	};
	return row;
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

static void release_tables(struct unwind_feed *f, uint32_t *tables, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!--f->tables[tables[i]].refs && !f->tables[tables[i]].content)
			drop_table(f, tables[i]);
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
	unwind_maps_forget_process(f->maps, p->tgid, fed->start_ns);
	release_tables(f, fed->tables, fed->tables_cnt);
	fed->tables_cnt = 0;
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
	is_changed = !fed->is_published || fed->is_pending || fed->is_short || fed->is_brief ||
		     fed->changes != m->processes[process].mapping_changes ||
		     fed->code != names_code_generation(names, process);
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
	free(fed->tables);
	*fed = (struct fed){.used_ns = fed->used_ns};
}

/* Makes room for a process: the one that was sampled longest ago loses its tables, unless that was
 * since then. Returns whether there will be some. */
static bool evict(struct unwind_feed *f, const struct model *m, uint32_t process, uint64_t since_ns)
{
	uint32_t oldest = MODEL_NONE;

	if (drop_unused(f))
		return true;
	for (size_t i = 0; i < f->published_cnt; i++)
		if (f->published[i] != process &&
		    (oldest == MODEL_NONE ||
		     f->fed[f->published[i]].used_ns < f->fed[oldest].used_ns))
			oldest = f->published[i];
	if (oldest == MODEL_NONE || f->fed[oldest].used_ns >= since_ns)
		return false;
	unpublish(f, m, oldest);
	drop_unused(f);
	return true;
}

void unwind_feed_clear(struct unwind_feed *f, const struct model *m)
{
	for (uint32_t i = 0; i < f->fed_cnt; i++)
		unwind_feed_forget(f, m, i);
	drop_unused(f);
	f->tables_cnt = f->fed_cnt = 0;
	hash_clear(&f->by_content);
}

/* --- a look ----------------------------------------------------------------------------------- */

static int compare_bounds(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Where code of the process begins or ends now. Mappings may overlap: newer ones lie on top. */
static int collect_bounds(struct unwind_feed *f, const struct model_process *p)
{
	f->bounds_cnt = 0;
	for (size_t i = 0; i < p->mapping_cnt; i++) {
		const struct model_mapping *map = &p->mappings[i];

		if (map->to_ns)
			continue;
		if (f->bounds_cnt >= 2 * MAPPINGS_MAX)
			break;
		for (int end = 0; end < 2; end++) {
			if (GROW(f->bounds, f->bounds_cnt, f->bounds_cap))
				return -1;
			f->bounds[f->bounds_cnt++] = end ? map->end : map->start;
		}
	}
	if (f->bounds_cnt)
		qsort(f->bounds, f->bounds_cnt, sizeof(*f->bounds), compare_bounds);
	return 0;
}

/* Takes a table of the process's own, or one more use of a table. */
static bool keep_table(struct unwind_feed *f, struct fed *fed, uint32_t row,
		       struct unwind_mapping *to)
{
	const struct table *t;

	if (row == HASH_NONE || GROW(fed->tables, fed->tables_cnt, fed->tables_cap))
		return false;
	t = &f->tables[row];
	fed->tables[fed->tables_cnt++] = row;
	f->tables[row].refs++;
	to->first_page = t->first_page;
	to->page_cnt = t->page_cnt;
	to->page_base = t->page_base;
	return true;
}

/* Index of the first page of code from a number on. */
static size_t code_page_from(const struct names *names, uint32_t process, uint64_t number)
{
	size_t low = 0, high = names_code_pages(names, process);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names_code_page(names, process, middle).number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Code that was made at run time, as far as it is known there: a table of its own. */
static void describe_code(struct unwind_feed *f, struct names *names, uint32_t process,
			  struct fed *fed, struct unwind_mapping *to)
{
	size_t first = code_page_from(names, process, to->start >> UNWIND_PAGE_BITS);
	size_t until = code_page_from(names, process, ((to->end - 1) >> UNWIND_PAGE_BITS) + 1);
	struct names_unwind from = {0};
	uint64_t base;

	if (first >= until)
		return;
	base = names_code_page(names, process, first).number;
	from.page_cnt = (uint32_t)(names_code_page(names, process, until - 1).number - base) + 1;
	if (from.page_cnt > PAGES_MAX - fed->code_pages || base > UINT32_MAX)
		return;
	f->code_pages_cnt = f->code_rows_cnt = 0;
	for (size_t i = first; i < until; i++) {
		struct names_code_page page = names_code_page(names, process, i);

		while (f->code_pages_cnt <= page.number - base) {
			if (GROW(f->code_pages, f->code_pages_cnt, f->code_pages_cap))
				return;
			f->code_pages[f->code_pages_cnt++] = (struct unwind_page){0};
		}
		f->code_pages[page.number - base] =
			(struct unwind_page){(uint32_t)f->code_rows_cnt, page.cnt};
		for (uint32_t k = 0; k < page.cnt; k++) {
			if (GROW(f->code_rows, f->code_rows_cnt, f->code_rows_cap))
				return;
			f->code_rows[f->code_rows_cnt++] = page.rows[k];
		}
	}
	from.page_base = (uint32_t)base;
	from.pages = f->code_pages;
	from.rows = f->code_rows;
	from.row_cnt = (uint32_t)f->code_rows_cnt;
	if (keep_table(f, fed, add_table(f, &from), to))
		fed->code_pages += from.page_cnt;
	else
		fed->is_short = true;
}

/* What the kernel is told of a mapping; tables is what the process has by now. */
static struct unwind_mapping describe(struct unwind_feed *f, struct model *m, struct names *names,
				      uint32_t process, const struct model_mapping *map,
				      struct fed *fed)
{
	struct unwind_mapping to = {.kind = UNWIND_BY_FP};
	enum model_reason reason;
	struct names_unwind from;
	bool is_later;
	uint32_t row;

	if (map->kind != MAPPING_FILE && map->kind != MAPPING_VDSO)
		return to;
	/* For who was not sampled yet others' names are not held up. */
	is_later = !fed->used_ns && names_unwind_can_wait(m->modules[map->module].path);
	fed->is_brief |= is_later;
	reason = is_later ? REASON_PENDING : names_unwind(names, m, process, map, &from);
	if (reason == REASON_PENDING) {
		fed->is_pending |= !is_later;
		to.kind = UNWIND_NOT_YET;
		return to;
	}
	to.kind = UNWIND_NO_TABLE;
	if (reason || !from.page_cnt || from.page_cnt > PAGES_MAX)
		return to;
	row = find_table(f, from.content);
	if (row == HASH_NONE)
		row = add_table(f, &from);
	to.kind = UNWIND_NO_MEMORY;
	if (!keep_table(f, fed, row, &to)) {
		fed->is_short = true;
		return to;
	}
	to.kind = UNWIND_BY_TABLE;
	to.bias = from.bias;
	return to;
}

static bool may_join(const struct unwind_mapping *a, const struct unwind_mapping *b)
{
	return a->end == b->start && a->kind == b->kind && a->first_page == b->first_page &&
	       a->page_cnt == b->page_cnt && a->bias == b->bias;
}

/* Has those files read first without which walks break at once. */
static void begin_reading(struct model *m, struct names *names, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	struct names_unwind from;

	for (size_t i = 0; i < p->mapping_cnt && i < MAPPINGS_MAX; i++) {
		struct model_mapping map = p->mappings[i];

		if (!map.to_ns && map.kind == MAPPING_FILE &&
		    !names_unwind_can_wait(m->modules[map.module].path))
			names_unwind(names, m, process, &map, &from);
	}
}

/* Fills the run; is_reading: more of its code will be known. Returns the mappings with a table. */
static uint32_t make_run(struct unwind_feed *f, struct model *m, struct names *names,
			 uint32_t process, bool is_reading, struct fed *fed)
{
	uint64_t now_ns = clock_now_ns();
	uint32_t tabled = 0;

	f->run_cnt = 0;
	for (size_t i = 0; i + 1 < f->bounds_cnt && f->run_cnt < MAPPINGS_MAX; i++) {
		const struct model_mapping *map;
		struct unwind_mapping to;

		if (f->bounds[i] == f->bounds[i + 1])
			continue;
		map = model_mapping_find(m, process, f->bounds[i], now_ns);
		if (!map || map->to_ns || f->bounds[i] < map->start || f->bounds[i] >= map->end)
			continue;
		to = describe(f, m, names, process, map, fed);
		to.start = f->bounds[i];
		to.end = f->bounds[i + 1];
		tabled += to.kind == UNWIND_BY_TABLE;
		if (f->run_cnt && may_join(&f->run[f->run_cnt - 1], &to))
			f->run[f->run_cnt - 1].end = to.end;
		else if (!GROW(f->run, f->run_cnt, f->run_cap))
			f->run[f->run_cnt++] = to;
	}
	for (size_t i = 0; i < f->run_cnt; i++) {
		if (f->run[i].kind != UNWIND_BY_FP)
			continue;
		describe_code(f, names, process, fed, &f->run[i]);
		if (is_reading)
			f->run[i].kind = UNWIND_NOT_YET;
	}
	return tabled;
}

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
	err = unwind_maps_set_process(f->maps, tgid, now->start_ns, f->run, (uint32_t)f->run_cnt);
	if (!err && !now->is_published)
		f->published[f->published_cnt++] = process;
	return err;
}

static uint64_t rest_ns(const struct unwind_feed *f, const struct fed *fed, uint64_t cpu_ns)
{
	uint64_t ns = cpu_ns * (f->is_calm		     ? LOOK_REST_CALM
				: fed->cpu_ns < EAGER_CPU_NS ? LOOK_REST_EAGER
							     : LOOK_REST);
	uint64_t least_ns = fed->is_pending && fed->is_short ? ROOM_MADE_NS
			    : fed->is_pending		     ? PENDING_NS
			    : fed->is_short		     ? NO_ROOM_NS
			    : f->is_calm		     ? LOOK_AGAIN_CALM_NS
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

	now.tables = NULL;
	now.tables_cnt = now.tables_cap = now.code_pages = 0;
	now.is_short = now.is_brief = false;
	now.changes = p->mapping_changes;
	/* That of a process which was seen to be forked is not exact before its first sample. */
	now.start_ns = p->start_exact ? p->start_ns : 0;
	if (collect_bounds(f, p))
		return false;
	begin_reading(m, names, process);
	now.is_pending = names_unwind_code(names, m, process) == REASON_PENDING;
	now.code = names_code_generation(names, process);
	now.mapped = make_run(f, m, names, process, now.is_pending, &now);
	changed = !was.is_published || was.changes != now.changes || was.mapped != now.mapped ||
		  was.code != now.code || was.code_pages != now.code_pages || was.is_short ||
		  was.is_brief || now.is_pending != was.is_pending;
	if (f->run_cnt && changed) {
		is_taken = !publish(f, m, process, &now);
		now.is_published |= is_taken;
		now.is_short |= !is_taken;
	}
	/* Room is made once for each look. */
	if (now.is_short)
		now.is_pending |= evict(f, m, process, begin_ns - NO_ROOM_NS);
	/* The kernel walks by these tables, or by those that it had. */
	if (is_taken) {
		release_tables(f, was.tables, was.tables_cnt);
		free(was.tables);
	} else {
		release_tables(f, now.tables, now.tables_cnt);
		free(now.tables);
		now.tables = was.tables;
		now.tables_cnt = was.tables_cnt;
		now.tables_cap = was.tables_cap;
		now.code_pages = was.code_pages;
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
	return now.is_pending;
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

/* hotrun and its helpers, which work most while others' files are read. Who only calls itself so
 * harms nobody else. */
static bool is_own(const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];

	return (p->flags & PROCESS_SELF) || helper_is_name(p->comm);
}

/* Whether there is somebody else for whom anything can be done soon. */
static bool wants_others(struct unwind_feed *f, const struct model *m, uint64_t now_ns)
{
	for (size_t i = 0; i < f->wanted_cnt; i++) {
		uint32_t process = f->wanted[i];

		if (!is_own(m, process) && m->processes[process].mapping_cnt &&
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
	bool waits = fed->is_pending && !fed->is_short && fed->answers == names_answers(names);

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
		bool may = f->looks_ns > 0 && !(own_wait && is_own(m, process));
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/maps/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfmap/maps/line.h"
#include "perfmap/maps/run.h"
#include "perfmap/maps/scan.h"

/* Entries gathered before they are sorted: their sort keys still fit a second-level cache. */
#define TAIL_ENTRIES_MAX (64u << 10)
/* A tail larger than this is freed once it is sorted: growth comes a few lines a second. */
#define TAIL_ENTRIES_KEPT 256u
/* Two runs become one when the older is less than this many times the newer: few runs to look
 * through (8^8 > PERFMAP_ENTRIES_MAX), and an entry is moved at most 8 times a doubling. */
#define RUN_RATIO 8u
/* The same while a large map is loaded and nobody looks anything up: fewer moves. */
#define LOADING_RATIO 2u
#define RUNS_MAX      32u /* each is more than twice as long as the next: 2^32 entries */
/* Rows and summaries that one look-up may touch. A million entries without overlap need 60. */
#define SCAN_BUDGET 4096u
/* Entries with one start that are looked at from the one in question on. */
#define GROUP_SCAN 32u
#define GROUP_COST 16u /* of the budget */
/* "0x", 16 digits, space, "0x", 16 digits, space. */
#define HEADER_BYTES_MAX 38u
#define NAME_CAP_MIN	 64u

struct perfmap {
	struct perfmap_run runs[RUNS_MAX]; /* in order of arrival */
	size_t run_cnt;
	size_t entry_cnt; /* tail included */
	size_t entries_max;
	struct perfmap_entry *tail; /* in order of arrival, unsorted */
	size_t tail_cnt, tail_cap;
	uint64_t *epochs_ns; /* ascending; a new row also after a rewrite */
	size_t epoch_cnt, epoch_cap;
	bool epoch_wanted; /* the next feed starts a new row */

	struct perfmap_lines lines; /* of perfmap_feed() */
	bool last_open;		    /* the entry given last is last in tail: its name may go on */
	struct perfmap_counters counters;
};

struct perfmap *perfmap_new(void)
{
	struct perfmap *map = calloc(1, sizeof(*map));

	if (map) {
		map->epoch_wanted = true;
		map->entries_max = PERFMAP_ENTRIES_MAX;
	}
	return map;
}

void perfmap_free(struct perfmap *map)
{
	size_t i;

	if (!map)
		return;
	for (i = 0; i < map->run_cnt; i++)
		perfmap_run_clear(&map->runs[i]);
	free(map->tail);
	free(map->epochs_ns);
	perfmap_lines_clear(&map->lines);
	free(map);
}

/* Room for wanted elements; grows by half, so little is left unused. */
static int reserve(void *array, size_t *cap, size_t wanted, size_t elem_bytes)
{
	size_t grown = *cap + *cap / 2;
	void *p;

	if (wanted <= *cap)
		return 0;
	if (grown < wanted)
		grown = wanted < 16 ? 16 : wanted;
	p = reallocarray(*(void **)array, grown, elem_bytes);
	if (!p)
		return -ENOMEM;
	*(void **)array = p;
	*cap = grown;
	return 0;
}

/* Whether the run before the newest one is long enough to stay apart. */
static bool is_apart(const struct perfmap *map, size_t ratio)
{
	const struct perfmap_run *end = map->runs + map->run_cnt;

	return map->run_cnt < 2 || end[-2].cnt / ratio > end[-1].cnt;
}

/* Merges the newest runs as long as the one before is less than ratio times as long. */
static int merge_runs(struct perfmap *map, size_t ratio)
{
	while (!is_apart(map, ratio)) {
		struct perfmap_run *newer = &map->runs[map->run_cnt - 1], *older = newer - 1;
		size_t repeated = 0;

		if (perfmap_run_merge(older, newer, &repeated))
			return -ENOMEM;
		map->counters.repeated += repeated;
		map->entry_cnt -= repeated;
		map->run_cnt--;
	}
	return 0;
}

/* The tail becomes a run. */
static int sort_tail(struct perfmap *map)
{
	size_t repeated = 0;
	int err;

	if (!map->tail_cnt)
		return 0;
	if (map->run_cnt == RUNS_MAX)
		return -ENOMEM; /* only when merging failed again and again */
	err = perfmap_run_build(&map->runs[map->run_cnt], map->tail, map->tail_cnt, &repeated);
	if (err)
		return err;
	map->run_cnt++;
	map->counters.repeated += repeated;
	map->entry_cnt -= repeated;
	map->tail_cnt = 0;
	map->last_open = false;
	return 0;
}

bool perfmap_is_settled(const struct perfmap *map)
{
	return !map->tail_cnt && is_apart(map, RUN_RATIO);
}

int perfmap_settle(struct perfmap *map)
{
	int err = sort_tail(map);

	if (err)
		return err;
	if (map->tail_cap > TAIL_ENTRIES_KEPT) {
		free(map->tail);
		map->tail = NULL;
		map->tail_cap = 0;
	}
	return merge_runs(map, RUN_RATIO);
}

static int add_entry(struct perfmap *map, const struct perfmap_entry *entry)
{
	int err;

	if (map->entry_cnt >= map->entries_max) {
		map->counters.over_limit++;
		return 0;
	}
	if (map->tail_cnt >= TAIL_ENTRIES_MAX) {
		err = sort_tail(map);
		if (!err)
			err = merge_runs(map, LOADING_RATIO);
		if (err)
			return err;
	}
	err = reserve(&map->tail, &map->tail_cap, map->tail_cnt + 1, sizeof(*map->tail));
	if (err)
		return err;
	map->tail[map->tail_cnt++] = *entry;
	map->entry_cnt++;
	map->counters.entries++;
	return 0;
}

/* The name of the last entry goes on in another line. */
static void continue_name(struct perfmap *map, const struct perfmap_entry *row)
{
	struct perfmap_entry *last = map->tail_cnt ? &map->tail[map->tail_cnt - 1] : NULL;

	if (!map->last_open || !last || last->offset != row->offset)
		return;
	last->length = row->length;
	last->check = 0;
	map->counters.continued++;
}

static int take_row(void *arg, const struct perfmap_entry *row)
{
	struct perfmap *map = arg;
	struct perfmap_entry entry = *row;
	int err;

	if (row->flags & PERFMAP_ROW_CONTINUES) {
		continue_name(map, row);
		return 0;
	}
	entry.epoch = (uint32_t)(map->epoch_cnt - 1);
	entry.flags = row->flags & PERFMAP_ENTRY_STUB;
	err = add_entry(map, &entry);
	map->last_open =
		!err && map->tail_cnt && map->tail[map->tail_cnt - 1].offset == entry.offset;
	return err;
}

static void count(struct perfmap *map, const struct perfmap_scanned *scanned)
{
	map->counters.damaged += scanned->damaged;
	map->counters.unknown += scanned->unknown;
	map->counters.too_long += scanned->too_long;
	map->counters.over_limit += scanned->too_far;
}

static int begin_epoch(struct perfmap *map, uint64_t seen_ns)
{
	uint64_t last = map->epoch_cnt ? map->epochs_ns[map->epoch_cnt - 1] : 0;
	int err;

	if (!map->epoch_wanted && seen_ns <= last)
		return 0;
	err = reserve(&map->epochs_ns, &map->epoch_cap, map->epoch_cnt + 1, sizeof(last));
	if (err)
		return err;
	map->epochs_ns[map->epoch_cnt++] = seen_ns > last ? seen_ns : last;
	map->epoch_wanted = false;
	return 0;
}

int perfmap_feed(struct perfmap *map, const char *bytes, size_t len, uint64_t file_offset,
		 uint64_t seen_ns)
{
	int err;

	if (file_offset != map->lines.next_offset)
		return -EINVAL;
	if (!len)
		return 0;
	err = begin_epoch(map, seen_ns);
	if (err)
		return err;
	map->lines.sink = take_row;
	map->lines.arg = map;
	map->lines.scanned = (struct perfmap_scanned){0};
	err = perfmap_lines_feed(&map->lines, bytes, len, file_offset);
	count(map, &map->lines.scanned);
	return err;
}

int perfmap_take(struct perfmap *map, const struct perfmap_entry *rows, size_t cnt,
		 const struct perfmap_scanned *scanned, uint64_t seen_ns)
{
	int err;

	if (scanned->rewritten)
		perfmap_rewritten(map);
	count(map, scanned);
	if (!cnt)
		return 0;
	err = begin_epoch(map, seen_ns);
	for (size_t i = 0; !err && i < cnt; i++)
		err = take_row(map, &rows[i]);
	return err;
}

void perfmap_rewritten(struct perfmap *map)
{
	perfmap_lines_restart(&map->lines);
	map->last_open = false;
	map->epoch_wanted = true;
	map->counters.rewrites++;
}

/* What a look-up has found so far. */
struct search {
	uint64_t address;
	size_t epochs; /* entries of lower epochs were seen at the time asked for */
	unsigned int budget;
	const struct perfmap_entry *best;
	bool later;
};

static bool arrived_after(const struct perfmap_entry *a, const struct perfmap_entry *b)
{
	return a->epoch != b->epoch ? a->epoch > b->epoch : a->offset > b->offset;
}

static void consider(struct search *s, const struct perfmap_entry *e, bool later)
{
	const struct perfmap_entry *best = s->best;
	bool stub = e->flags & PERFMAP_ENTRY_STUB, better;

	if (!best || later != s->later)
		better = !best || s->later;
	else if (stub != (bool)(best->flags & PERFMAP_ENTRY_STUB))
		better = !stub;
	else if (stub && e->size_bytes != best->size_bytes)
		better = e->size_bytes < best->size_bytes;
	else
		better = arrived_after(e, best) != later;
	if (better) {
		s->best = e;
		s->later = later;
	}
}

/* Entries from..last of a run have one start: the newest in time that covers, else the next. */
static void search_group(struct search *s, const struct perfmap_entry *e, size_t from, size_t last)
{
	size_t low = from, high = last + 1, i, n;

	/* First row that was not seen yet; within a group rows are in order of arrival. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (e[middle].epoch < s->epochs)
			low = middle + 1;
		else
			high = middle;
	}
	for (i = low, n = 0; i > from && n < GROUP_SCAN; n++) {
		i--;
		if (perfmap_entry_end(&e[i]) <= s->address)
			continue;
		consider(s, &e[i], false);
		if (!(e[i].flags & PERFMAP_ENTRY_STUB))
			break;
	}
	for (i = low, n = 0; i <= last && n < GROUP_SCAN && (!s->best || s->later); i++, n++) {
		if (perfmap_entry_end(&e[i]) <= s->address)
			continue;
		consider(s, &e[i], true);
		if (!(e[i].flags & PERFMAP_ENTRY_STUB))
			break;
	}
}

static void search_run(struct search *s, const struct perfmap_run *run)
{
	const struct perfmap_entry *e = run->entries;
	size_t row = perfmap_run_last_at(run, s->address), from;

	while (row != PERFMAP_RUN_NONE) {
		row = perfmap_run_covering(run, row, s->address, &s->budget);
		if (row == PERFMAP_RUN_NONE)
			return;
		from = row;
		if (row && e[row - 1].start == e[row].start)
			from = perfmap_run_first_at(run, e[row].start);
		search_group(s, e, from, row);
		s->budget -= s->budget < GROUP_COST ? s->budget : GROUP_COST;
		row = from ? from - 1 : PERFMAP_RUN_NONE;
	}
}

/* Number of epochs that had begun at time_ns. */
static size_t epochs_until(const struct perfmap *map, uint64_t time_ns)
{
	size_t low = 0, high = map->epoch_cnt;

	if (high && map->epochs_ns[high - 1] <= time_ns)
		return high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->epochs_ns[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int perfmap_find(struct perfmap *map, uint64_t address, uint64_t time_ns,
		 struct perfmap_hit *ret_hit)
{
	struct search s = {.address = address, .budget = SCAN_BUDGET};
	size_t i;
	int err = perfmap_settle(map);

	if (err)
		return err;
	s.epochs = epochs_until(map, time_ns);
	for (i = map->run_cnt; i > 0; i--) {
		search_run(&s, &map->runs[i - 1]);
		/* Older runs hold older entries only. */
		if (s.best && !s.later && !(s.best->flags & PERFMAP_ENTRY_STUB))
			break;
	}
	if (!s.budget)
		map->counters.cut_scans++;
	if (!s.best)
		return -ENOENT;
	*ret_hit = (struct perfmap_hit){
		.start = s.best->start,
		.size_bytes = s.best->size_bytes,
		.seen_ns = map->epochs_ns[s.best->epoch],
		.offset = s.best->offset,
		.length = s.best->length,
		.check = s.best->check,
		.is_stub = s.best->flags & PERFMAP_ENTRY_STUB,
		.later = s.later,
	};
	return 0;
}

/* Bytes read: fewer than len at the end of the file. Or negative errno. */
static ssize_t read_at(int fd, char *buf, size_t len, uint64_t offset)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, buf + got, len - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int perfmap_read_name(const struct perfmap_hit *hit, int fd, char *buf, size_t cap, size_t *ret_len)
{
	struct perfmap_line line;
	char head[HEADER_BYTES_MAX];
	size_t want, head_len, name_len;
	ssize_t got;

	if (cap < NAME_CAP_MIN)
		return -EINVAL;
	/* The header goes to its own buffer, so that buf holds as much of the name as it can. */
	head_len = hit->length < sizeof(head) ? hit->length : sizeof(head);
	got = read_at(fd, head, head_len, hit->offset);
	if (got < 0)
		return (int)got;
	if ((size_t)got < head_len || perfmap_line_parse(head, head_len, &line) || line.skipped ||
	    line.start != hit->start || line.size_bytes != hit->size_bytes)
		return -ESTALE;
	name_len = hit->length - line.name_offset;
	want = name_len < cap - 1 ? name_len : cap - 1;
	got = read_at(fd, buf, want, hit->offset + (uint64_t)line.name_offset);
	if (got < 0)
		return (int)got;
	if ((size_t)got < want)
		return -ESTALE;
	if (hit->check && want == name_len && perfmap_name_check(buf, want) != hit->check)
		return -ESTALE;
	buf[want] = 0;
	*ret_len = want;
	return 0;
}

uint64_t perfmap_damage(const struct perfmap *map)
{
	return map->counters.damaged;
}

struct perfmap_counters perfmap_counters(const struct perfmap *map)
{
	return map->counters;
}

void perfmap_limit(struct perfmap *map, size_t entries_max)
{
	map->entries_max = entries_max < PERFMAP_ENTRIES_MAX ? entries_max : PERFMAP_ENTRIES_MAX;
}

size_t perfmap_entries(const struct perfmap *map)
{
	return map->entry_cnt;
}

size_t perfmap_memory_bytes(const struct perfmap *map)
{
	size_t i, bytes = sizeof(*map) + map->lines.partial_cap;

	for (i = 0; i < map->run_cnt; i++)
		bytes += perfmap_run_bytes(&map->runs[i]);
	return bytes + map->tail_cap * sizeof(*map->tail) +
	       map->epoch_cap * sizeof(*map->epochs_ns);
}

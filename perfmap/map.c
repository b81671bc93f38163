/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfmap/line.h"
#include "perfmap/run.h"

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
/* "0x", 16 digits, space, 16 digits, space. */
#define HEADER_BYTES_MAX 36u
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

	char *partial; /* a line without its newline yet, from line_offset on */
	size_t partial_len, partial_cap;
	bool skipping;	      /* inside a line that is too long */
	uint64_t line_offset; /* where the line being read begins */
	uint64_t next_offset; /* where the next chunk must begin */
	bool has_0x, has_any; /* what the first entry looked like */
	bool open_name; /* the last line's name looks unfinished and its entry is last in tail */
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
	free(map->partial);
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

static uint32_t name_check(const char *name, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15ull, word;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, name + i, 8);
		h = (h ^ word) * 0xd6e8feb86659fd93ull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, name + i, len - i);
	h = (h ^ word) * 0xd6e8feb86659fd93ull;
	h ^= h >> 32;
	return (uint32_t)h ? (uint32_t)h : 1;
}

/* Merges the newest runs as long as the one before is less than ratio times as long. */
static int merge_runs(struct perfmap *map, size_t ratio)
{
	while (map->run_cnt >= 2) {
		struct perfmap_run *newer = &map->runs[map->run_cnt - 1], *older = newer - 1;
		size_t repeated = 0;

		if (older->cnt / ratio > newer->cnt)
			break;
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
	map->open_name = false;
	return 0;
}

static int settle(struct perfmap *map)
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

/* A name that ends like this is whole: argument list, tier tag, stub's owner. */
static bool ends_whole(const char *name, size_t len)
{
	return len && (name[len - 1] == ')' || name[len - 1] == ']' || name[len - 1] == '>');
}

static bool is_text(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (((unsigned char)s[i] < 0x20 && s[i] != '\t' && s[i] != '\r') || s[i] == 0x7f ||
		    (unsigned char)s[i] >= 0x80)
			return false;
	}
	return true;
}

static void take_other_line(struct perfmap *map, const char *text, size_t len)
{
	struct perfmap_entry *last;
	uint64_t length;

	if (!is_text(text, len)) {
		map->counters.damaged++;
		map->open_name = false;
		return;
	}
	if (!map->open_name) {
		map->counters.unknown++;
		return;
	}
	last = &map->tail[map->tail_cnt - 1];
	length = map->line_offset + len - last->offset;
	last->length = length < PERFMAP_RAW_BYTES_MAX ? (uint16_t)length : PERFMAP_RAW_BYTES_MAX;
	last->check = 0;
	map->counters.continued++;
	map->open_name = !ends_whole(text, len);
}

/* A whole line, without its newline, that begins at map->line_offset. */
static int take_line(struct perfmap *map, const char *text, size_t len)
{
	struct perfmap_entry entry = {0};
	struct perfmap_line line;
	const char *name;
	size_t whole;
	int err;

	if (perfmap_line_parse(text, len, &line) || (!line.has_0x && map->has_any && map->has_0x)) {
		take_other_line(map, text, len);
		return 0;
	}
	if (!map->has_any) {
		map->has_any = true;
		map->has_0x = line.has_0x;
	}
	if (line.skipped)
		map->counters.damaged++;
	map->open_name = false;
	if (map->line_offset + len > PERFMAP_FILE_BYTES_MAX) {
		map->counters.over_limit++;
		return 0;
	}
	name = text + line.name_offset;
	whole = len - line.skipped;
	entry.start = line.start;
	entry.size_bytes = (uint32_t)line.size_bytes;
	entry.offset = (uint32_t)(map->line_offset + line.skipped);
	entry.epoch = (uint32_t)(map->epoch_cnt - 1);
	entry.length = whole < PERFMAP_RAW_BYTES_MAX ? (uint16_t)whole : PERFMAP_RAW_BYTES_MAX;
	entry.check = whole <= PERFMAP_RAW_BYTES_MAX ? name_check(name, line.name_len) : 0;
	entry.flags = perfmap_line_is_stub(name, line.name_len) ? PERFMAP_ENTRY_STUB : 0;
	err = add_entry(map, &entry);
	map->open_name = !err && map->tail_cnt && !ends_whole(name, line.name_len) &&
			 map->tail[map->tail_cnt - 1].offset == entry.offset;
	return err;
}

/* Adds to the line whose newline has not come yet. */
static int keep_partial(struct perfmap *map, const char *bytes, size_t len)
{
	int err;

	if (map->skipping)
		return 0;
	if (map->partial_len + len > PERFMAP_LINE_BYTES_MAX) {
		map->skipping = true;
		map->partial_len = 0;
		map->counters.too_long++;
		return 0;
	}
	err = reserve(&map->partial, &map->partial_cap, map->partial_len + len, 1);
	if (err) {
		map->skipping = true;
		map->partial_len = 0;
		return err;
	}
	memcpy(map->partial + map->partial_len, bytes, len);
	map->partial_len += len;
	return 0;
}

/* The newline has come, after len more bytes. */
static int finish_line(struct perfmap *map, const char *bytes, size_t len)
{
	int err = 0;

	if (map->partial_len || map->skipping || len > PERFMAP_LINE_BYTES_MAX) {
		err = keep_partial(map, bytes, len);
		if (!map->skipping)
			err = take_line(map, map->partial, map->partial_len);
		else
			map->open_name = false;
	} else {
		err = take_line(map, bytes, len);
	}
	map->partial_len = 0;
	map->skipping = false;
	return err;
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
	const char *p = bytes, *end = bytes + len, *newline;
	int err, first_err;

	if (file_offset != map->next_offset)
		return -EINVAL;
	if (!len)
		return 0;
	first_err = begin_epoch(map, seen_ns);
	if (first_err)
		return first_err;
	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		err = finish_line(map, p, (size_t)(newline - p));
		first_err = first_err ? first_err : err;
		p = newline + 1;
		map->line_offset = file_offset + (size_t)(p - bytes);
		if (p == end)
			break;
	}
	if (p < end) {
		err = keep_partial(map, p, (size_t)(end - p));
		first_err = first_err ? first_err : err;
	}
	map->next_offset = file_offset + len;
	return first_err;
}

void perfmap_rewritten(struct perfmap *map)
{
	map->next_offset = map->line_offset = 0;
	map->partial_len = 0;
	map->skipping = map->open_name = map->has_any = false;
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
	int err = settle(map);

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
	if (hit->check && want == name_len && name_check(buf, want) != hit->check)
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

bool perfmap_in_long_line(const struct perfmap *map)
{
	return map->skipping;
}

size_t perfmap_entries(const struct perfmap *map)
{
	return map->entry_cnt;
}

size_t perfmap_memory_bytes(const struct perfmap *map)
{
	size_t i, bytes = sizeof(*map) + map->partial_cap;

	for (i = 0; i < map->run_cnt; i++)
		bytes += perfmap_run_bytes(&map->runs[i]);
	return bytes + map->tail_cap * sizeof(*map->tail) +
	       map->epoch_cap * sizeof(*map->epochs_ns);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/unwind_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/extents.h"
#include "base/grow.h"

#define CHUNK_BYTES (sizeof(struct unwind_row) << UNWIND_CHUNK_BITS)

/* What is given back when no walk can be in it. */
struct retired {
	struct extents *of;
	struct extent run;
	uint64_t since_ns;
};

struct unwind_maps {
	struct unwind_maps_in in;
	struct unwind_row *chunks[UNWIND_CHUNKS_MAX]; /* mapped; NULL = not made */
	uint32_t chunk_cnt, chunk_most;
	struct unwind_page *pages;
	struct unwind_mapping *mappings;
	struct extents free_rows, free_pages, free_mappings;
	struct retired *retired;
	size_t retired_cnt, retired_cap;
};

static void *map_in_memory(int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return NULL;
	/* Or a child would keep the map (own_mappings.h). */
	if (!madvise(at, bytes, MADV_DONTFORK))
		return at;
	munmap(at, bytes);
	return NULL;
}

static size_t fixed_bytes(void)
{
	return UNWIND_PAGES_MAX * sizeof(struct unwind_page) +
	       UNWIND_MAPPINGS_MAX * sizeof(struct unwind_mapping);
}

void unwind_maps_omit(const struct unwind_maps_in *in)
{
	bpf_map__set_max_entries(in->pages, 1);
	bpf_map__set_max_entries(in->mappings, 1);
	bpf_map__set_max_entries(in->processes, 1);
	bpf_map__set_max_entries(in->chunks, 1);
}

int unwind_maps_open(const struct unwind_maps_in *in, struct unwind_maps **ret_maps)
{
	struct unwind_maps *u = calloc(1, sizeof(*u));
	size_t rows_bytes = in->bytes_max > fixed_bytes() ? in->bytes_max - fixed_bytes() : 0;
	int err;

	if (!u)
		return -ENOMEM;
	u->in = *in;
	u->chunk_most = (uint32_t)(rows_bytes / CHUNK_BYTES);
	if (u->chunk_most < 1)
		u->chunk_most = 1;
	if (u->chunk_most > UNWIND_CHUNKS_MAX)
		u->chunk_most = UNWIND_CHUNKS_MAX;
	u->free_rows.boundary = UNWIND_CHUNK_ROWS;
	u->pages = map_in_memory(bpf_map__fd(in->pages), UNWIND_PAGES_MAX * sizeof(*u->pages));
	u->mappings = map_in_memory(bpf_map__fd(in->mappings),
				    UNWIND_MAPPINGS_MAX * sizeof(*u->mappings));
	err = u->pages && u->mappings ? 0 : -errno;
	if (!err)
		err = extents_add(&u->free_pages, 0, UNWIND_PAGES_MAX);
	if (!err)
		err = extents_add(&u->free_mappings, 0, UNWIND_MAPPINGS_MAX);
	if (err) {
		unwind_maps_free(u);
		return err;
	}
	*ret_maps = u;
	return 0;
}

void unwind_maps_free(struct unwind_maps *u)
{
	if (!u)
		return;
	for (uint32_t i = 0; i < u->chunk_cnt; i++)
		munmap(u->chunks[i], CHUNK_BYTES);
	if (u->pages)
		munmap(u->pages, UNWIND_PAGES_MAX * sizeof(*u->pages));
	if (u->mappings)
		munmap(u->mappings, UNWIND_MAPPINGS_MAX * sizeof(*u->mappings));
	extents_clear(&u->free_rows);
	extents_clear(&u->free_pages);
	extents_clear(&u->free_mappings);
	free(u->retired);
	free(u);
}

/* --- room ------------------------------------------------------------------------------------- */

/* The programs must not go by what they found before. */
static void changed(struct unwind_maps *u)
{
	__atomic_add_fetch(u->in.generation, 1, __ATOMIC_RELEASE);
}

static void retire(struct unwind_maps *u, struct extents *of, uint32_t first, uint32_t cnt)
{
	/* Without memory for it the room is lost: better than used while it is read. */
	if (cnt && !GROW(u->retired, u->retired_cnt, u->retired_cap))
		u->retired[u->retired_cnt++] = (struct retired){of, {first, cnt}, clock_now_ns()};
}

static void reclaim(struct unwind_maps *u)
{
	uint64_t now_ns = clock_now_ns();
	size_t kept = 0;

	for (size_t i = 0; i < u->retired_cnt; i++) {
		struct retired r = u->retired[i];

		if (now_ns - r.since_ns < UNWIND_MAPS_GRACE_NS)
			u->retired[kept++] = r;
		else
			extents_give_back(r.of, r.run.first, r.run.cnt);
	}
	u->retired_cnt = kept;
}

/* One chunk more. 0 or negative errno. */
static int make_chunk(struct unwind_maps *u)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	uint32_t number = u->chunk_cnt;
	struct unwind_row *rows;
	int fd, err = 0;

	if (number >= u->chunk_most)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(uint32_t),
			    sizeof(struct unwind_row), UNWIND_CHUNK_ROWS, &options);
	if (fd < 0)
		return -errno;
	rows = map_in_memory(fd, CHUNK_BYTES);
	if (!rows)
		err = -errno;
	else if (bpf_map__update_elem(u->in.chunks, &number, sizeof(number), &fd, sizeof(fd),
				      BPF_ANY))
		err = -errno;
	close(fd);
	if (!err)
		err = extents_add(&u->free_rows, number << UNWIND_CHUNK_BITS, UNWIND_CHUNK_ROWS);
	if (err) {
		if (rows)
			munmap(rows, CHUNK_BYTES);
		return err;
	}
	u->chunks[number] = rows;
	u->chunk_cnt++;
	return 0;
}

static int take_rows(struct unwind_maps *u, uint32_t cnt, uint32_t *ret_first)
{
	int err = 0;

	*ret_first = extents_take(&u->free_rows, cnt);
	if (*ret_first != EXTENTS_NONE)
		return 0;
	err = make_chunk(u);
	if (!err)
		*ret_first = extents_take(&u->free_rows, cnt);
	return err;
}

/* --- tables ----------------------------------------------------------------------------------- */

static struct unwind_row *row_at(const struct unwind_maps *u, uint32_t number)
{
	return &u->chunks[number >> UNWIND_CHUNK_BITS][number & (UNWIND_CHUNK_ROWS - 1)];
}

static int add_page(struct unwind_maps *u, const struct unwind_maps_table *table, uint32_t i,
		    struct unwind_page *to)
{
	struct unwind_page from = table->pages[i];
	int err;

	*to = (struct unwind_page){0};
	if (!from.cnt || from.cnt > UNWIND_PAGE_BYTES || from.first > table->row_cnt ||
	    from.cnt > table->row_cnt - from.first)
		return 0;
	err = take_rows(u, from.cnt, &to->first);
	if (err)
		return err;
	memcpy(row_at(u, to->first), &table->rows[from.first], from.cnt * sizeof(*table->rows));
	to->cnt = from.cnt;
	return 0;
}

int unwind_maps_add(struct unwind_maps *u, const struct unwind_maps_table *table,
		    uint32_t *ret_first_page)
{
	uint32_t first;
	int err = 0;

	reclaim(u);
	if (!table->page_cnt || table->page_cnt > UNWIND_PAGES_MAX)
		return -ENOSPC;
	first = extents_take(&u->free_pages, table->page_cnt);
	if (first == EXTENTS_NONE)
		return -ENOSPC;
	for (uint32_t i = 0; i < table->page_cnt; i++) {
		struct unwind_page page = {0};

		if (!err)
			err = add_page(u, table, i, &page);
		u->pages[first + i] = page;
	}
	if (err) {
		unwind_maps_drop(u, first, table->page_cnt);
		return err == -ENOMEM ? err : -ENOSPC;
	}
	*ret_first_page = first;
	return 0;
}

void unwind_maps_drop(struct unwind_maps *u, uint32_t first_page, uint32_t page_cnt)
{
	for (uint32_t i = 0; i < page_cnt; i++) {
		struct unwind_page *page = &u->pages[first_page + i];

		retire(u, &u->free_rows, page->first, page->cnt);
	}
	retire(u, &u->free_pages, first_page, page_cnt);
}

/* --- processes -------------------------------------------------------------------------------- */

static bool find_process(const struct unwind_maps *u, uint32_t tgid, struct unwind_process *ret)
{
	return !bpf_map__lookup_elem(u->in.processes, &tgid, sizeof(tgid), ret, sizeof(*ret), 0);
}

int unwind_maps_set_process(struct unwind_maps *u, uint32_t tgid, uint64_t start_ns,
			    const struct unwind_mapping *mappings, uint32_t cnt)
{
	struct unwind_process was, process = {.start_ns = start_ns, .cnt = cnt};
	bool replaces = find_process(u, tgid, &was);

	if (!cnt)
		return -ENOSPC;
	reclaim(u);
	process.first = extents_take(&u->free_mappings, cnt);
	if (process.first == EXTENTS_NONE)
		return -ENOSPC;
	memcpy(&u->mappings[process.first], mappings, cnt * sizeof(*mappings));
	if (bpf_map__update_elem(u->in.processes, &tgid, sizeof(tgid), &process, sizeof(process),
				 BPF_ANY)) {
		extents_give_back(&u->free_mappings, process.first, cnt);
		return -ENOSPC;
	}
	if (replaces)
		retire(u, &u->free_mappings, was.first, was.cnt);
	changed(u);
	return 0;
}

void unwind_maps_forget_process(struct unwind_maps *u, uint32_t tgid, uint64_t start_ns)
{
	struct unwind_process was;

	if (!find_process(u, tgid, &was) || was.start_ns != start_ns)
		return;
	bpf_map__delete_elem(u->in.processes, &tgid, sizeof(tgid), 0);
	retire(u, &u->free_mappings, was.first, was.cnt);
	changed(u);
}

/* --- a walk on this side ---------------------------------------------------------------------- */

bool unwind_maps_find_process(const struct unwind_maps *u, uint32_t tgid, uint64_t start_ns,
			      struct unwind_process *ret_process)
{
	struct unwind_process process;

	if (!find_process(u, tgid, &process) || (process.start_ns && process.start_ns != start_ns))
		return false;
	*ret_process = process;
	return true;
}

static const struct unwind_mapping *mapping_at(const struct unwind_maps *u,
					       const struct unwind_process *process,
					       uint64_t address)
{
	uint32_t low = process->first, high = low + process->cnt;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct unwind_mapping *m = &u->mappings[middle];

		if (address < m->start)
			high = middle;
		else if (address >= m->end)
			low = middle + 1;
		else
			return m;
	}
	return NULL;
}

struct unwind_row unwind_maps_row(const struct unwind_maps *u, const struct unwind_process *process,
				  uint64_t address, enum unwind_mapping_kind *ret_kind)
{
	const struct unwind_mapping *m = mapping_at(u, process, address);
	struct unwind_row row = {0};
	uint32_t number, low, high;
	uint64_t place;

	*ret_kind = m ? (enum unwind_mapping_kind)m->kind : UNWIND_NOT_YET;
	if (!m)
		return row;
	place = address - m->bias;
	number = (uint32_t)(place >> UNWIND_PAGE_BITS) - m->page_base;
	if (number >= m->page_cnt)
		return row;
	low = u->pages[m->first_page + number].first;
	high = low + u->pages[m->first_page + number].cnt;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row_at(u, middle)->at <= (place & (UNWIND_PAGE_BYTES - 1))) {
			row = *row_at(u, middle);
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return row;
}

size_t unwind_maps_used(const struct unwind_maps *u)
{
	return u->free_rows.taken * sizeof(struct unwind_row);
}

size_t unwind_maps_bytes(const struct unwind_maps *u)
{
	return fixed_bytes() + u->chunk_cnt * CHUNK_BYTES;
}

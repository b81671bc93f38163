/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/code_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compare.h"
#include "parse/prologue.h"
#include "perfmap/memory/memory.h"

#define CODE_BLOB 0x646f6368u

/* Methods of one job; 30 ms. */
#define METHODS_MAX 4096u
/* That a runtime has: a large service has 50,000. */
#define STARTS_MAX 262144u

enum section { METHODS, ROWS };

/* What is to be read. */
struct place {
	struct code_range range;
	uint64_t header; /* the runtime's, by which it was found; 0 = it was not asked */
};

struct job {
	struct target_memory *memory;
	struct perfmap_memory *runtime; /* NULL: there is none that tells of its code */
	struct place places[METHODS_MAX];
	size_t places_cnt;
	struct code_method methods[METHODS_MAX];
	size_t methods_cnt;
	uint64_t headers[METHODS_MAX]; /* of the methods */
};

/* --- what is there ---------------------------------------------------------------------------- */

static void add_place(struct job *j, struct code_range range, uint64_t header)
{
	if (j->places_cnt < METHODS_MAX)
		j->places[j->places_cnt++] = (struct place){range, header};
}

static void add_body(struct job *j, uint64_t address)
{
	struct perfmap_memory_body body;

	if (j->runtime && !perfmap_memory_body(j->runtime, address, &body))
		add_place(j, (struct code_range){body.start, body.size, 0}, body.header);
}

/* Returns where it goes on. */
static uint64_t add_list(struct job *j, uint64_t from)
{
	static uint64_t starts[STARTS_MAX];
	size_t cnt = perfmap_memory_bodies(j->runtime, starts, STARTS_MAX);

	if (cnt)
		qsort(starts, cnt, sizeof(starts[0]), compare_u64);
	for (size_t i = 0; i < cnt; i++) {
		if (starts[i] < from || (i && starts[i] == starts[i - 1]))
			continue;
		if (j->places_cnt == METHODS_MAX)
			return starts[i];
		add_body(j, starts[i]);
	}
	return CODE_LIST_NONE;
}

static uint64_t find_places(struct job *j, const struct code_wanted *wanted)
{
	size_t cnt = wanted->ranges_cnt < CODE_RANGES_MAX ? wanted->ranges_cnt : CODE_RANGES_MAX;

	for (size_t i = 0; i < cnt; i++) {
		if (wanted->ranges[i].size)
			add_place(j, wanted->ranges[i], 0);
		else
			add_body(j, wanted->ranges[i].start);
	}
	return j->runtime && wanted->list_from != CODE_LIST_NONE ? add_list(j, wanted->list_from)
								 : CODE_LIST_NONE;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Code that is not there any more has no rows. */
static size_t read_method(struct target_memory *memory, const struct code_range *range,
			  struct cfi_row *rows)
{
	static uint8_t code[PROLOGUE_BYTES_MAX];
	size_t wanted = range->size < sizeof(code) ? range->size : sizeof(code);
	ssize_t len;

	if (range->keeps_stack) {
		rows[0] = (struct cfi_row){range->start, {.cfa = UNWIND_SP, .cfa_offset = 1}};
		return 1;
	}
	len = target_memory_read(memory, code, wanted, range->start);
	if (len <= 0)
		return 0;
	return prologue_rows(code, (size_t)len, range->start, range->size, rows, CODE_ROWS_MAX);
}

static void read_places(struct job *j, struct blob_writer *w)
{
	static struct cfi_row rows[CODE_ROWS_MAX];

	for (size_t i = 0; i < j->places_cnt; i++) {
		const struct place *place = &j->places[i];
		size_t cnt = read_method(j->memory, &place->range, rows);

		if (!cnt)
			continue;
		blob_add(w, rows, cnt * sizeof(rows[0]));
		j->headers[j->methods_cnt] = place->header;
		j->methods[j->methods_cnt++] =
			(struct code_method){place->range.start, place->range.size, (uint32_t)cnt};
	}
}

/* Of what the runtime freed, and used for another method, while it was read, nothing is told. */
static void look_again(struct job *j)
{
	struct perfmap_memory_body body;

	if (!j->runtime)
		return;
	perfmap_memory_anew(j->runtime);
	for (size_t i = 0; i < j->methods_cnt; i++) {
		struct code_method *method = &j->methods[i];

		if (j->headers[i] && (perfmap_memory_body(j->runtime, method->start, &body) ||
				      body.start != method->start || body.size != method->size ||
				      body.header != j->headers[i]))
			method->size = 0;
	}
}

int code_rows_write(struct target_memory *memory, const struct code_wanted *wanted, int fd,
		    uint64_t *ret_next)
{
	static struct blob_writer w;
	static struct job j; /* large; one thread */

	j.memory = memory;
	j.runtime = NULL;
	j.places_cnt = j.methods_cnt = 0;
	if (wanted->facts.descriptor)
		perfmap_memory_open(target_memory_read_of, memory, &wanted->facts, METHODS_MAX,
				    &j.runtime);
	*ret_next = find_places(&j, wanted);
	blob_begin(&w, fd, CODE_BLOB);
	blob_stream(&w, ROWS);
	read_places(&j, &w);
	look_again(&j);
	perfmap_memory_close(j.runtime);
	blob_stream_end(&w);
	blob_put(&w, METHODS, j.methods, j.methods_cnt * sizeof(j.methods[0]));
	return blob_end(&w);
}

struct blob *code_rows_read(int fd, size_t bytes, const struct code_method **ret_methods,
			    size_t *ret_methods_cnt, const struct cfi_row **ret_rows,
			    size_t *ret_rows_cnt)
{
	struct blob *blob = blob_open(fd, bytes, CODE_BLOB);

	if (!blob)
		return NULL;
	*ret_methods = blob_rows(blob, METHODS, sizeof(**ret_methods), ret_methods_cnt);
	*ret_rows = blob_rows(blob, ROWS, sizeof(**ret_rows), ret_rows_cnt);
	if (!*ret_methods || !*ret_rows)
		*ret_methods_cnt = *ret_rows_cnt = 0;
	return blob;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of a stack by rows, through the kernel's twin: registers, rows and memory are the input.
 * It ends within its bound, reads nothing but what it is shown, and what it tells is consistent.
 */
#include <stdlib.h>
#include <string.h>

#include "walk.h"

#define CODE	 0x10000u
#define STACK	 0x7fff0000u
#define ROWS_MAX 16u

struct input {
	uint8_t ip[8], sp[8], fp[8];
	uint8_t rows_cnt, kind;
};

/* Its end is the end of what may be read: memory of its own, so that a byte more is noticed. */
struct memory {
	uint8_t *bytes;
	size_t len;
};

static void must(bool condition)
{
	if (!condition)
		abort();
}

static long read_memory(void *arg, void *to, uint32_t bytes, uint64_t at)
{
	const struct memory *m = arg;

	must(bytes == 8 || bytes == 16);
	if (at < STACK || at - STACK > m->len || bytes > m->len - (at - STACK))
		return -1;
	memcpy(to, m->bytes + (at - STACK), bytes);
	return 0;
}

/* Rows as a worker might make them: in order, all else is free. */
static uint32_t take_rows(const uint8_t **data, size_t *size, uint32_t cnt, struct unwind_row *rows)
{
	uint32_t made = 0;

	for (; made < cnt && *size >= sizeof(*rows); made++) {
		memcpy(&rows[made], *data, sizeof(*rows));
		rows[made].at = (uint16_t)(made * 64);
		*data += sizeof(*rows);
		*size -= sizeof(*rows);
	}
	return made;
}

static void walk(const struct walk_mapping *mapping, struct memory *memory, const struct input *in)
{
	static struct walk w;

	w = (struct walk){
		.mappings = mapping, .mappings_cnt = 1, .read = read_memory, .memory = memory};
	memcpy(&w.ip, in->ip, 8);
	memcpy(&w.sp, in->sp, 8);
	memcpy(&w.fp, in->fp, 8);
	walk_run(&w);
	must(w.frames_cnt >= 1 && w.frames_cnt <= WALK_FRAMES_MAX);
	must(w.end > STACK_END_UNTOLD && w.end < STACK_END_CNT);
	must(w.end != STACK_END_DEPTH || w.frames_cnt == WALK_FRAMES_MAX);
	must(w.unsure <= w.frames_cnt && w.signals <= 9);
	/* Each frame but those of signals takes a word of the stack at least. */
	must(w.frames_cnt <= 1 + (w.signals + 1) * (memory->len / 8 + 1));
	must(w.frames[0] == w.ip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_row rows[ROWS_MAX];
	struct unwind_page page = {0};
	struct unwind_table table = {
		.page_base = CODE >> UNWIND_PAGE_BITS, .page_cnt = 1, .pages = &page, .rows = rows};
	struct walk_mapping mapping = {
		.start = CODE, .end = CODE + UNWIND_PAGE_BYTES, .table = &table};
	struct memory memory;
	struct input in;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	data += sizeof(in);
	size -= sizeof(in);
	page.cnt = take_rows(&data, &size, in.rows_cnt % (ROWS_MAX + 1), rows);
	table.rows_cnt = page.cnt;
	mapping.kind = in.kind % 5;
	memory.len = size;
	memory.bytes = malloc(size + !size);
	memcpy(memory.bytes, data, size);
	walk(&mapping, &memory, &in);
	free(memory.bytes);
	return 0;
}

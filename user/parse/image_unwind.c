/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/image_unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse/epilogue.h"
#include "parse/unwind_info.h"
#include "perfmap/images/ready_header.h"

/* Code that is read at a time. */
#define WINDOW_BYTES (1u << 20)
/* Between functions that are aligned there is less than this, which nobody executes. */
#define PADDING_BYTES 64u
/* Work of a function, beside its bytes. */
#define FUNCTION_STEPS 32u

struct extent {
	uint32_t begin, end;
	uint32_t unwind;
	bool is_thunks;
};

struct compiler {
	const struct perfmap_pe *pe;
	const struct perfmap_reader *r;
	struct cfi_rows *rows;
	/* Those of the first function that makes sense: they have all of them. */
	const struct perfmap_section *code, *info_section;
	uint8_t *table;		  /* owned; of functions */
	uint32_t functions, next; /* in it, and the one to be taken next */
	uint8_t *info_bytes;	  /* owned */
	struct unwind_memory infos;
	struct extent thunks; /* is_thunks: they are still to come */
	uint8_t *window;      /* owned; of code */
	uint32_t window_rva, window_len;
};

static const struct perfmap_section *section_at(const struct perfmap_pe *pe, uint32_t rva)
{
	for (size_t i = 0; i < pe->sections_cnt; i++)
		if (rva >= pe->sections[i].rva && rva - pe->sections[i].rva < pe->sections[i].bytes)
			return &pe->sections[i];
	return NULL;
}

static uint32_t end_of(const struct perfmap_section *s)
{
	return s->rva + s->bytes;
}

static int put(struct compiler *c, uint32_t rva, struct unwind_row row)
{
	return cfi_append(c->rows, (struct cfi_row){rva, row});
}

/* Borrowed until the next call; at most WINDOW_BYTES of the section of code. */
static int code_at(struct compiler *c, uint32_t rva, uint32_t len, const uint8_t **ret)
{
	if (rva < c->window_rva || rva - c->window_rva > c->window_len ||
	    len > c->window_len - (rva - c->window_rva)) {
		uint32_t bytes = end_of(c->code) - rva;
		int err;

		if (bytes > WINDOW_BYTES)
			bytes = WINDOW_BYTES;
		c->window_len = 0;
		err = perfmap_read_all(c->r, c->window, bytes,
				       (uint64_t)c->code->offset + (rva - c->code->rva));
		if (err)
			return err;
		c->window_rva = rva;
		c->window_len = bytes;
	}
	*ret = c->window + (rva - c->window_rva);
	return 0;
}

/* --- functions -------------------------------------------------------------------------------- */

static int put_epilogue(struct compiler *c, const struct epilogue *e, uint32_t rva)
{
	int err = 0;

	for (size_t i = 0; i < e->rows_cnt && !err; i++)
		err = put(c, rva + e->rows[i].at, e->rows[i].row);
	return err;
}

/* Between begin and end the row of the body holds, but for epilogues. */
static int put_epilogues(struct compiler *c, const struct epilogue *e, uint32_t begin, uint32_t end,
			 struct unwind_row body)
{
	uint32_t overlap = EPILOGUE_BYTES_MAX + EPILOGUE_LEAVE_BYTES_MAX;

	while (begin < end) {
		uint32_t len = end - begin < WINDOW_BYTES ? end - begin : WINDOW_BYTES, at = 0;
		const uint8_t *code;
		int err = code_at(c, begin, len, &code);

		if (!err && !perfmap_work_add(c->r->work, len))
			err = -E2BIG;
		while (!err) {
			size_t bytes = 0;

			at += (uint32_t)epilogue_find(e, code + at, len - at, c->r->work, &bytes);
			if (!bytes)
				break;
			err = put_epilogue(c, e, begin + at);
			at += (uint32_t)bytes;
			if (!err && begin + at < end)
				err = put(c, begin + at, body);
		}
		if (!err && perfmap_work_exceeded(c->r->work))
			err = -E2BIG;
		if (err || len == end - begin)
			return err;
		/* One may begin in this piece and end in the next. */
		begin += at > len - overlap ? at : len - overlap;
	}
	return 0;
}

/* What comes behind the prolog. */
static int put_body(struct compiler *c, const struct unwind_steps *steps, uint32_t begin,
		    uint32_t end, struct unwind_frame frame)
{
	struct epilogue epilogue;
	uint32_t len = end - begin < EPILOGUE_BYTES_MAX ? end - begin : EPILOGUE_BYTES_MAX;
	int err = 0;

	if (!frame.by_fp && frame.is_saved) {
		const uint8_t *code;

		err = code_at(c, begin, len, &code);
		if (!err)
			begin += (uint32_t)epilogue_sets_fp(code, len, &frame);
		if (!err && frame.by_fp && begin < end)
			err = put(c, begin, unwind_frame_row(&frame));
	}
	if (err || !epilogue_of(steps, &frame, &epilogue))
		return err;
	return put_epilogues(c, &epilogue, begin, end, unwind_frame_row(&frame));
}

static int put_function(struct compiler *c, const struct extent *f, uint32_t end)
{
	struct unwind_frame frame = UNWIND_FRAME_START;
	struct unwind_steps steps;
	uint32_t at = f->begin;
	int err;

	if (!perfmap_work_add(c->r->work, FUNCTION_STEPS))
		return -E2BIG;
	err = unwind_info_read(&c->infos, f->unwind, c->r->work, &steps);
	if (err == -EBADMSG) {
		c->rows->left_out++;
		return put(c, at, (struct unwind_row){.cfa = UNWIND_INEXPRESSIBLE});
	}
	if (!err)
		err = put(c, at, unwind_frame_row(&frame));
	for (size_t i = steps.cnt; i-- > 0 && !err;) {
		unwind_frame_do(&frame, &steps.steps[i]);
		at = f->begin + steps.steps[i].end;
		if (at >= end)
			return 0;
		err = put(c, at, unwind_frame_row(&frame));
	}
	return err || !steps.cnt ? err : put_body(c, &steps, at, end, frame);
}

/* --- thunks ----------------------------------------------------------------------------------- */

/* An instruction of a thunk: bytes of which the first fixed ones are told. */
struct thunk_step {
	uint8_t fixed[3], fixed_cnt, bytes;
	int8_t pushes;
	bool leaves;
};

static const struct thunk_step *thunk_step_at(const uint8_t *code, size_t len)
{
	static const struct thunk_step steps[] = {
		{{0x33, 0xc0}, 2, 2, 0, false},	      /* xor eax, eax */
		{{0x49, 0x8b, 0xc3}, 3, 3, 0, false}, /* mov rax, r11 */
		{{0x48, 0x8d, 0x05}, 3, 7, 0, false}, /* lea rax, [rip + ...] */
		{{0x48, 0x8b, 0x35}, 3, 7, 0, false}, /* mov rsi, [rip + ...] */
		{{0x6a}, 1, 2, 1, false},	      /* push number */
		{{0x68}, 1, 5, 1, false},	      /* push number */
		{{0xff, 0x35}, 2, 6, 1, false},	      /* push [rip + ...] */
		{{0xff, 0x25}, 2, 6, 0, true},	      /* jmp [rip + ...] */
		{{0xcc}, 1, 1, 0, true},	      /* between thunks */
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (len >= steps[i].bytes && !memcmp(code, steps[i].fixed, steps[i].fixed_cnt))
			return &steps[i];
	return NULL;
}

/* Nothing is told of them; they push two numbers and jump. */
static int put_thunks(struct compiler *c, const struct extent *e, uint32_t end)
{
	struct unwind_frame frame = UNWIND_FRAME_START;
	uint32_t at = e->begin, len = end - at < WINDOW_BYTES ? end - at : WINDOW_BYTES;
	const uint8_t *code;
	int err = code_at(c, at, len, &code);

	if (!err && !perfmap_work_add(c->r->work, len))
		err = -E2BIG;
	while (!err && len) {
		const struct thunk_step *step = thunk_step_at(code, len);

		if (!step)
			return put(c, at, (struct unwind_row){0});
		err = put(c, at, unwind_frame_row(&frame));
		frame.sp_bytes = step->leaves ? 8 : frame.sp_bytes + 8 * step->pushes;
		at += step->bytes;
		code += step->bytes;
		len -= step->bytes;
	}
	return err;
}

/* --- the image -------------------------------------------------------------------------------- */

/* Bytes of row i. */
static const uint8_t *row_at(const struct compiler *c, uint32_t i)
{
	return c->table + (size_t)i * PERFMAP_ROW_BYTES_X64;
}

static struct extent extent_at(const struct compiler *c, uint32_t i)
{
	const uint8_t *row = row_at(c, i);

	return (struct extent){perfmap_u32_at(row), perfmap_u32_at(row + 4),
			       perfmap_u32_at(row + 8), false};
}

static bool is_code(const struct compiler *c, const struct extent *e)
{
	return e->begin < e->end && e->begin >= c->code->rva && e->end <= end_of(c->code);
}

/* The next one in order, above the last; what makes no sense is passed over. */
static bool next_function(struct compiler *c, uint32_t above, struct extent *ret)
{
	while (c->next < c->functions) {
		*ret = extent_at(c, c->next);
		if (is_code(c, ret) && ret->begin > above)
			return true;
		c->next++;
		c->rows->left_out++;
	}
	return false;
}

/* The next function, or the thunks among them. */
static bool next_extent(struct compiler *c, uint32_t above, struct extent *ret)
{
	bool found = next_function(c, above, ret);

	if (c->thunks.is_thunks && (!found || c->thunks.begin < ret->begin)) {
		struct extent thunks = c->thunks;

		c->thunks.is_thunks = false;
		if (thunks.begin > above) {
			*ret = thunks;
			return true;
		}
	}
	if (found)
		c->next++;
	return found;
}

static int put_all(struct compiler *c)
{
	struct extent e, next;
	bool has = next_extent(c, 0, &e);
	int err = 0;

	while (has && !err) {
		uint32_t end = e.end;

		has = next_extent(c, e.begin, &next);
		if (has && next.begin < end)
			end = next.begin;
		err = e.is_thunks ? put_thunks(c, &e, end) : put_function(c, &e, end);
		if (!err && (!has || next.begin - end >= PADDING_BYTES))
			err = put(c, end, (struct unwind_row){0});
		e = next;
	}
	return err;
}

/* All unwind data lies together: it is read at once. */
static int read_infos(struct compiler *c)
{
	const struct perfmap_section *s = c->info_section;
	uint32_t low = UINT32_MAX, high = 0;
	struct perfmap_directory span;
	int err;

	if (!perfmap_work_add(c->r->work, c->functions))
		return -E2BIG;
	for (uint32_t i = 0; i < c->functions; i++) {
		uint32_t rva = extent_at(c, i).unwind;

		if (rva < s->rva || rva >= end_of(s))
			continue;
		low = rva < low ? rva : low;
		high = rva > high ? rva : high;
	}
	span = (struct perfmap_directory){low, end_of(s) - low};
	if (end_of(s) - high > UNWIND_INFO_BYTES_MAX)
		span.bytes = high + UNWIND_INFO_BYTES_MAX - low;
	err = perfmap_pe_read_owned(c->pe, c->r, span, IMAGE_UNWIND_BYTES_MAX, &c->info_bytes);
	if (!err)
		c->infos = (struct unwind_memory){c->info_bytes, span.rva, span.bytes};
	return err;
}

static int find_sections(struct compiler *c)
{
	for (uint32_t i = 0; i < c->functions; i++) {
		struct extent e = extent_at(c, i);

		if (!perfmap_work_add(c->r->work, c->pe->sections_cnt))
			return -E2BIG;
		c->code = section_at(c->pe, e.begin);
		c->info_section = section_at(c->pe, e.unwind);
		if (c->code && c->info_section)
			return 0;
	}
	return -EBADMSG;
}

static int read_table(struct compiler *c)
{
	struct perfmap_directory rows = c->pe->exceptions;
	int err;

	if (rows.bytes / PERFMAP_ROW_BYTES_X64 > PERFMAP_IMAGE_FUNCTIONS_MAX)
		return -E2BIG;
	c->functions = rows.bytes / PERFMAP_ROW_BYTES_X64;
	if (!c->functions)
		return -ENODATA;
	err = perfmap_pe_read_owned(c->pe, c->r, rows, rows.bytes, &c->table);
	if (err)
		return err;
	/* A mark of the end. */
	if (extent_at(c, c->functions - 1).begin == UINT32_MAX && !--c->functions)
		return -ENODATA;
	return find_sections(c);
}

/* An image may have none. */
static void find_thunks(struct compiler *c)
{
	struct perfmap_ready_sections sections;
	struct perfmap_directory metadata;

	if (perfmap_ready_header(c->pe, c->r, &sections, &metadata) ||
	    sections.thunks.bytes > UINT32_MAX - sections.thunks.rva)
		return;
	c->thunks = (struct extent){.begin = sections.thunks.rva,
				    .end = sections.thunks.rva + sections.thunks.bytes};
	c->thunks.is_thunks = is_code(c, &c->thunks);
}

static int compile(struct compiler *c)
{
	int err = read_table(c);

	if (!err)
		err = read_infos(c);
	if (err)
		return err;
	c->window = malloc(WINDOW_BYTES);
	if (!c->window)
		return -ENOMEM;
	find_thunks(c);
	return put_all(c);
}

int image_unwind_compile(perfmap_image_read read, void *source, struct perfmap_work *work,
			 struct cfi_rows *rows, struct elf_segment *ret_code)
{
	struct perfmap_reader r = {.read = read, .source = source, .work = work};
	struct perfmap_pe pe;
	struct compiler c = {.pe = &pe, .r = &r, .rows = rows};
	int err = perfmap_pe_load(&r, &pe);

	if (err)
		return err;
	if (pe.row_bytes != PERFMAP_ROW_BYTES_X64)
		return -ENOTSUP;
	err = compile(&c);
	if (c.code)
		*ret_code = (struct elf_segment){c.code->offset, c.code->bytes, c.code->rva};
	free(c.table);
	free(c.info_bytes);
	free(c.window);
	return err;
}

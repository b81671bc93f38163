/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/memory.h"

#include <errno.h>
#include <stdlib.h>

#include "perfmap/memory/body.h"
#include "perfmap/memory/locks.h"

/* What changed while it was read is read once more. */
#define TRIES	     2
#define SEARCHES_MAX 2u
/* Names that are looked at together, their text, and that of the longest. */
#define GROUP	      64u
#define GROUP_TEXT    65536u
#define GROUP_LONGEST 8192u

/* A name whose notes are to be looked at once more. */
struct pending {
	size_t index; /* of its address */
	struct perfmap_memory_name name;
	uint32_t text;	      /* where it begins */
	uint32_t from, until; /* notes */
};

struct perfmap_memory {
	struct perfmap_memory_reader reader;
	struct perfmap_runtime runtime;
	struct perfmap_modules_read modules;
	uint64_t image;
	unsigned searches; /* for the map of code ranges */
	struct pending group[GROUP];
	size_t group_cnt, text_len;
	char text[GROUP_TEXT];
};

int perfmap_memory_find(perfmap_memory_read read, void *source, uint64_t start,
			uint64_t file_offset, uint64_t *ret_descriptor)
{
	struct perfmap_memory_reader *r = malloc(sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	perfmap_memory_reader_init(r, read, source, PERFMAP_MEMORY_WORK);
	err = perfmap_runtime_find(r, start, file_offset, ret_descriptor);
	free(r);
	return err;
}

/* What is left of its work is not for names. */
static void search(struct perfmap_memory *m, uint64_t address)
{
	struct perfmap_work before = m->reader.work;

	m->reader.work = (struct perfmap_work){.limit = PERFMAP_MEMORY_WORK_SEARCH};
	perfmap_runtime_search(&m->reader, &m->runtime, address);
	m->reader.work = before;
}

int perfmap_memory_open(perfmap_memory_read read, void *source,
			const struct perfmap_memory_facts *facts, size_t work,
			struct perfmap_memory **ret_memory)
{
	struct perfmap_memory *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	perfmap_memory_reader_init(&m->reader, read, source,
				   PERFMAP_MEMORY_WORK +
					   (uint64_t)work * PERFMAP_MEMORY_WORK_ADDRESS);
	m->modules.r = &m->reader;
	m->modules.layout = &m->runtime.layout;
	err = perfmap_runtime_load(&m->reader, facts->descriptor,
				   facts->has_layout ? &facts->layout : NULL, &m->runtime);
	if (err) {
		perfmap_memory_close(m);
		return err;
	}
	if (m->runtime.layout.hides_map) {
		m->image = facts->image;
		m->runtime.code_map = facts->code_map;
	}
	if (m->image && !m->runtime.code_map)
		search(m, m->image);
	*ret_memory = m;
	return 0;
}

struct perfmap_memory_facts perfmap_memory_facts(const struct perfmap_memory *m)
{
	return (struct perfmap_memory_facts){
		.descriptor = m->runtime.descriptor,
		.code_map = m->runtime.layout.hides_map ? m->runtime.code_map : 0,
		.image = m->image,
		.has_layout = true,
		.layout = m->runtime.layout,
	};
}

void perfmap_memory_close(struct perfmap_memory *m)
{
	if (!m)
		return;
	perfmap_modules_clear(&m->modules);
	free(m);
}

static int put_stub(const struct perfmap_code *code, struct perfmap_out *out)
{
	/*
	 * StubCodeBlockKind of dotnet/runtime src/coreclr/vm/codeman.h, with the words of
	 * GetStubCodeBlockKindString() there, but for those that it calls "MethodCallThunk" by
	 * mistake. Heaps hold those of the first line, ranges of their own all others.
	 */
	static const char *const kinds[] = {
		[1] = "JumpStub",	[3] = "DynamicHelper",	  [4] = "StubPrecode",
		[5] = "FixupPrecode",	[6] = "VSD_DispatchStub", [7] = "VSD_ResolveStub",
		[8] = "VSD_LookupStub", [9] = "VSD_VTableStub"};
	const char *kind = code->stub < sizeof(kinds) / sizeof(kinds[0]) ? kinds[code->stub] : NULL;

	perfmap_out_text(out, "stub ");
	perfmap_out_text(out, kind ? kind : "Memory");
	perfmap_out_text(out, "<Memory>");
	return 0;
}

/* One reading, which has begun. What the name rests on is noted. */
static int read_name(struct perfmap_memory *m, uint64_t address, struct perfmap_out *out,
		     struct perfmap_memory_name *name)
{
	struct perfmap_code code;
	int err;

	m->reader.notes = false;
	err = perfmap_code_find(&m->reader, &m->runtime, address, &code);
	m->reader.notes = true;
	if (err)
		return err;
	*name = (struct perfmap_memory_name){
		.start = code.start, .size = code.size, .is_precompiled = code.is_precompiled};
	switch (code.kind) {
	case PERFMAP_CODE_METHOD:
		err = perfmap_put_body(&m->reader, &m->runtime, &m->modules, &code, out,
				       &name->is_fleeting);
		break;
	case PERFMAP_CODE_STUB:
		name->start = address;
		name->size = 0;
		name->is_stub = true;
		name->is_unlisted = code.is_unlisted;
		err = put_stub(&code, out);
		break;
	default:
		err = -ENODATA;
	}
	return err;
}

static int name_once(struct perfmap_memory *m, uint64_t address, struct perfmap_out *out,
		     struct perfmap_memory_name *name)
{
	int err;

	perfmap_memory_begin(&m->reader);
	err = read_name(m, address, out, name);
	if (err)
		return err;
	return perfmap_memory_still(&m->reader) ? 0 : -ESTALE;
}

int perfmap_memory_name(struct perfmap_memory *m, uint64_t address, char *buf, size_t cap,
			struct perfmap_memory_name *ret_name)
{
	int err = -ESTALE;

	/* Not every address of code is in it: some are tried. */
	if (!m->runtime.code_map && m->searches++ < SEARCHES_MAX)
		search(m, address);
	if (!m->runtime.code_map)
		return -ENOENT;
	perfmap_modules_trim(&m->modules);
	for (unsigned i = 0; i < TRIES && (err == -ESTALE || err == -EFAULT); i++) {
		struct perfmap_out out = {.buf = buf, .cap = cap};

		if (perfmap_work_exceeded(&m->reader.work))
			return -E2BIG;
		if (i)
			perfmap_memory_drop(&m->reader);
		err = name_once(m, address, &out, ret_name);
		if (!err) {
			perfmap_out_end(&out);
			ret_name->len = out.len;
		}
	}
	return err;
}

/* --- names together --------------------------------------------------------------------------- */

/* Pages that many of them rest on are read a second time once. */
static void end_group(struct perfmap_memory *m, perfmap_memory_take take, void *taker)
{
	if (m->group_cnt)
		perfmap_memory_drop(&m->reader);
	for (size_t i = 0; i < m->group_cnt; i++) {
		const struct pending *p = &m->group[i];

		if (perfmap_memory_noted(&m->reader, p->from, p->until))
			take(taker, p->index, m->text + p->text, &p->name);
	}
	m->group_cnt = m->text_len = 0;
	perfmap_memory_begin(&m->reader);
}

/* False: there is no room. */
static bool add_to_group(struct perfmap_memory *m, uint64_t address, size_t index)
{
	struct perfmap_out out = {.buf = m->text + m->text_len, .cap = GROUP_LONGEST};
	struct pending *p = &m->group[m->group_cnt];

	if (m->group_cnt == GROUP || GROUP_TEXT - m->text_len < GROUP_LONGEST ||
	    !perfmap_memory_next(&m->reader))
		return false;
	perfmap_modules_trim(&m->modules);
	if (read_name(m, address, &out, &p->name) || m->reader.failed) {
		perfmap_memory_undo(&m->reader);
		return true;
	}
	perfmap_out_end(&out);
	p->name.len = out.len;
	p->index = index;
	p->text = (uint32_t)m->text_len;
	p->from = m->reader.own_cnt;
	p->until = m->reader.note_cnt;
	m->text_len += out.len + 1;
	m->group_cnt++;
	return true;
}

void perfmap_memory_names(struct perfmap_memory *m, const uint64_t *addresses, size_t cnt,
			  perfmap_memory_take take, void *taker)
{
	if (!m->runtime.code_map)
		return;
	perfmap_memory_begin(&m->reader);
	for (size_t i = 0; i < cnt && !perfmap_work_exceeded(&m->reader.work); i++) {
		if (add_to_group(m, addresses[i], i))
			continue;
		end_group(m, take, taker);
		add_to_group(m, addresses[i], i);
	}
	end_group(m, take, taker);
}

int perfmap_memory_holders(struct perfmap_memory *m, const struct perfmap_lock_wait *waits,
			   size_t cnt, struct perfmap_lock_holder *ret_holders)
{
	perfmap_memory_begin(&m->reader);
	m->reader.notes = false;
	return perfmap_locks_find(&m->reader, &m->runtime, waits, cnt, ret_holders);
}

bool perfmap_memory_locks_are_monitors(const struct perfmap_memory *m)
{
	return perfmap_locks_are_monitors(&m->runtime);
}

/* --- bodies ----------------------------------------------------------------------------------- */

static bool begin_listing(struct perfmap_memory *m)
{
	perfmap_memory_begin(&m->reader);
	m->reader.notes = false;
	return m->runtime.code_map;
}

int perfmap_memory_body(struct perfmap_memory *m, uint64_t address,
			struct perfmap_memory_body *ret_body)
{
	struct perfmap_code code;
	int err;

	if (!begin_listing(m))
		return -ENOENT;
	err = perfmap_code_find(&m->reader, &m->runtime, address, &code);
	m->reader.notes = false;
	if (perfmap_work_exceeded(&m->reader.work))
		return -E2BIG;
	if (!err && code.kind != PERFMAP_CODE_METHOD)
		err = -ENOENT;
	if (!err)
		*ret_body = (struct perfmap_memory_body){code.start, code.size, code.header};
	return err;
}

void perfmap_memory_anew(struct perfmap_memory *m)
{
	perfmap_memory_drop(&m->reader);
}

size_t perfmap_memory_bodies(struct perfmap_memory *m, uint64_t *ret_starts, size_t max)
{
	return begin_listing(m) ? perfmap_code_starts(&m->reader, &m->runtime, ret_starts, max) : 0;
}

size_t perfmap_memory_fleeting(struct perfmap_memory *m, uint64_t *ret_starts, size_t max)
{
	return begin_listing(m) ? perfmap_code_fleeting(&m->reader, &m->runtime, ret_starts, max)
				: 0;
}

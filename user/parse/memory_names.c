/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/memory_names.h"

#include <errno.h>

#include "parse/name_row.h"
#include "perfmap/memory/memory.h"

#define MEMORY_BLOB 0x6e6d656du

enum section { ROWS, TEXT };

enum model_reason memory_names_find(struct target_memory *memory,
				    const struct parse_code_file *files, uint32_t cnt,
				    uint64_t *ret_descriptor)
{
	int err = -ENOENT;

	for (uint32_t i = 0; i < cnt && i < PARSE_RUNTIMES_MAX && err; i++)
		err = perfmap_memory_find(target_memory_read_of, memory, files[i].start,
					  files[i].file_offset, ret_descriptor);
	return err ? REASON_RUNTIME_SILENT : REASON_NAMED;
}

/* Why the runtime's description cannot be used. */
static enum model_reason reason_of_runtime(int err)
{
	switch (err) {
	case 0:
		return REASON_NAMED;
	case -ENOMEM:
		return REASON_LIMIT;
	default:
		return REASON_RUNTIME_SILENT;
	}
}

/* Why an address has no name. */
static enum model_reason reason_of(int err)
{
	switch (err) {
	case 0:
		return REASON_NAMED;
	case -E2BIG:
		return REASON_LIMIT;
	case -ENODATA:
		return REASON_MEMORY_NO_NAME;
	default:
		return REASON_MEMORY_NO_CODE;
	}
}

/* What is being named. */
struct naming {
	struct perfmap_memory *m;
	const struct target_memory *memory;
	bool is_blind; /* a file was wanting in which it is told where all code is */
	struct blob_writer *w;
	struct memory_name *rows; /* of a reason: not yet */
};

static void take_name(void *taker, size_t index, const char *text,
		      const struct perfmap_memory_name *name)
{
	struct naming *n = taker;
	struct memory_name *row = &n->rows[index];

	*row = (struct memory_name){0};
	name_row_take_apart(text, name->len, n->w, &row->named);
	row->start = name->start;
	row->size = name->size;
	row->is_fleeting = name->is_fleeting;
	row->is_unlisted = name->is_unlisted;
	row->is_precompiled = name->is_precompiled;
}

static void name_one(struct naming *n, uint64_t address, size_t index)
{
	char raw[PARSE_NAME_BYTES];
	struct perfmap_memory_name name;
	uint64_t missed = n->memory->missed;
	int err = perfmap_memory_name(n->m, address, raw, sizeof(raw), &name);

	if (!err) {
		take_name(n, index, raw, &name);
		return;
	}
	n->rows[index].named.reason = reason_of(err);
	if (n->memory->missed != missed || (n->is_blind && err == -ENOENT))
		n->rows[index].named.reason = REASON_PENDING;
}

static void name_all(struct naming *n, const uint64_t *addresses, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		n->rows[i] = (struct memory_name){.named.reason = REASON_PENDING};
	perfmap_memory_names(n->m, addresses, cnt, take_name, n);
	for (size_t i = 0; i < cnt; i++)
		if (n->rows[i].named.reason)
			name_one(n, addresses[i], i);
}

enum model_reason memory_names_write(struct target_memory *memory,
				     const struct parse_memory *wanted, int fd,
				     struct perfmap_memory_facts *ret_facts)
{
	static struct memory_name rows[PARSE_ADDRESSES_MAX + PARSE_LIST_MAX];
	static uint64_t starts[PARSE_LIST_MAX];
	static struct blob_writer w;
	struct naming naming = {.memory = memory, .w = &w, .rows = rows};
	enum model_reason reason = REASON_NAMED;
	struct perfmap_memory *m;
	size_t cnt = wanted->addresses_cnt, listed;

	if (cnt > PARSE_ADDRESSES_MAX || wanted->list > PARSE_LIST_MAX)
		return REASON_LIMIT;
	*ret_facts = wanted->facts;
	if (!ret_facts->descriptor)
		reason = memory_names_find(memory, wanted->files, wanted->files_cnt,
					   &ret_facts->descriptor);
	if (!reason)
		reason = reason_of_runtime(perfmap_memory_open(target_memory_read_of, memory,
							       ret_facts, cnt + wanted->list, &m));
	if (reason)
		return reason;
	*ret_facts = perfmap_memory_facts(m);
	naming.m = m;
	naming.is_blind = ret_facts->layout.hides_map && !ret_facts->code_map && memory->missed;
	blob_begin(&w, fd, MEMORY_BLOB);
	blob_stream(&w, TEXT);
	name_all(&naming, wanted->addresses, cnt);
	listed = perfmap_memory_fleeting(m, starts, wanted->list);
	naming.rows += cnt;
	name_all(&naming, starts, listed);
	cnt += listed;
	blob_stream_end(&w);
	blob_put(&w, ROWS, rows, cnt * sizeof(rows[0]));
	*ret_facts = perfmap_memory_facts(m);
	perfmap_memory_close(m);
	return blob_end(&w) ? REASON_LIMIT : REASON_NAMED;
}

struct blob *memory_names_read(int fd, size_t bytes, const struct memory_name **ret_rows,
			       size_t *ret_cnt, const char **ret_text, size_t *ret_text_len)
{
	struct blob *blob = blob_open(fd, bytes, MEMORY_BLOB);

	if (!blob)
		return NULL;
	*ret_rows = blob_rows(blob, ROWS, sizeof(**ret_rows), ret_cnt);
	*ret_text = blob_text(blob, TEXT, ret_text_len);
	if (!*ret_rows)
		*ret_cnt = 0;
	if (!*ret_text)
		*ret_text_len = 0;
	return blob;
}

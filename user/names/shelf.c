/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/shelf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"

/* A table, and how many rows have it. */
struct content {
	struct shelf_table table;
	size_t bytes;
	uint64_t id, digest;
	uint32_t rows;
	bool may_be_shared;
};

struct row {
	struct content *content; /* NULL = the row is free */
	struct shelf_label label;
	uint64_t used;
	uint32_t serial;
};

struct shelf {
	struct row *rows;
	size_t rows_cnt, rows_cap;
	size_t live;
	uint32_t *free_rows;
	size_t free_cnt, free_cap;
	struct hash_index
		index; /* each row by all that it is looked for by; stale ones among them */
	size_t bytes, bytes_max;
	uint64_t uses, contents;
};

struct shelf *shelf_new(size_t memory_bytes)
{
	struct shelf *s = calloc(1, sizeof(*s));

	if (s)
		s->bytes_max = memory_bytes;
	return s;
}

static void table_free(struct shelf_table *table)
{
	elf_free(table->elf);
	unwind_table_free(table->unwind);
	bundle_table_free(table->bundle);
	image_table_free(table->image);
	*table = (struct shelf_table){0};
}

static void release(struct content *c)
{
	if (--c->rows)
		return;
	table_free(&c->table);
	free(c);
}

void shelf_free(struct shelf *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->rows_cnt; i++)
		if (s->rows[i].content)
			release(s->rows[i].content);
	free(s->rows);
	free(s->free_rows);
	hash_clear(&s->index);
	free(s);
}

size_t shelf_bytes(const struct shelf *s)
{
	return s->bytes;
}

size_t shelf_rows(const struct shelf *s)
{
	return s->live;
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct row *row_of(const struct shelf *s, struct shelf_ref ref)
{
	struct row *row = ref.row < s->rows_cnt ? &s->rows[ref.row] : NULL;

	return row && row->content && row->serial == ref.serial ? row : NULL;
}

static struct shelf_ref ref_of(const struct shelf *s, uint32_t row)
{
	return row == HASH_NONE ? SHELF_NONE : (struct shelf_ref){row, s->rows[row].serial};
}

const struct shelf_table *shelf_table(const struct shelf *s, struct shelf_ref ref)
{
	const struct row *row = row_of(s, ref);

	return row ? &row->content->table : NULL;
}

const struct shelf_label *shelf_label(const struct shelf *s, struct shelf_ref ref)
{
	const struct row *row = row_of(s, ref);

	return row ? &row->label : NULL;
}

uint64_t shelf_content(const struct shelf *s, struct shelf_ref ref)
{
	const struct row *row = row_of(s, ref);

	return row ? row->content->id : 0;
}

void shelf_touch(struct shelf *s, struct shelf_ref ref)
{
	struct row *row = row_of(s, ref);

	if (row)
		row->used = ++s->uses;
}

/* --- looking up ------------------------------------------------------------------------------- */

/* What the index has of a row. */
enum by { BY_IDENTITY, BY_MODULE, BY_BUILD_ID, BY_CONTENT };

static uint64_t hash_identity(const struct shelf_label *label)
{
	const struct elf_identity *id = &label->identity;
	uint64_t hash =
		hash_pair(hash_pair(id->dev, id->inode), hash_pair(id->ctime_ns, label->kind));

	return hash_pair(hash ^ label->inside, hash_pair(label->party, BY_IDENTITY));
}

static uint64_t hash_module(const struct shelf_label *label)
{
	uint64_t hash = hash_pair((uint64_t)label->module << 8 | label->kind, label->inside);

	return hash_pair(hash, hash_pair(label->party, BY_MODULE));
}

static uint64_t hash_build_id(uint64_t party, const uint8_t *build_id, uint8_t len)
{
	return hash_pair(hash_bytes(build_id, len), hash_pair(party, BY_BUILD_ID));
}

static uint64_t hash_content(const struct content *c)
{
	return hash_pair(c->digest, BY_CONTENT);
}

/* A live row that is the party's, of that kind and place. */
static const struct row *its_row(const void *owner, uint32_t i, const struct shelf_label *label)
{
	const struct row *row = &((const struct shelf *)owner)->rows[i];

	return row->content && row->label.party == label->party && row->label.kind == label->kind &&
			       row->label.inside == label->inside
		       ? row
		       : NULL;
}

static bool identity_equal(const void *owner, uint32_t i, const void *key)
{
	const struct shelf_label *label = key;
	const struct row *row = its_row(owner, i, label);
	const struct elf_identity *a = &label->identity, *b = row ? &row->label.identity : NULL;

	return row && a->inode == b->inode && a->dev == b->dev && a->ctime_ns == b->ctime_ns &&
	       a->size_bytes == b->size_bytes;
}

struct shelf_ref shelf_by_identity(const struct shelf *s, const struct shelf_label *label)
{
	return ref_of(s, hash_find(&s->index, hash_identity(label), identity_equal, s, label));
}

static bool module_equal(const void *owner, uint32_t i, const void *key)
{
	const struct shelf_label *label = key;
	const struct row *row = its_row(owner, i, label);

	return row && row->label.module == label->module;
}

struct shelf_ref shelf_by_module(const struct shelf *s, const struct shelf_label *label)
{
	return ref_of(s, hash_find(&s->index, hash_module(label), module_equal, s, label));
}

/* ELF symbols that are wanted. */
struct wanted {
	struct shelf_label label;
	bool full;
	uint64_t size_bytes;
};

static bool build_id_equal(const void *owner, uint32_t i, const void *key)
{
	const struct wanted *w = key;
	const struct elf_identity *a = &w->label.identity, *b;
	const struct row *row = its_row(owner, i, &w->label);

	if (!row)
		return false;
	b = &row->label.identity;
	return b->build_id_len == a->build_id_len &&
	       !memcmp(b->build_id, a->build_id, a->build_id_len) &&
	       (w->full ? row->content->table.elf->has_symtab
			: w->size_bytes == SHELF_ANY_SIZE || w->size_bytes == b->size_bytes);
}

struct shelf_ref shelf_by_build_id(const struct shelf *s, uint64_t party, const uint8_t *build_id,
				   uint8_t len, uint64_t size_bytes)
{
	struct wanted w = {
		.label = {.kind = FILE_ELF, .party = party},
		.full = true,
		.size_bytes = size_bytes,
	};
	uint64_t hash;
	uint32_t row;

	if (!len || len > BUILD_ID_MAX)
		return SHELF_NONE;
	hash = hash_build_id(party, build_id, len);
	memcpy(w.label.identity.build_id, build_id, len);
	w.label.identity.build_id_len = len;
	row = hash_find(&s->index, hash, build_id_equal, s, &w);
	w.full = false;
	if (row == HASH_NONE && size_bytes)
		row = hash_find(&s->index, hash, build_id_equal, s, &w);
	return ref_of(s, row);
}

/* Entries of a row that is gone stay until there are too many; one that does not fit in is read
 * again by who looks for it. */
static void index_row(struct shelf *s, uint32_t i)
{
	const struct row *row = &s->rows[i];
	const struct elf_identity *id = &row->label.identity;

	hash_add(&s->index, hash_identity(&row->label), i);
	hash_add(&s->index, hash_module(&row->label), i);
	hash_add(&s->index, hash_content(row->content), i);
	if (row->label.kind == FILE_ELF && id->build_id_len)
		hash_add(&s->index, hash_build_id(row->label.party, id->build_id, id->build_id_len),
			 i);
}

#define ENTRIES_A_ROW 4u
#define ENTRIES_LEAST 256u

static void tidy_index(struct shelf *s)
{
	if (s->index.cnt < ENTRIES_LEAST || s->index.cnt < 2 * ENTRIES_A_ROW * s->live)
		return;
	hash_clear(&s->index);
	for (size_t i = 0; i < s->rows_cnt; i++)
		if (s->rows[i].content)
			index_row(s, (uint32_t)i);
}

/* --- contents --------------------------------------------------------------------------------- */

static const struct blob *blob_of(const struct shelf_table *t)
{
	if (t->image)
		return image_table_blob(t->image);
	if (t->unwind)
		return t->unwind->blob;
	return t->bundle ? bundle_table_blob(t->bundle) : t->elf->blob;
}

static size_t bytes_of(const struct shelf_table *t)
{
	return t->image	   ? image_table_bytes(t->image)
	       : t->bundle ? bundle_table_bytes(t->bundle)
	       : t->unwind ? unwind_table_bytes(t->unwind)
			   : elf_memory_bytes(t->elf);
}

/* Whether there is nothing in a table but what its blobs say. */
static bool is_its_blobs(const struct shelf_table *t)
{
	if (t->elf)
		return t->elf->blob && !t->elf->absent_cnt &&
		       (!t->elf->debug || (t->elf->debug->blob && !t->elf->debug->debug));
	return blob_of(t) != NULL;
}

static bool is_equal(const struct shelf_table *a, const struct shelf_table *b)
{
	if (!a->elf != !b->elf || !a->image != !b->image || !a->unwind != !b->unwind ||
	    !blob_equal(blob_of(a), blob_of(b)))
		return false;
	if (!a->elf)
		return true;
	if (a->elf->has_symtab != b->elf->has_symtab || !a->elf->debug != !b->elf->debug)
		return false;
	return !a->elf->debug || blob_equal(a->elf->debug->blob, b->elf->debug->blob);
}

static bool content_equal(const void *owner, uint32_t i, const void *key)
{
	const struct content *a = key, *b = ((const struct shelf *)owner)->rows[i].content;

	return b && b->may_be_shared && a->digest == b->digest && is_equal(&a->table, &b->table);
}

/* Takes the table. Returns one that is equal, with a row more, or a new one; NULL without
 * memory. */
static struct content *content_of(struct shelf *s, struct shelf_table *table)
{
	struct content *c = calloc(1, sizeof(*c));
	uint32_t row;

	if (!c) {
		table_free(table);
		return NULL;
	}
	c->table = *table;
	*table = (struct shelf_table){0};
	c->rows = 1;
	c->bytes = bytes_of(&c->table);
	c->id = ++s->contents;
	c->may_be_shared = is_its_blobs(&c->table);
	c->digest = c->may_be_shared ? blob_digest(blob_of(&c->table)) : c->id;
	row = c->may_be_shared ? hash_find(&s->index, hash_content(c), content_equal, s, c)
			       : HASH_NONE;
	if (row == HASH_NONE)
		return c;
	release(c);
	c = s->rows[row].content;
	c->rows++;
	return c;
}

/* --- room ------------------------------------------------------------------------------------- */

/* What a party has. */
struct holding {
	uint64_t party;
	size_t rows, bytes;
};

static int compare_holdings(const void *pa, const void *pb)
{
	const struct holding *a = pa, *b = pb;

	return (a->party > b->party) - (a->party < b->party);
}

static struct holding holding_of(const struct row *row)
{
	return (struct holding){row->label.party, 1,
				SHELF_ROW_BYTES + row->content->bytes / row->content->rows};
}

/* One for each party; owned, NULL without memory. */
static struct holding *holdings(const struct shelf *s, size_t *ret_cnt)
{
	struct holding *all = reallocarray(NULL, s->live + 1, sizeof(*all));
	size_t cnt = 0, kept = 0;

	if (!all)
		return NULL;
	for (size_t i = 0; i < s->rows_cnt; i++)
		if (s->rows[i].content)
			all[cnt++] = holding_of(&s->rows[i]);
	qsort(all, cnt, sizeof(*all), compare_holdings);
	for (size_t i = 1; i < cnt; i++) {
		if (all[i].party != all[kept].party) {
			all[++kept] = all[i];
			continue;
		}
		all[kept].rows += all[i].rows;
		all[kept].bytes += all[i].bytes;
	}
	*ret_cnt = cnt ? kept + 1 : 0;
	return all;
}

static struct row *oldest_of(const struct shelf *s, uint64_t party)
{
	struct row *oldest = NULL;

	for (size_t i = 0; i < s->rows_cnt; i++) {
		struct row *row = &s->rows[i];

		if (row->content && row->label.party == party &&
		    (!oldest || row->used < oldest->used))
			oldest = row;
	}
	return oldest;
}

static void drop(struct shelf *s, struct row *row)
{
	s->bytes -= SHELF_ROW_BYTES;
	if (row->content->rows == 1)
		s->bytes -= row->content->bytes;
	release(row->content);
	row->content = NULL;
	row->serial++;
	s->live--;
	/* One that is not noted as free stays unused. */
	if (!GROW(s->free_rows, s->free_cnt, s->free_cap))
		s->free_rows[s->free_cnt++] = (uint32_t)(row - s->rows);
}

static bool is_full(const struct shelf *s, size_t bytes)
{
	return s->bytes + bytes > s->bytes_max || s->live >= SHELF_ROWS_MAX;
}

/* Makes room for so many bytes more in a row more. False: they are too many for that. */
static bool make_room(struct shelf *s, size_t bytes)
{
	_cleanup_free_ struct holding *all = NULL;
	size_t cnt = 0;

	if (bytes > s->bytes_max / 2)
		return false;
	if (!is_full(s, bytes))
		return true;
	all = holdings(s, &cnt);
	while (all && is_full(s, bytes)) {
		bool by_rows = s->bytes + bytes <= s->bytes_max;
		struct holding *most = NULL, lost;
		struct row *row;

		for (size_t i = 0; i < cnt; i++)
			if (!most ||
			    (by_rows ? all[i].rows > most->rows : all[i].bytes > most->bytes))
				most = &all[i];
		row = most ? oldest_of(s, most->party) : NULL;
		if (!row)
			return false;
		lost = holding_of(row);
		most->rows -= lost.rows;
		most->bytes -= lost.bytes < most->bytes ? lost.bytes : most->bytes;
		drop(s, row);
	}
	return all != NULL;
}

static struct row *new_row(struct shelf *s)
{
	if (s->free_cnt)
		return &s->rows[s->free_rows[--s->free_cnt]];
	if (GROW(s->rows, s->rows_cnt, s->rows_cap))
		return NULL;
	s->rows[s->rows_cnt] = (struct row){0};
	return &s->rows[s->rows_cnt++];
}

struct shelf_ref shelf_add(struct shelf *s, const struct shelf_label *label,
			   struct shelf_table *table)
{
	struct content *c = content_of(s, table);
	size_t bytes = SHELF_ROW_BYTES;
	bool is_new;
	struct row *row;

	if (!c)
		return SHELF_NONE;
	is_new = c->rows == 1;
	if (is_new)
		bytes += c->bytes;
	row = make_room(s, bytes) ? new_row(s) : NULL;
	if (!row) {
		/* Making room may have dropped all others that had it. */
		if (!is_new && c->rows == 1)
			s->bytes -= c->bytes;
		release(c);
		return SHELF_NONE;
	}
	row->content = c;
	row->label = *label;
	row->used = ++s->uses;
	s->bytes += bytes;
	s->live++;
	index_row(s, (uint32_t)(row - s->rows));
	tidy_index(s);
	return (struct shelf_ref){(uint32_t)(row - s->rows), row->serial};
}

bool shelf_add_part(struct shelf *s, struct shelf_ref ref, int fd, size_t bytes)
{
	_cleanup_close_ int part_fd = fd;
	struct row *row = row_of(s, ref);

	/* Making room may drop the image itself. */
	if (!row || !row->content->table.image || row->content->rows > 1 || !make_room(s, bytes) ||
	    !row_of(s, ref) || image_table_add(row->content->table.image, take_fd(&part_fd), bytes))
		return false;
	row->content->may_be_shared = false;
	row->content->bytes += bytes;
	s->bytes += bytes;
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/image_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "isolate/blob.h"

#define IMAGE_BLOB  0x676d6968u
#define BUNDLE_BLOB 0x6e756268u

enum section { HEAD, ROWS, TEXT, COMPONENTS };

/* What stands for a name that there is none of: from here on a component that is needed, then
 * errors. */
#define NAME_NEEDS  0xff000000u
#define NAME_ERRORS 0xffff0000u
#define NAME_ABSENT (NAME_ERRORS + ENOENT)

#define RAW_BYTES	16384u
#define COMPONENT_BYTES 256u
#define PATH_BYTES	4096u
/* Assemblies of a composite image that a worker tells the names of. */
#define COMPONENTS_MAX 1024u

struct image_head {
	uint8_t mvid[PERFMAP_IMAGE_MVID_BYTES];
	uint32_t has_mvid;
	uint32_t components_cnt; /* that this part was made with */
	uint32_t components[IMAGE_COMPONENTS_MAX];
};

struct image_row {
	uint64_t start;
	uint32_t bytes;
	uint32_t name; /* in the text, or one of the above */
};

struct component_row {
	uint32_t component, name;
};

/* --- the worker's side ------------------------------------------------------------------------ */

/* Returns where the text lies in the section that is being written, or NAME_ERRORS + an errno. */
static uint32_t put_text(struct blob_writer *w, const char *s, size_t len)
{
	uint64_t at = blob_streamed(w);

	if (at + len + 1 > IMAGE_TEXT_BYTES_MAX)
		return NAME_ERRORS + E2BIG;
	return blob_add_text(w, s, len);
}

struct image_writer {
	struct perfmap_image *image;
	const struct image_wish *wish;
	struct image_row *rows;
	size_t rows_cnt, rows_cap;
	struct blob_writer blob;
	uint8_t needed[COMPONENTS_MAX]; /* of each component */
	char raw[RAW_BYTES];
	size_t raw_len; /* of the last name, which its handlers share */
	uint32_t raw_at;
};

static uint32_t put_name(struct image_writer *w, uint32_t function)
{
	char raw[RAW_BYTES];
	uint32_t component = 0;
	size_t len;
	int err = perfmap_image_name(w->image, function, raw, sizeof(raw), &len, &component);

	if (err == -EAGAIN && component < COMPONENTS_MAX) {
		w->needed[component] = 1;
		return NAME_NEEDS + component;
	}
	if (err)
		return NAME_ERRORS + (uint32_t)-err;
	if (len != w->raw_len || memcmp(raw, w->raw, len)) {
		w->raw_at = put_text(&w->blob, raw, len);
		memcpy(w->raw, raw, len);
		w->raw_len = len;
	}
	return w->raw_at;
}

/* Whether the function belongs into this part. */
static bool is_wished(const struct image_wish *wish, uint32_t function)
{
	for (uint32_t i = 0; i < wish->components_cnt; i++)
		if (wish->needs[function] == wish->components[i])
			return true;
	return !wish->components_cnt;
}

static int put_function(struct image_writer *w, uint32_t function)
{
	struct image_row row;

	if (!is_wished(w->wish, function) ||
	    perfmap_image_function(w->image, function, &row.start, &row.bytes))
		return 0;
	row.name = put_name(w, function);
	if (row.name == NAME_ERRORS + ENOMEM)
		return -ENOMEM;
	if (GROW(w->rows, w->rows_cnt, w->rows_cap))
		return -ENOMEM;
	w->rows[w->rows_cnt++] = row;
	return 0;
}

uint32_t *image_table_needs(const struct perfmap_image *image)
{
	size_t cnt = perfmap_image_functions(image);
	uint32_t *needs = reallocarray(NULL, cnt + 1, sizeof(*needs));
	char raw[RAW_BYTES];

	for (size_t i = 0; needs && i < cnt; i++) {
		uint32_t component;
		size_t len;
		int err =
			perfmap_image_name(image, (uint32_t)i, raw, sizeof(raw), &len, &component);

		needs[i] = err == -EAGAIN ? component : IMAGE_COMPONENT_NONE;
	}
	return needs;
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct image_row *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

/* The sections of an image may lie in another order in the file than in memory. */
static void sort_rows(struct image_writer *w)
{
	for (size_t i = 1; i < w->rows_cnt; i++) {
		if (w->rows[i - 1].start <= w->rows[i].start)
			continue;
		qsort(w->rows, w->rows_cnt, sizeof(*w->rows), compare_rows);
		return;
	}
}

static int put_functions(struct image_writer *w)
{
	const struct image_wish *wish = w->wish;
	size_t cnt = perfmap_image_functions(w->image);
	int err = 0;

	for (size_t i = 0; !err && !wish->wanted_cnt && i < cnt; i++)
		err = put_function(w, (uint32_t)i);
	for (size_t i = 0; !err && i < wish->wanted_cnt; i++) {
		struct perfmap_image_place place;

		if (!perfmap_image_find(w->image, wish->wanted[i], &place))
			err = put_function(w, place.function);
	}
	sort_rows(w);
	return err;
}

static size_t put_components(struct image_writer *w, struct component_row rows[COMPONENTS_MAX])
{
	char name[COMPONENT_BYTES];
	size_t cnt = 0;

	for (uint32_t i = 0; i < COMPONENTS_MAX; i++)
		if (w->needed[i] && !perfmap_image_component(w->image, i, name, sizeof(name)))
			rows[cnt++] =
				(struct component_row){i, put_text(&w->blob, name, strlen(name))};
	return cnt;
}

int image_table_write(struct perfmap_image *image, const struct image_wish *wish, int fd)
{
	static struct component_row components[COMPONENTS_MAX];
	struct image_writer *w = calloc(1, sizeof(*w));
	const uint8_t *mvid = perfmap_image_mvid(image);
	struct image_head head = {
		.has_mvid = mvid != NULL,
		.components_cnt = wish->components_cnt,
	};
	size_t components_cnt;
	int err;

	if (!w)
		return -ENOMEM;
	w->image = image;
	w->wish = wish;
	w->raw_len = SIZE_MAX;
	for (uint32_t i = 0; i < wish->components_cnt; i++)
		head.components[i] = wish->components[i];
	if (mvid)
		memcpy(head.mvid, mvid, sizeof(head.mvid));
	blob_begin(&w->blob, fd, IMAGE_BLOB);
	blob_put(&w->blob, HEAD, &head, sizeof(head));
	blob_stream(&w->blob, TEXT);
	err = put_functions(w);
	components_cnt = put_components(w, components);
	blob_stream_end(&w->blob);
	blob_put(&w->blob, ROWS, w->rows, w->rows_cnt * sizeof(*w->rows));
	blob_put(&w->blob, COMPONENTS, components, components_cnt * sizeof(*components));
	if (!err)
		err = blob_end(&w->blob);
	free(w->rows);
	free(w);
	return err;
}

struct bundle_row {
	uint64_t offset, bytes, compressed_bytes;
	uint64_t path; /* in the text */
};

int bundle_table_write(const struct perfmap_bundle *bundle, int fd)
{
	size_t cnt;
	const struct perfmap_bundle_entry *entries = perfmap_bundle_entries(bundle, &cnt);
	_cleanup_free_ struct bundle_row *rows = calloc(cnt + 1, sizeof(*rows));
	struct blob_writer w;

	if (!rows)
		return -ENOMEM;
	blob_begin(&w, fd, BUNDLE_BLOB);
	blob_stream(&w, TEXT);
	for (size_t i = 0; i < cnt; i++)
		rows[i] = (struct bundle_row){
			entries[i].offset, entries[i].bytes, entries[i].compressed_bytes,
			put_text(&w, entries[i].path, strlen(entries[i].path))};
	blob_stream_end(&w);
	blob_put(&w, ROWS, rows, cnt * sizeof(*rows));
	return blob_end(&w);
}

/* --- images ----------------------------------------------------------------------------------- */

struct part {
	struct blob *blob;
	const struct image_row *rows;
	size_t rows_cnt;
	const char *text;
	size_t text_len;
};

struct image_table {
	struct part *parts; /* the first one has all functions */
	size_t parts_cnt, parts_cap;
	size_t bytes;
};

/* Takes fd. */
static int read_part(int fd, size_t bytes, struct part *ret_part)
{
	struct part part = {.blob = blob_open(fd, bytes, IMAGE_BLOB)};

	if (!part.blob)
		return -errno;
	part.rows = blob_rows(part.blob, ROWS, sizeof(*part.rows), &part.rows_cnt);
	part.text = blob_text(part.blob, TEXT, &part.text_len);
	if (!part.text)
		part.text_len = 0;
	*ret_part = part;
	return 0;
}

int image_table_add(struct image_table *t, int fd, size_t bytes)
{
	int err;

	if (t->parts_cnt >= IMAGE_PARTS_MAX || GROW(t->parts, t->parts_cnt, t->parts_cap)) {
		err = t->parts_cnt >= IMAGE_PARTS_MAX ? -E2BIG : -ENOMEM;
		close(fd);
		return err;
	}
	err = read_part(fd, bytes, &t->parts[t->parts_cnt]);
	if (err)
		return err;
	t->bytes += blob_bytes(t->parts[t->parts_cnt++].blob);
	return 0;
}

struct image_table *image_table_read(int fd, size_t bytes)
{
	struct image_table *t = calloc(1, sizeof(*t));
	int err;

	if (!t) {
		close(fd);
		return NULL;
	}
	err = image_table_add(t, fd, bytes);
	if (!err)
		return t;
	image_table_free(t);
	errno = -err;
	return NULL;
}

void image_table_free(struct image_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->parts_cnt; i++)
		blob_free(t->parts[i].blob);
	free(t->parts);
	free(t);
}

/* The row whose code holds an offset, or NULL. */
static const struct image_row *row_at(const struct part *part, uint64_t offset)
{
	const struct image_row *row;
	size_t low = 0, high = part->rows_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (part->rows[mid].start <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	row = &part->rows[low - 1];
	return offset - row->start < row->bytes ? row : NULL;
}

static void set_name(const struct part *part, const struct image_row *row,
		     struct image_place *place)
{
	const struct image_head *head;
	size_t cnt;

	head = blob_rows(part->blob, HEAD, sizeof(*head), &cnt);
	place->given = cnt ? head->components : NULL;
	place->given_cnt =
		cnt && head->components_cnt <= IMAGE_COMPONENTS_MAX ? head->components_cnt : 0;
	place->start = row->start;
	place->component = IMAGE_COMPONENT_NONE;
	place->name = NULL;
	place->error = -EBADMSG;
	if (row->name < part->text_len) {
		place->name = part->text + row->name;
		place->error = 0;
	} else if (row->name >= NAME_ERRORS) {
		place->error = -(int)(row->name - NAME_ERRORS);
	} else if (row->name >= NAME_NEEDS) {
		place->component = row->name - NAME_NEEDS;
		place->error = -EAGAIN;
	}
}

int image_table_find(const struct image_table *t, uint64_t offset, struct image_place *ret_place)
{
	for (size_t i = t->parts_cnt; i-- > 0;) {
		const struct image_row *row = row_at(&t->parts[i], offset);

		if (!row)
			continue;
		set_name(&t->parts[i], row, ret_place);
		return 0;
	}
	return -ENOENT;
}

const char *image_table_component(const struct image_table *t, uint32_t component)
{
	for (size_t i = 0; i < t->parts_cnt; i++) {
		const struct part *part = &t->parts[i];
		const struct component_row *rows;
		size_t cnt;

		rows = blob_rows(part->blob, COMPONENTS, sizeof(*rows), &cnt);
		for (size_t k = 0; k < cnt && k < COMPONENTS_MAX; k++) {
			const char *name =
				rows[k].name < part->text_len ? part->text + rows[k].name : "";

			if (rows[k].component == component && *name &&
			    !memchr(name, '/', strnlen(name, COMPONENT_BYTES)))
				return name;
		}
	}
	return NULL;
}

const uint8_t *image_table_mvid(const struct image_table *t)
{
	const struct image_head *head;
	size_t cnt;

	head = blob_rows(t->parts[0].blob, HEAD, sizeof(*head), &cnt);
	return cnt && head->has_mvid ? head->mvid : NULL;
}

size_t image_table_bytes(const struct image_table *t)
{
	return sizeof(*t) + t->bytes;
}

const struct blob *image_table_blob(const struct image_table *t)
{
	size_t components;

	blob_rows(t->parts[0].blob, COMPONENTS, sizeof(struct component_row), &components);
	return t->parts_cnt > 1 || components ? NULL : t->parts[0].blob;
}

/* --- bundles ---------------------------------------------------------------------------------- */

struct bundle_table {
	struct blob *blob;
	const struct bundle_row *rows;
	size_t rows_cnt;
	const char *text;
	size_t text_len;
	bool has_compressed;
};

static bool is_assembly(const char *path)
{
	size_t len = strnlen(path, PATH_BYTES);

	return len > 4 && !strncmp(path + len - 4, ".dll", 5);
}

struct bundle_table *bundle_table_read(int fd, size_t bytes)
{
	struct blob *blob = blob_open(fd, bytes, BUNDLE_BLOB);
	struct bundle_table *t = blob ? calloc(1, sizeof(*t)) : NULL;

	if (!t) {
		blob_free(blob);
		return NULL;
	}
	t->blob = blob;
	t->rows = blob_rows(blob, ROWS, sizeof(*t->rows), &t->rows_cnt);
	t->text = blob_text(blob, TEXT, &t->text_len);
	if (!t->text)
		t->rows_cnt = t->text_len = 0;
	if (t->rows_cnt > PERFMAP_BUNDLE_ENTRIES_MAX)
		t->rows_cnt = PERFMAP_BUNDLE_ENTRIES_MAX;
	for (size_t i = 0; i < t->rows_cnt && !t->has_compressed; i++)
		t->has_compressed = t->rows[i].compressed_bytes && t->rows[i].path < t->text_len &&
				    is_assembly(t->text + t->rows[i].path);
	return t;
}

void bundle_table_free(struct bundle_table *t)
{
	if (!t)
		return;
	blob_free(t->blob);
	free(t);
}

static struct perfmap_bundle_entry entry_of(const struct bundle_table *t,
					    const struct bundle_row *row)
{
	return (struct perfmap_bundle_entry){
		.offset = row->offset,
		.bytes = row->bytes,
		.compressed_bytes = row->compressed_bytes,
		.path = row->path < t->text_len ? t->text + row->path : "",
	};
}

bool bundle_table_find(const struct bundle_table *t, uint64_t offset,
		       struct perfmap_bundle_entry *ret_entry)
{
	const struct bundle_row *row;
	size_t low = 0, high = t->rows_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->rows[mid].offset <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	row = &t->rows[low - 1];
	if (row->compressed_bytes || offset - row->offset >= row->bytes)
		return false;
	*ret_entry = entry_of(t, row);
	return true;
}

bool bundle_table_named(const struct bundle_table *t, const char *path,
			struct perfmap_bundle_entry *ret_entry)
{
	for (size_t i = 0; i < t->rows_cnt; i++) {
		struct perfmap_bundle_entry entry = entry_of(t, &t->rows[i]);

		if (entry.compressed_bytes || strcmp(entry.path, path))
			continue;
		*ret_entry = entry;
		return true;
	}
	return false;
}

bool bundle_table_compressed(const struct bundle_table *t)
{
	return t->has_compressed;
}

size_t bundle_table_bytes(const struct bundle_table *t)
{
	return sizeof(*t) + blob_bytes(t->blob);
}

const struct blob *bundle_table_blob(const struct bundle_table *t)
{
	return t->blob;
}

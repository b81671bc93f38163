/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/bundle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "perfmap/bytes.h"
#include "perfmap/images/pe.h"

/* Of an ELF64 file, little-endian. */
#define ELF_BYTES	  64u
#define ELF_SEGMENTS	  32u
#define ELF_SEGMENT_BYTES 54u
#define ELF_SEGMENT_CNT	  56u
#define ELF_SECTIONS	  40u
#define ELF_SECTION_BYTES 58u
#define ELF_SECTION_CNT	  60u
#define SEGMENT_BYTES	  56u
#define SEGMENT_LOAD	  1u
#define SEGMENT_WRITABLE  2u

/* SHA-256 of ".net core bundle"; the eight bytes before it are the list's offset, 0 = no bundle. */
static const uint8_t mark[] = {
	0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93,
	0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae,
	0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
};

#define CHUNK_BYTES (256u << 10)

#define HEAD_BYTES	   12u /* version in two words, number of entries */
#define HEAD_REST_BYTES	   40u /* after the id: where two settings files are, flags */
#define VERSION_MIN	   2u
#define VERSION_COMPRESSED 6u /* entries have their compressed size */
#define PATH_BYTES_MAX	   4096u

struct perfmap_bundle {
	struct perfmap_bundle_entry *entries; /* by offset */
	uint32_t *by_path;		      /* their order by path */
	size_t cnt;
	size_t compressed;
	uint8_t *list; /* paths are in it */
	size_t list_bytes;
	uint64_t work; /* of loading it */
};

/* --- the mark --------------------------------------------------------------------------------- */

/* Searches bytes of the file for the mark. Returns 0, -ENOENT, or what read returned. */
static int find_mark(const struct perfmap_reader *r, uint64_t offset, uint64_t bytes,
		     uint64_t *ret_list)
{
	uint8_t *chunk = malloc(CHUNK_BYTES);
	uint64_t done = 0;
	int err = -ENOENT;

	if (!chunk)
		return -ENOMEM;
	while (bytes - done >= 8 + sizeof(mark)) {
		uint64_t rest = bytes - done;
		size_t want = rest < CHUNK_BYTES ? (size_t)rest : CHUNK_BYTES;
		ssize_t n = r->read(r->source, chunk, want, offset + done);
		const uint8_t *found;

		if (n < 0) {
			err = (int)n;
			break;
		}
		perfmap_work_add(r->work, (uint64_t)n);
		found = memmem(chunk, (size_t)n, mark, sizeof(mark));
		if (found && found - chunk >= 8) {
			*ret_list = perfmap_u64_at(found - 8);
			err = *ret_list ? 0 : -ENOENT;
			break;
		}
		if ((size_t)n < want || n < (ssize_t)(8 + sizeof(mark)))
			break;
		/* It may lie across two chunks. */
		done += want - (want < rest ? 8 + sizeof(mark) - 1 : 0);
		if (want == rest)
			break;
	}
	free(chunk);
	return err;
}

/* Whether the file goes on behind its section headers, which linkers put last. */
static bool has_more(const struct perfmap_reader *r, uint64_t end)
{
	uint8_t byte;

	return !perfmap_read_all(r, &byte, 1, end);
}

static int locate_list(const struct perfmap_reader *r, uint64_t *ret_program_end,
		       uint64_t *ret_list)
{
	uint8_t elf[ELF_BYTES], segments[PERFMAP_BUNDLE_SEGMENTS_MAX * SEGMENT_BYTES];
	uint64_t end, left = PERFMAP_BUNDLE_DATA_BYTES;
	uint32_t cnt;
	int err = perfmap_read_all(r, elf, sizeof(elf), 0);

	if (err)
		return err == -EBADMSG ? -ENOENT : err;
	end = perfmap_u64_at(elf + ELF_SECTIONS) +
	      perfmap_u16_at(elf + ELF_SECTION_BYTES) *
		      (uint64_t)perfmap_u16_at(elf + ELF_SECTION_CNT);
	cnt = perfmap_u16_at(elf + ELF_SEGMENT_CNT);
	if (memcmp(elf, "\177ELF\2\1", 6) ||
	    perfmap_u16_at(elf + ELF_SEGMENT_BYTES) != SEGMENT_BYTES || !has_more(r, end))
		return -ENOENT;
	if (cnt > PERFMAP_BUNDLE_SEGMENTS_MAX)
		return -E2BIG;
	err = perfmap_read_all(r, segments, cnt * SEGMENT_BYTES,
			       perfmap_u64_at(elf + ELF_SEGMENTS));
	if (err)
		return err;
	err = -ENOENT;
	for (uint32_t i = 0; err == -ENOENT && i < cnt; i++) {
		const uint8_t *s = segments + i * SEGMENT_BYTES;
		uint64_t bytes = perfmap_u64_at(s + 32);

		if (perfmap_u32_at(s) != SEGMENT_LOAD ||
		    !(perfmap_u32_at(s + 4) & SEGMENT_WRITABLE))
			continue;
		if (bytes > left)
			bytes = left;
		left -= bytes;
		err = find_mark(r, perfmap_u64_at(s + 8), bytes, ret_list);
	}
	if (!err && *ret_list > INT64_MAX)
		err = -EBADMSG;
	*ret_program_end = end;
	return err;
}

/* --- the list --------------------------------------------------------------------------------- */

/* A text with its length in one or two bytes before it, seven bits in each. */
static bool take_text(struct perfmap_bytes b, size_t *at, size_t *ret_start, size_t *ret_len)
{
	size_t len;

	if (!perfmap_has(b, *at, 2))
		return false;
	len = b.data[*at] & 0x7f;
	if (b.data[(*at)++] & 0x80) {
		if (b.data[*at] & 0x80)
			return false;
		len |= (size_t)b.data[(*at)++] << 7;
	}
	if (!len || len >= PATH_BYTES_MAX || !perfmap_has(b, *at, len))
		return false;
	*ret_start = *at;
	*ret_len = len;
	*at += len;
	return true;
}

static bool is_assembly(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcasecmp(path + len - 4, ".dll");
}

/* Reads one entry. Its path gets its end where the next entry begins: that was read already. */
static bool take_entry(struct perfmap_bundle *bundle, uint32_t version, size_t *at,
		       size_t *ret_path_end)
{
	struct perfmap_bundle_entry *e = &bundle->entries[bundle->cnt];
	struct perfmap_bytes b = {bundle->list, bundle->list_bytes};
	size_t fixed = version >= VERSION_COMPRESSED ? 24 : 16, path, len;
	const uint8_t *p = b.data + *at;

	if (!perfmap_has(b, *at, fixed + 1))
		return false;
	*e = (struct perfmap_bundle_entry){
		.offset = perfmap_u64_at(p),
		.bytes = perfmap_u64_at(p + 8),
		.compressed_bytes = version >= VERSION_COMPRESSED ? perfmap_u64_at(p + 16) : 0,
	};
	if (e->offset > INT64_MAX || e->bytes > INT64_MAX || e->compressed_bytes > INT64_MAX)
		return false;
	*at += fixed + 1; /* and the kind of file */
	if (!take_text(b, at, &path, &len))
		return false;
	e->path = (const char *)bundle->list + path;
	*ret_path_end = path + len;
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	const struct perfmap_bundle_entry *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_paths(const void *a, const void *b, void *entries)
{
	const struct perfmap_bundle_entry *e = entries;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(e[x].path, e[y].path);

	return order ? order : (x > y) - (x < y);
}

static int sort_entries(struct perfmap_bundle *bundle)
{
	qsort(bundle->entries, bundle->cnt, sizeof(*bundle->entries), compare_entries);
	bundle->by_path = malloc((bundle->cnt + 1) * sizeof(*bundle->by_path));
	if (!bundle->by_path)
		return -ENOMEM;
	for (uint32_t i = 0; i < bundle->cnt; i++)
		bundle->by_path[i] = i;
	qsort_r(bundle->by_path, bundle->cnt, sizeof(*bundle->by_path), compare_paths,
		bundle->entries);
	return 0;
}

static int parse_list(struct perfmap_bundle *bundle)
{
	struct perfmap_bytes b = {bundle->list, bundle->list_bytes};
	size_t at = HEAD_BYTES, id, id_len, end, last_end = 0;
	uint32_t version, cnt;

	if (!perfmap_has(b, 0, HEAD_BYTES))
		return -EBADMSG;
	version = perfmap_u32_at(b.data);
	cnt = perfmap_u32_at(b.data + 8);
	if (version < VERSION_MIN || !take_text(b, &at, &id, &id_len) ||
	    !perfmap_has(b, at, HEAD_REST_BYTES))
		return -EBADMSG;
	if (cnt > PERFMAP_BUNDLE_ENTRIES_MAX)
		return -E2BIG;
	at += HEAD_REST_BYTES;
	bundle->entries = calloc(cnt ? cnt : 1, sizeof(*bundle->entries));
	if (!bundle->entries)
		return -ENOMEM;
	for (; bundle->cnt < cnt; bundle->cnt++, last_end = end) {
		if (!take_entry(bundle, version, &at, &end))
			return -EBADMSG;
		if (last_end)
			bundle->list[last_end] = 0;
	}
	if (last_end)
		bundle->list[last_end] = 0;
	for (size_t i = 0; i < bundle->cnt; i++)
		bundle->compressed +=
			bundle->entries[i].compressed_bytes && is_assembly(bundle->entries[i].path);
	return sort_entries(bundle);
}

static int load(struct perfmap_bundle *bundle, const struct perfmap_reader *r)
{
	uint64_t offset, end;
	uint8_t *smaller;
	ssize_t n;
	int err = locate_list(r, &end, &offset);

	if (err)
		return err;
	/* It is the last thing in the file; one byte more for the end of the last path. */
	bundle->list = malloc(PERFMAP_BUNDLE_LIST_BYTES + 1);
	if (!bundle->list)
		return -ENOMEM;
	n = r->read(r->source, bundle->list, PERFMAP_BUNDLE_LIST_BYTES, offset);
	if (n < 0)
		return (int)n;
	smaller = realloc(bundle->list, (size_t)n + 1);
	if (smaller)
		bundle->list = smaller;
	bundle->list_bytes = (size_t)n;
	err = parse_list(bundle);
	/* Read, then taken apart, with an entry each few bytes. */
	perfmap_work_add(r->work, 2 * bundle->list_bytes + bundle->cnt * sizeof(*bundle->entries));
	bundle->work = r->work->done;
	return err;
}

int perfmap_bundle_locate(perfmap_image_read read, void *source, uint64_t *ret_program_end,
			  uint64_t *ret_list)
{
	struct perfmap_work work = {.limit = UINT64_MAX}; /* the bounds of bundle.h are enough */
	struct perfmap_reader r = {.read = read, .source = source, .work = &work};
	uint64_t end, list;
	int err = locate_list(&r, &end, &list);

	if (err)
		return err;
	*ret_program_end = end;
	*ret_list = list;
	return 0;
}

int perfmap_bundle_load(perfmap_image_read read, void *source, struct perfmap_bundle **ret_bundle)
{
	struct perfmap_work work = {.limit = UINT64_MAX}; /* the bounds of bundle.h are enough */
	struct perfmap_reader r = {.read = read, .source = source, .work = &work};
	struct perfmap_bundle *bundle = calloc(1, sizeof(*bundle));
	int err;

	if (!bundle)
		return -ENOMEM;
	err = load(bundle, &r);
	if (err) {
		perfmap_bundle_free(bundle);
		return err;
	}
	*ret_bundle = bundle;
	return 0;
}

void perfmap_bundle_free(struct perfmap_bundle *bundle)
{
	if (!bundle)
		return;
	free(bundle->entries);
	free(bundle->by_path);
	free(bundle->list);
	free(bundle);
}

const struct perfmap_bundle_entry *perfmap_bundle_entries(const struct perfmap_bundle *bundle,
							  size_t *ret_cnt)
{
	*ret_cnt = bundle->cnt;
	return bundle->entries;
}

const struct perfmap_bundle_entry *perfmap_bundle_find(const struct perfmap_bundle *bundle,
						       uint64_t offset)
{
	const struct perfmap_bundle_entry *e;
	size_t low = 0, high = bundle->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (bundle->entries[mid].offset <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	e = &bundle->entries[low - 1];
	return !e->compressed_bytes && offset - e->offset < e->bytes ? e : NULL;
}

const struct perfmap_bundle_entry *perfmap_bundle_named(const struct perfmap_bundle *bundle,
							const char *path)
{
	size_t low = 0, high = bundle->cnt;

	/* A composite image asks for hundreds of them. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(bundle->entries[bundle->by_path[mid]].path, path) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < bundle->cnt; low++) {
		const struct perfmap_bundle_entry *e = &bundle->entries[bundle->by_path[low]];

		if (strcmp(e->path, path))
			break;
		if (!e->compressed_bytes)
			return e;
	}
	return NULL;
}

size_t perfmap_bundle_compressed(const struct perfmap_bundle *bundle)
{
	return bundle->compressed;
}

uint64_t perfmap_bundle_work(const struct perfmap_bundle *bundle)
{
	return bundle->work;
}

size_t perfmap_bundle_memory_bytes(const struct perfmap_bundle *bundle)
{
	return sizeof(*bundle) + bundle->list_bytes +
	       bundle->cnt * (sizeof(*bundle->entries) + sizeof(*bundle->by_path));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/parse.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "isolate/workers.h"
#include "parse/elf_blob.h"
#include "parse/parse_fact.h"
#include "parse/image_unwind.h"
#include "parse/lock_holders.h"
#include "parse/memory_names.h"
#include "parse/name_row.h"
#include "parse/unwind_elf.h"
#include "perfmap/images/bundle.h"
#include "perfmap/images/image.h"

#define MAP_BLOB    0x70616d68u
#define CHUNK_BYTES (1u << 20)
#define MARK_BYTES  64u /* compared before a copy is continued */

_Static_assert(sizeof(struct parse_request) <= WORKERS_REQUEST_BYTES, "requests fit");
_Static_assert(sizeof(struct parse_reply) <= WORKERS_REPLY_BYTES, "answers fit");

/* A job's files: where they come by a socket, their own descriptors. */
struct files {
	int fds[MESSAGE_FDS_MAX];
	bool owned[MESSAGE_FDS_MAX];
	unsigned cnt;
};

/* --- reading ---------------------------------------------------------------------------------- */

/* A part of a file. */
struct part {
	int fd;
	uint64_t inside, bytes; /* 0 bytes = all */
};

static ssize_t read_part(void *source, void *buf, size_t len, uint64_t offset)
{
	const struct part *p = source;

	if (p->bytes && offset >= p->bytes)
		return 0;
	if (p->bytes && len > p->bytes - offset)
		len = p->bytes - offset;
	return io_read_at(p->fd, buf, len, p->inside + offset);
}

static enum model_reason reason_of(int err)
{
	switch (err) {
	case 0:
		return REASON_NAMED;
	case -E2BIG:
	case -ENOMEM:
	case -ENOSPC:
		return REASON_LIMIT;
	default:
		return REASON_FILE_MALFORMED;
	}
}

/* --- ELF -------------------------------------------------------------------------------------- */

static enum model_reason load_elf(const struct files *f, struct elf_table **ret_table)
{
	struct elf_identity identity;
	enum model_reason reason = elf_identify(f->fds[0], &identity);

	return reason ? reason : elf_load(f->fds[0], &identity, ret_table);
}

/* A table that knows of the file only what its debug file is recognised by. */
static enum model_reason load_more(const struct parse_request *request, const struct files *f,
				   struct elf_table **ret_table)
{
	struct elf_table *t = calloc(1, sizeof(*t));
	enum model_reason reason;

	if (!t)
		return REASON_LIMIT;
	t->identity = request->elf.identity;
	memcpy(t->debuglink, request->elf.debuglink, sizeof(t->debuglink));
	t->debuglink_crc = request->elf.debuglink_crc;
	t->debugdata_offset = request->elf.debugdata_offset;
	t->debugdata_bytes = request->elf.debugdata_bytes;
	if (request->kind == PARSE_DEBUG)
		reason = elf_add_debug(t, f->fds[0]);
	else
		reason = f->cnt > 1 ? elf_add_debugdata(t, f->fds[0], f->fds[1]) : REASON_LIMIT;
	if (reason)
		elf_free(t);
	else
		*ret_table = t;
	return reason;
}

static enum model_reason do_elf(const struct parse_request *request, const struct files *f,
				int result_fd)
{
	struct elf_table *table = NULL;
	enum model_reason reason =
		request->kind == PARSE_ELF ? load_elf(f, &table) : load_more(request, f, &table);

	if (!reason)
		reason = reason_of(elf_blob_write(table, result_fd));
	elf_free(table);
	return reason;
}

/* --- .NET images ------------------------------------------------------------------------------ */

static void give_components(struct perfmap_image *image, const struct parse_image *wanted,
			    const struct files *f)
{
	for (uint32_t i = 0; i < wanted->component_cnt && i < IMAGE_COMPONENTS_MAX; i++) {
		struct perfmap_component *component = NULL;
		struct part of = {-1, wanted->component_inside[i], wanted->component_bytes[i]};

		of.fd = i + 1 < f->cnt ? f->fds[i + 1] : -1;
		if (of.fd >= 0)
			perfmap_component_load(read_part, &of, &component);
		/* One that cannot be had is given, too: names that need it say so then. */
		perfmap_image_give_component(image, wanted->components[i], component);
	}
}

static int write_image(struct perfmap_image *image, const struct parse_image *wanted,
		       const struct files *f, int result_fd)
{
	struct image_wish wish = {
		.wanted = wanted->wanted,
		.wanted_cnt = wanted->wanted_cnt <= PARSE_WANTED_MAX ? wanted->wanted_cnt : 0,
		.components = wanted->components,
		.components_cnt =
			wanted->component_cnt <= IMAGE_COMPONENTS_MAX ? wanted->component_cnt : 0,
	};
	_cleanup_free_ uint32_t *needs = NULL;

	if (wish.components_cnt) {
		needs = image_table_needs(image);
		if (!needs)
			return -ENOMEM;
		wish.needs = needs;
		give_components(image, wanted, f);
	}
	return image_table_write(image, &wish, result_fd);
}

static enum model_reason do_image(const struct parse_request *request, const struct files *f,
				  int result_fd)
{
	struct part part = {f->fds[0], request->image.inside, request->image.bytes};
	struct perfmap_image *image = NULL;
	int err = perfmap_image_load(read_part, &part, &image);

	if (!err)
		err = write_image(image, &request->image, f, result_fd);
	perfmap_image_free(image);
	return reason_of(err);
}

static enum model_reason do_bundle(const struct files *f, int result_fd)
{
	struct part part = {.fd = f->fds[0]};
	struct perfmap_bundle *bundle = NULL;
	int err = perfmap_bundle_load(read_part, &part, &bundle);

	if (err == -ENOENT)
		return REASON_NO_SYMBOL;
	if (!err)
		err = bundle_table_write(bundle, result_fd);
	perfmap_bundle_free(bundle);
	return reason_of(err);
}

/* --- unwinding -------------------------------------------------------------------------------- */

static enum model_reason compile_image(const struct parse_request *request, int fd,
				       struct cfi_rows *rows, struct unwind_layout *layout)
{
	struct part part = {fd, request->image.inside, request->image.bytes};
	struct perfmap_work work = {0};
	int err = image_unwind_compile(read_part, &part, &work, rows, &layout->segments[0]);

	/* An image of another machine, or without code, is a file that tells nothing. */
	if (err == -ENODATA || err == -ENOTSUP)
		return REASON_NAMED;
	layout->segments_cnt = !err;
	return reason_of(err);
}

/* Takes what the socket brings; the result is a memfd. */
static bool receive_memory(const struct files *f, int result_fd, const struct target_mapping *given,
			   uint32_t given_cnt, struct target_memory *memory)
{
	struct stat st;

	*memory = (struct target_memory){.memory_fd = -1, .pages_fd = -1, .maps_fd = -1};
	if (fstat(result_fd, &st))
		return false;
	memory->shared_dev = st.st_dev;
	if (target_memory_receive(memory, f->fds[0], given, given_cnt))
		return true;
	target_memory_close(memory);
	return false;
}

static enum model_reason do_code(const struct parse_request *request, const struct files *f,
				 int result_fd, struct parse_reply *reply)
{
	static struct target_memory memory;
	int err;

	if (!receive_memory(f, result_fd, NULL, 0, &memory))
		return REASON_LIMIT;
	err = code_rows_write(&memory, &request->code, result_fd, &reply->code_next);
	target_memory_close(&memory);
	return reason_of(err);
}

static enum model_reason do_memory(const struct parse_request *request, const struct files *f,
				   int result_fd, struct parse_reply *reply)
{
	static struct target_memory memory;
	enum model_reason reason;

	if (request->memory.given_cnt > TARGET_GIVEN_MAX ||
	    !receive_memory(f, result_fd, request->memory.given, request->memory.given_cnt,
			    &memory))
		return REASON_LIMIT;
	reason = memory_names_write(&memory, &request->memory, result_fd, &reply->facts);
	reply->given_used = memory.given_used;
	reply->needs_cnt = memory.needs_cnt;
	reply->wanting = memory.wanting;
	memcpy(reply->needs, memory.needs, sizeof(reply->needs));
	target_memory_close(&memory);
	return reason;
}

static enum model_reason do_locks(const struct parse_request *request, const struct files *f,
				  int result_fd, struct parse_reply *reply)
{
	static struct target_memory memory;

	if (request->locks.waits_cnt > PARSE_WAITS_MAX ||
	    !receive_memory(f, result_fd, NULL, 0, &memory))
		return REASON_LIMIT;
	lock_holders_read(&memory, &request->locks, reply->holders);
	target_memory_close(&memory);
	return REASON_NAMED;
}

static enum model_reason do_unwind(const struct parse_request *request, const struct files *f,
				   int result_fd)
{
	struct unwind_layout layout = {0};
	struct cfi_rows rows = {0};
	enum model_reason reason = request->kind == PARSE_UNWIND_IMAGE
					   ? compile_image(request, f->fds[0], &rows, &layout)
					   : unwind_elf_compile(f->fds[0], &rows, &layout);

	if (!reason)
		reason = reason_of(unwind_table_write(&rows, &layout, result_fd));
	cfi_clear(&rows);
	return reason;
}

/* --- perf maps -------------------------------------------------------------------------------- */

/* Whether the copy's end is what the map has there. */
static bool continues(int copy_fd, int map_fd, uint64_t copied)
{
	char theirs[MARK_BYTES], ours[MARK_BYTES];
	size_t len = copied < MARK_BYTES ? (size_t)copied : MARK_BYTES;

	return pread(map_fd, theirs, len, (off_t)(copied - len)) == (ssize_t)len &&
	       pread(copy_fd, ours, len, (off_t)(copied - len)) == (ssize_t)len &&
	       !memcmp(theirs, ours, len);
}

/* Copies what the map has more, to the same place. 0 or -errno. */
static int copy_more(int copy_fd, int map_fd, uint64_t from, uint64_t until, uint64_t *ret_copied)
{
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES);

	if (!chunk)
		return -ENOMEM;
	while (from < until) {
		size_t want = until - from < CHUNK_BYTES ? (size_t)(until - from) : CHUNK_BYTES;
		ssize_t n = pread(map_fd, chunk, want, (off_t)from);

		if (n < 0)
			return -errno;
		if (!n)
			break;
		if (pwrite(copy_fd, chunk, (size_t)n, (off_t)from) != n)
			return -ENOMEM;
		from += (uint64_t)n;
	}
	*ret_copied = from;
	return 0;
}

/* 0, also where the copy has to begin anew; or -errno. */
static int copy_map(const struct parse_request *request, const struct files *f,
		    uint64_t *ret_copied)
{
	uint64_t copied = request->map.copied_bytes;

	*ret_copied = copied;
	if (f->cnt < 2)
		return 0;
	if (copied && !continues(f->fds[0], f->fds[1], copied)) {
		*ret_copied = 0;
		return 0;
	}
	return copy_more(f->fds[0], f->fds[1], copied, request->map.copy_max, ret_copied);
}

static enum model_reason do_map(const struct parse_request *request, const struct files *f,
				int result_fd, struct parse_reply *reply)
{
	struct perfmap_rows r = {0};
	struct blob_writer w;
	int err = copy_map(request, f, &reply->copied_bytes);

	reply->cursor = request->map.cursor;
	if (!err)
		err = perfmap_scan(f->fds[0], &reply->cursor, request->map.max_bytes,
				   perfmap_rows_keep, &r, &reply->scanned);
	blob_begin(&w, result_fd, MAP_BLOB);
	blob_put(&w, 0, r.rows, r.cnt * sizeof(*r.rows));
	if (!err)
		err = blob_end(&w);
	free(r.rows);
	reply->error = err;
	return REASON_NAMED;
}

struct blob *parse_map_rows(int fd, size_t bytes, const struct perfmap_entry **ret_rows,
			    size_t *ret_cnt)
{
	struct blob *blob = blob_open(fd, bytes, MAP_BLOB);

	if (blob)
		*ret_rows = blob_rows(blob, 0, sizeof(**ret_rows), ret_cnt);
	return blob;
}

/* --- names ------------------------------------------------------------------------------------ */

#define NAMES_BLOB 0x6d616e68u

enum names_section { NAMES_ROWS, NAMES_TEXT };

/* Each item has two words at least. */
#define NAMES_MAX (PARSE_ITEMS_BYTES / sizeof(struct parse_item))

static enum model_reason do_map_line(const struct perfmap_hit *hit, int fd, struct blob_writer *w,
				     struct parse_named *row)
{
	char raw[PARSE_NAME_BYTES];
	size_t len;

	if (fd < 0 || perfmap_read_name(hit, fd, raw, sizeof(raw), &len))
		return REASON_PERF_MAP_REWRITTEN;
	name_row_take_apart(raw, len, w, row);
	return REASON_NAMED;
}

static enum model_reason do_mangled(const char *raw, size_t len, struct blob_writer *w,
				    struct parse_named *row)
{
	char mangled[PARSE_NAME_BYTES + 1], readable[DEMANGLE_OUTPUT_MAX];

	if (len > PARSE_NAME_BYTES)
		return REASON_NO_SYMBOL;
	memcpy(mangled, raw, len);
	mangled[len] = '\0';
	if (!demangle_name(mangled, readable))
		return REASON_NO_SYMBOL;
	row->display = blob_add_text(w, readable, strlen(readable));
	return REASON_NAMED;
}

static void do_item(const struct parse_item *item, const unsigned char *bytes, int map_fd,
		    struct blob_writer *w, struct parse_named *row)
{
	struct perfmap_hit hit;

	switch (item->kind) {
	case NAME_DOTNET:
		name_row_take_apart((const char *)bytes, item->len, w, row);
		row->reason = REASON_NAMED;
		break;
	case NAME_MANGLED:
		row->reason = do_mangled((const char *)bytes, item->len, w, row);
		break;
	case NAME_MAP_LINE:
		row->reason = REASON_LIMIT;
		if (item->len != sizeof(hit))
			break;
		memcpy(&hit, bytes, sizeof(hit));
		row->reason = do_map_line(&hit, map_fd, w, row);
		break;
	default:
		row->reason = REASON_LIMIT;
	}
}

static enum model_reason do_names(const struct parse_request *request, const struct files *f,
				  int result_fd)
{
	static struct parse_named rows[NAMES_MAX];
	static struct blob_writer w;
	size_t at = 0, cnt = 0, len = request->items.len;

	if (len > PARSE_ITEMS_BYTES)
		return REASON_LIMIT;
	blob_begin(&w, result_fd, NAMES_BLOB);
	blob_stream(&w, NAMES_TEXT);
	while (len - at >= sizeof(struct parse_item)) {
		struct parse_item item;

		memcpy(&item, request->items.bytes + at, sizeof(item));
		at += sizeof(item);
		if (item.len > len - at)
			break;
		rows[cnt] = (struct parse_named){0};
		do_item(&item, request->items.bytes + at, f->cnt ? f->fds[0] : -1, &w, &rows[cnt]);
		cnt++;
		at += (item.len + 7u) & ~(size_t)7;
		if (at > len)
			break;
	}
	blob_stream_end(&w);
	blob_put(&w, NAMES_ROWS, rows, cnt * sizeof(rows[0]));
	return reason_of(blob_end(&w));
}

struct blob *parse_named_rows(int fd, size_t bytes, const struct parse_named **ret_rows,
			      size_t *ret_cnt, const char **ret_text, size_t *ret_text_len)
{
	struct blob *blob = blob_open(fd, bytes, NAMES_BLOB);

	if (!blob)
		return NULL;
	*ret_rows = blob_rows(blob, NAMES_ROWS, sizeof(**ret_rows), ret_cnt);
	*ret_text = blob_text(blob, NAMES_TEXT, ret_text_len);
	if (!*ret_text)
		*ret_text_len = 0;
	return blob;
}

/* ---------------------------------------------------------------------------------------------- */

/* Where a file comes by a socket, takes it from there. */
static bool open_files(const struct parse_request *request, const int *fds, unsigned fd_cnt,
		       struct files *f)
{
	for (unsigned i = 0; i < fd_cnt; i++) {
		char byte;

		f->fds[i] = fds[i];
		f->owned[i] = request->in_socket >> i & 1;
		f->cnt = i + 1;
		if (!f->owned[i])
			continue;
		if (message_receive_exact(fds[i], &byte, sizeof(byte), &f->fds[i]))
			f->fds[i] = -1;
		/* Of several files of symbols some may be gone. */
		f->owned[i] = f->fds[i] >= 0;
		if (!f->owned[i] && request->kind != PARSE_SYMBOLS) {
			f->cnt = i;
			return false;
		}
	}
	return true;
}

static enum model_reason dispatch(const struct parse_request *request, const struct files *f,
				  int result_fd, struct parse_reply *reply)
{
	switch (request->kind) {
	case PARSE_ELF:
	case PARSE_DEBUG:
	case PARSE_PACKED:
		return do_elf(request, f, result_fd);
	case PARSE_IMAGE:
		return do_image(request, f, result_fd);
	case PARSE_BUNDLE:
		return do_bundle(f, result_fd);
	case PARSE_MAP:
		return do_map(request, f, result_fd, reply);
	case PARSE_NAMES:
		return do_names(request, f, result_fd);
	case PARSE_CODE:
		return do_code(request, f, result_fd, reply);
	case PARSE_MEMORY:
		return do_memory(request, f, result_fd, reply);
	case PARSE_LOCKS:
		return do_locks(request, f, result_fd, reply);
	case PARSE_UNWIND_ELF:
	case PARSE_UNWIND_IMAGE:
		return do_unwind(request, f, result_fd);
	default:
		return parse_fact_do(request, f->fds, f->cnt, result_fd);
	}
}

size_t parse_do(const void *request_bytes, size_t request_len, const int *fds, unsigned fd_cnt,
		int result_fd, void *reply_bytes)
{
	static struct parse_request request;
	struct parse_reply *reply = reply_bytes;
	struct files f = {0};

	memset(&request, 0, sizeof(request));
	memcpy(&request, request_bytes,
	       request_len < sizeof(request) ? request_len : sizeof(request));
	memset(reply, 0, sizeof(*reply));
	if (!open_files(&request, fds, fd_cnt, &f))
		reply->reason = REASON_FILE_GONE;
	else if (!f.cnt && request.kind != PARSE_NAMES)
		reply->reason = REASON_LIMIT;
	else
		reply->reason = dispatch(&request, &f, result_fd, reply);
	for (unsigned i = 0; i < f.cnt; i++)
		if (f.owned[i])
			close(f.fds[i]);
	return sizeof(*reply);
}

size_t parse_request_bytes(const struct parse_request *request)
{
	switch (request->kind) {
	case PARSE_NAMES:
		return offsetof(struct parse_request, items.bytes) + request->items.len;
	case PARSE_CODE:
		return offsetof(struct parse_request, code.ranges) +
		       request->code.ranges_cnt * sizeof(request->code.ranges[0]);
	case PARSE_IMAGE:
	case PARSE_UNWIND_IMAGE:
		return offsetof(struct parse_request, image.wanted) +
		       request->image.wanted_cnt * sizeof(request->image.wanted[0]);
	case PARSE_MEMORY:
		return offsetof(struct parse_request, memory.addresses) +
		       request->memory.addresses_cnt * sizeof(request->memory.addresses[0]);
	case PARSE_LOCKS:
		return offsetof(struct parse_request, locks.waits) +
		       request->locks.waits_cnt * sizeof(request->locks.waits[0]);
	case PARSE_MAP:
		return offsetof(struct parse_request, map) + sizeof(request->map);
	case PARSE_ELF:
	case PARSE_DEBUG:
	case PARSE_PACKED:
		return offsetof(struct parse_request, elf) + sizeof(request->elf);
	default:
		return offsetof(struct parse_request, fact) + sizeof(request->fact);
	}
}

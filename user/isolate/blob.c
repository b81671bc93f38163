/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"

#define ALIGNMENT 8u

struct blob {
	const unsigned char *bytes;
	size_t len;
};

void blob_begin(struct blob_writer *w, int fd, uint32_t kind)
{
	w->fd = fd;
	w->error = 0;
	w->end = sizeof(w->head);
	w->head = (struct blob_head){.kind = kind};
	w->held = 0;
}

static void align(struct blob_writer *w)
{
	w->end = (w->end + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

void blob_put(struct blob_writer *w, unsigned section, const void *bytes, size_t len)
{
	align(w);
	w->head.sections[section].offset = w->end;
	w->head.sections[section].bytes = len;
	if (!w->error && len)
		w->error = io_write_at(w->fd, bytes, len, w->end);
	w->end += len;
}

void blob_stream(struct blob_writer *w, unsigned section)
{
	align(w);
	w->section = section;
	w->head.sections[section].offset = w->end;
	w->held = 0;
}

uint64_t blob_streamed(const struct blob_writer *w)
{
	return w->end + w->held - w->head.sections[w->section].offset;
}

static void flush(struct blob_writer *w)
{
	if (!w->error && w->held)
		w->error = io_write_at(w->fd, w->buffer, w->held, w->end);
	w->end += w->held;
	w->held = 0;
}

void blob_add(struct blob_writer *w, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		size_t room = sizeof(w->buffer) - w->held, part = len < room ? len : room;

		memcpy(w->buffer + w->held, p, part);
		w->held += part;
		p += part;
		len -= part;
		if (w->held == sizeof(w->buffer))
			flush(w);
	}
}

uint32_t blob_add_text(struct blob_writer *w, const char *s, size_t len)
{
	uint32_t at = (uint32_t)blob_streamed(w);

	blob_add(w, s, len);
	blob_add(w, "", 1);
	return at;
}

void blob_stream_end(struct blob_writer *w)
{
	flush(w);
	w->head.sections[w->section].bytes = w->end - w->head.sections[w->section].offset;
}

int blob_end(struct blob_writer *w)
{
	return w->error ? w->error : io_write_at(w->fd, &w->head, sizeof(w->head), 0);
}

struct blob *blob_open(int fd, size_t bytes, uint32_t kind)
{
	_cleanup_close_ int file_fd = fd;
	const struct blob_head *head;
	struct blob *b;
	void *p;

	if (bytes < sizeof(*head)) {
		errno = EBADMSG;
		return NULL;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file_fd, 0);
	if (p == MAP_FAILED) {
		free(b);
		return NULL;
	}
	b->bytes = p;
	b->len = bytes;
	head = p;
	for (unsigned i = 0; i < BLOB_SECTIONS_MAX; i++) {
		uint64_t offset = head->sections[i].offset, len = head->sections[i].bytes;

		if (head->kind == kind && offset <= bytes && len <= bytes - offset &&
		    !(offset % ALIGNMENT))
			continue;
		blob_free(b);
		errno = EBADMSG;
		return NULL;
	}
	return b;
}

void blob_free(struct blob *b)
{
	if (!b)
		return;
	munmap((void *)b->bytes, b->len);
	free(b);
}

const void *blob_rows(const struct blob *b, unsigned section, size_t row_bytes, size_t *ret_cnt)
{
	const struct blob_head *head = (const void *)b->bytes;

	*ret_cnt = head->sections[section].bytes / row_bytes;
	return *ret_cnt ? b->bytes + head->sections[section].offset : NULL;
}

const char *blob_text(const struct blob *b, unsigned section, size_t *ret_len)
{
	const char *text = blob_rows(b, section, 1, ret_len);

	return text && !text[*ret_len - 1] ? text : NULL;
}

size_t blob_bytes(const struct blob *b)
{
	return b->len;
}

bool blob_equal(const struct blob *a, const struct blob *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

#define DIGEST_SAMPLES	    64u
#define DIGEST_SAMPLE_BYTES 64u

uint64_t blob_digest(const struct blob *b)
{
	uint64_t digest = hash_bytes(b->bytes, sizeof(struct blob_head));
	size_t room = b->len - (b->len < DIGEST_SAMPLE_BYTES ? b->len : DIGEST_SAMPLE_BYTES);

	for (uint64_t i = 0; i < DIGEST_SAMPLES && room; i++)
		digest = hash_pair(digest, hash_bytes(b->bytes + hash_pair(b->len, i) % room,
						      DIGEST_SAMPLE_BYTES));
	return hash_pair(digest, b->len);
}

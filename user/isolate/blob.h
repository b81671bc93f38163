/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_BLOB_H
#define HOTRUN_ISOLATE_BLOB_H
/*
 * A file in memory with some arrays: how a worker hands over what it made of a target's bytes. Who
 * reads it maps it and checks lengths here, and what the rows say while it uses them: the worker
 * may have been taken over. Written by one thread; read by any.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOB_SECTIONS_MAX 6u

struct blob_head {
	uint32_t kind;
	uint32_t rsvd;
	struct {
		uint64_t offset, bytes;
	} sections[BLOB_SECTIONS_MAX];
};

struct blob_writer {
	int fd;
	int error; /* the first one */
	uint64_t end;
	struct blob_head head;
	unsigned section; /* of the stream */
	size_t held;	  /* of it, not written yet */
	char buffer[32768];
};

/* Begins a blob in an empty file. */
void blob_begin(struct blob_writer *w, int fd, uint32_t kind);
/* Writes a section whole. */
void blob_put(struct blob_writer *w, unsigned section, const void *bytes, size_t len);
/* Writes a section piece by piece: begin, any number of pieces, end; nothing else between them. */
void blob_stream(struct blob_writer *w, unsigned section);
void blob_add(struct blob_writer *w, const void *bytes, size_t len);
/* blob_add() of a text and its NUL. Returns where in the section it begins. */
uint32_t blob_add_text(struct blob_writer *w, const char *s, size_t len);
void blob_stream_end(struct blob_writer *w);
/* Bytes of the section that is being written. */
uint64_t blob_streamed(const struct blob_writer *w);
/* Ends it. 0 or the first -errno. */
int blob_end(struct blob_writer *w);

struct blob;

/* Takes fd, a sealed file of that length. Returns owned, or NULL with errno: EBADMSG (another kind,
 * or sections that are not in it), ENOMEM. */
struct blob *blob_open(int fd, size_t bytes, uint32_t kind);
void blob_free(struct blob *b);

/* Rows of a section, borrowed from the blob; NULL where it has none of that size. */
const void *blob_rows(const struct blob *b, unsigned section, size_t row_bytes, size_t *ret_cnt);
/* A section of text whose last byte is a NUL, so that a text ends wherever it begins. NULL:
 * none. */
const char *blob_text(const struct blob *b, unsigned section, size_t *ret_len);

size_t blob_bytes(const struct blob *b);

/* Whether two hold the same bytes; digests of such two are equal. A digest looks at some of the
 * bytes only, at places that nobody can know: it is for finding, never for deciding. */
bool blob_equal(const struct blob *a, const struct blob *b);
uint64_t blob_digest(const struct blob *b);
#endif

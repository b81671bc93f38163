/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_NAME_CACHE_H
#define HOTRUN_NAMES_NAME_CACHE_H
/*
 * Raw names and what they say: workers take them apart, many at a time, since on a busy host each
 * way to a worker and back may take long. What is asked for is gathered by process, sent by
 * name_cache_flush(), and there when it is asked for again. What one party's names led to is no
 * other's. One thread.
 */
#include "opener/file_requests.h"
#include "parse/parse.h"

/* Bytes of texts and rows that are kept; then the parties that have most of them lose theirs, which
 * are taken apart again when needed. What comes at once may exceed it by half. */
#define NAME_CACHE_BYTES (24u << 20)

struct name_cache;

/* What a name says; texts are borrowed until the next call. */
struct name_parts {
	const char *display, *assembly, *tier;
	const char *raw; /* without its tier tag */
	bool is_stub, is_framework;
};

/* Borrows the file requests until name_cache_free(). Owned, or NULL with errno ENOMEM. */
struct name_cache *name_cache_new(struct file_requests *requests);
void name_cache_free(struct name_cache *c);

/*
 * A name that a process row caused. raw: a text. Returns REASON_NAMED with the parts;
 * REASON_PENDING: it is not known yet (requests->deferred has grown); or why it says
 * nothing.
 */
enum model_reason name_cache_text(struct name_cache *c, const struct model *m, uint32_t process,
				  enum parse_name_kind kind, const char *raw,
				  struct name_parts *ret_parts);
/* The same for an entry of the perf map of a process; fd: of that map, borrowed until the next
 * name_cache_flush(). */
enum model_reason name_cache_line(struct name_cache *c, const struct model *m, uint32_t process,
				  const struct perfmap_hit *hit, int fd,
				  struct name_parts *ret_parts);

/* Sends what was asked for, and takes what came; wait: as far as the budgets of waiting allow.
 * Returns whether there are new names. */
bool name_cache_flush(struct name_cache *c, const struct model *m, bool wait);

size_t name_cache_bytes(const struct name_cache *c);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_MEMORY_NAMES_H
#define HOTRUN_PARSE_MEMORY_NAMES_H
/*
 * Names of compiled code of a .NET process, made by a worker of its memory (perfmap/memory/) and
 * taken apart at once. Both sides are hostile. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "isolate/blob.h"
#include "parse/parse.h"
#include "parse/target_memory.h"

/* Of an address that was asked for, in their order; then of bodies that were listed. */
struct memory_name {
	struct parse_named named; /* with the reason, where it has no name */
	uint64_t start;
	uint32_t size;	      /* of the body; 0 = it is not known, the name is the address's */
	uint16_t is_fleeting; /* its memory may come to hold another body */
	uint8_t is_unlisted;  /* a stub, if the memory there is the runtime's */
	uint8_t is_precompiled;
};

/* The worker's side. ret_facts: of the runtime, as far as it was found. A row for which a file was
 * wanting (memory->needs) is REASON_PENDING. */
enum model_reason memory_names_write(struct target_memory *memory,
				     const struct parse_memory *wanted, int fd,
				     struct perfmap_memory_facts *ret_facts);

/* The descriptor of the runtime in one of these files. REASON_NAMED, or why there is none. */
enum model_reason memory_names_find(struct target_memory *memory,
				    const struct parse_code_file *files, uint32_t cnt,
				    uint64_t *ret_descriptor);

/* Takes fd. Owned, or NULL; the rest is borrowed from it. Rows may say anything. */
struct blob *memory_names_read(int fd, size_t bytes, const struct memory_name **ret_rows,
			       size_t *ret_cnt, const char **ret_text, size_t *ret_text_len);
#endif

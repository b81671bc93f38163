/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_CODE_H
#define PERFMAP_MEMORY_CODE_H
/*
 * Which compiled body lies at an address: by the map of code ranges, the nibble map of its heap and
 * the header before the code. Hostile: lists are followed for some steps, and a body is one only
 * where its own unwind data says that it covers the address. Not for use outside perfmap/. One
 * thread.
 *
 * Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md.
 */
#include "perfmap/memory/runtime.h"

#define PERFMAP_CODE_BYTES_MAX (16u << 20) /* of a body */

enum perfmap_code_kind {
	PERFMAP_CODE_METHOD,
	PERFMAP_CODE_STUB,  /* of a kind that the heap tells, or in no heap of methods at all */
	PERFMAP_CODE_IMAGE, /* precompiled, and the runtime does not tell what */
};

struct perfmap_code {
	enum perfmap_code_kind kind;
	uint64_t start; /* of METHOD */
	uint32_t size;
	uint64_t method;      /* address of its MethodDesc */
	uint64_t header;      /* of its RealCodeHeader; precompiled: of its RuntimeFunction */
	uint64_t unwind_base; /* that its unwind data counts from */
	uint32_t unwind_cnt;  /* rows of it */
	uint32_t stub;	      /* kind of STUB, 0 = not told */
	bool is_precompiled;  /* METHOD, of an image */
	bool is_collectible;  /* its memory is used again once it is freed */
	bool is_unlisted;     /* STUB: the map of ranges does not know the address */
};

/* 0; -ENOENT: no code of the runtime lies there; -EFAULT: what leads there cannot be read. What
 * the body rests on is noted. What the map of ranges does not know is a stub, if the memory is the
 * runtime's. */
int perfmap_code_find(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
		      uint64_t address, struct perfmap_code *ret_code);

/* Where code begins in all heaps, as far as that can be read; max at the most. Returns their
 * number. */
size_t perfmap_code_starts(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
			   uint64_t *ret_starts, size_t max);
/* The same in the heaps whose memory is used again. */
size_t perfmap_code_fleeting(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
			     uint64_t *ret_starts, size_t max);
#endif

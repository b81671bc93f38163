/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_MEMORY_H
#define PERFMAP_MEMORY_MEMORY_H
/*
 * Names of compiled code of a running .NET process from its memory alone, read only and from
 * outside: byte for byte what the perf map has; of precompiled code what jitdump has. .NET 10 and
 * later tell by themselves where all of it lies. The process runs on meanwhile and may be hostile:
 * work is bounded, and a name counts only where what it rests on is there unchanged after it was
 * read. libc only. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "perfmap/memory/layout.h"

/* Work (work.h) on one request: so much, and so much for each address. */
#define PERFMAP_MEMORY_WORK	    (16u << 20)
#define PERFMAP_MEMORY_WORK_ADDRESS (1u << 20)
/* And on a search for the map of code ranges, which begins at every variable of the runtime. */
#define PERFMAP_MEMORY_WORK_SEARCH (256u << 20)

/* As pread(2) of /proc/PID/mem. */
typedef ssize_t (*perfmap_memory_read)(void *source, void *buf, size_t len, uint64_t address);

struct perfmap_memory;

/* What is known of a process's runtime; of the descriptor at least, the rest is what an earlier
 * reading found. */
struct perfmap_memory_facts {
	uint64_t descriptor;
	uint64_t code_map; /* that of code ranges, which .NET 9 does not tell; 0 = not found */
	uint64_t image;	   /* where a precompiled image is mapped as code: by that it is found; 0 */
	bool has_layout;
	struct perfmap_layout layout;
};

struct perfmap_memory_name {
	uint64_t start;
	uint32_t size;	  /* of the body; 0: of a stub, nothing is known but this address */
	bool is_stub;	  /* of the runtime */
	bool is_unlisted; /* only if the runtime maps the memory there for its code */
	bool is_precompiled;
	bool is_fleeting; /* its memory may come to hold another method while the process runs */
	size_t len;	  /* of the name */
};

/*
 * Finds the descriptor of a runtime in a file that is mapped there as code. Returns 0 with its
 * address; -ENOENT: it exports none; -EFAULT: it cannot be read; -ENOMEM.
 */
int perfmap_memory_find(perfmap_memory_read read, void *source, uint64_t start,
			uint64_t file_offset, uint64_t *ret_descriptor);

/*
 * Reads the descriptor, as far as it is not known. work: number of addresses that will be asked
 * for. Returns 0, owned; -EBADMSG: there is none; -ENOTSUP: it tells too little, or of another
 * layout; -EFAULT; -ENOMEM.
 */
int perfmap_memory_open(perfmap_memory_read read, void *source,
			const struct perfmap_memory_facts *facts, size_t work,
			struct perfmap_memory **ret_memory);
/* What is to be known the next time. */
struct perfmap_memory_facts perfmap_memory_facts(const struct perfmap_memory *m);
void perfmap_memory_close(struct perfmap_memory *m);

/*
 * The name of the body at an address, with a NUL in cap bytes. Returns 0;
 *	-ENOENT		no code of the runtime lies there
 *	-ENODATA	its name cannot be had: of precompiled code that never ran, above all
 *	-ESTALE		it changed while it was read
 *	-EFAULT		it cannot be read
 *	-E2BIG		too long, or too much work.
 */
int perfmap_memory_name(struct perfmap_memory *m, uint64_t address, char *buf, size_t cap,
			struct perfmap_memory_name *ret_name);

/* Takes a name; the text is borrowed for the call. */
typedef void (*perfmap_memory_take)(void *taker, size_t index, const char *text,
				    const struct perfmap_memory_name *name);

/*
 * The names of many: what several of them rest on is read once, and once more. Those that cannot be
 * had so, for whatever reason, are not taken; perfmap_memory_name() tells more of them. In any
 * order.
 */
void perfmap_memory_names(struct perfmap_memory *m, const uint64_t *addresses, size_t cnt,
			  perfmap_memory_take take, void *taker);

/* A compiled method. */
struct perfmap_memory_body {
	uint64_t start;
	uint32_t size;
	uint64_t header; /* the runtime's, of it */
};

/*
 * The body at an address, whether it has a name or not. Nothing is looked at a second time: who
 * reads its code asks again behind perfmap_memory_anew() whether it is the same. Returns 0;
 *	-ENOENT		no compiled method lies there
 *	-EFAULT		it cannot be read
 *	-E2BIG		too much work.
 */
int perfmap_memory_body(struct perfmap_memory *m, uint64_t address,
			struct perfmap_memory_body *ret_body);
/* What is asked for from now on is what is there now. */
void perfmap_memory_anew(struct perfmap_memory *m);

/* Where the bodies begin, and stubs that lie among them: in any order, and some twice. At most max;
 * returns their number. */
size_t perfmap_memory_bodies(struct perfmap_memory *m, uint64_t *ret_starts, size_t max);

/*
 * Where the bodies begin whose memory may come to hold others: of dynamic methods, and of code that
 * can be unloaded. At most max; returns their number.
 */
size_t perfmap_memory_fleeting(struct perfmap_memory *m, uint64_t *ret_starts, size_t max);

/* Words of a stack that may point at something, each once. */
#define PERFMAP_LOCK_POINTS 64u

/* A thread that waits for something. */
struct perfmap_lock_wait {
	uint32_t tid;	    /* as its process sees it */
	uint16_t often_cnt; /* points that stand on the stack more than once: the first ones */
	uint16_t points_cnt;
	uint64_t points[PERFMAP_LOCK_POINTS];
};

/* What a thread waits for, a sum: of .NET 11 nobody can tell these apart. */
#define PERFMAP_LOCK_OBJECT  0x1u /* a System.Threading.Lock */
#define PERFMAP_LOCK_MONITOR 0x2u

struct perfmap_lock_holder {
	uint32_t
		tid; /* as its process sees it; 0 = the thread waits for none, or nobody can tell */
	uint32_t kind; /* PERFMAP_LOCK_*, 0 with tid */
};

/*
 * Who holds the lock (System.Threading.Lock; of .NET 11 monitors, too) for which each of these
 * threads waits. Believed only of a thread that did not run from when its stack was read until this
 * returns. Returns 0; -ENOTSUP: the runtime does not tell (before .NET 9); -EFAULT; -ENOMEM.
 */
int perfmap_memory_holders(struct perfmap_memory *m, const struct perfmap_lock_wait *waits,
			   size_t cnt, struct perfmap_lock_holder *ret_holders);
/* Whether its monitors are such locks (.NET 11). */
bool perfmap_memory_locks_are_monitors(const struct perfmap_memory *m);
/* The same of monitors before .NET 11, which need no descriptor: these are put over other locks. */
void perfmap_memory_monitors(perfmap_memory_read read, void *source,
			     const struct perfmap_lock_wait *waits, size_t cnt,
			     struct perfmap_lock_holder *holders);
#endif

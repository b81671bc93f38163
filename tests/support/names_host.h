/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_NAMES_HOST_H
#define HOTRUN_TESTS_NAMES_HOST_H
/*
 * A made-up host with one process, 100, for the tests of the whole names room: its /proc tree
 * (names_support.h), the room under test and the model that it fills.
 */
#include <stdint.h>

#include "model/model.h"
#include "names/names.h"
#include "names_support.h"

#define TICK_NS		   10000000ull
#define START_TICKS	   50ull
#define NAMES_HOST_SYMBOLS 3

#define MAPS_LIB                                                                          \
	"7f0000000000-7f0000001000 r--p 00000000 08:01 0 /lib/libx.so\n"                  \
	"7f0000001000-7f0000002000 r-xp 00001000 08:01 0 /lib/libx.so\n"                  \
	"7f0000100000-7f0000110000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n" \
	"7f0000200000-7f0000210000 r-xp 00010000 08:01 0 /app/System.Text.Json.dll\n"     \
	"7f0000300000-7f0000310000 r-xp 00000000 08:01 0 /app/Shop.Core.dll\n"            \
	"7f0000400000-7f0000410000 rwxp 00000000 00:00 0 \n"                              \
	"7f0000500000-7f0000510000 r-xp 00000000 08:01 0 /lib/gone.so (deleted)\n"        \
	"7f0000600000-7f0000610000 r-xp 00000000 08:01 0 /lib/fifo.so\n"                  \
	"7f0000700000-7f0000710000 r-xp 00000000 08:01 0 /lib/text.so\n"                  \
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"

/* Where MAPS_LIB has JIT code. */
#define JIT 0x7f0000100000ull

/* Of the library that put_library() writes; it has one more function, at 0x1500, without a name. */
extern const struct fake_symbol names_host_symbols[NAMES_HOST_SYMBOLS];

struct host {
	struct fake_proc proc;
	struct names *n;
	struct model *m;
	uint32_t process;
	uint64_t next_stack;
};

/* A host with process 100 whose maps and executable are these. */
void host_make(struct host *h, const char *maps, const char *exe);
/* The same, as that user's. */
void host_make_of(struct host *h, const char *maps, const char *exe, const char *uid);
void host_end(struct host *h);

/* One more process, with its facts: from now on the host's. */
void host_add(struct host *h, const struct fake_process *what);

/* Writes an ELF library with the first of the symbols below the host's folder. */
void put_library(struct host *h, const char *path, uint8_t build_id, size_t symbols);

/* Adds a stack of the process (of nobody with STACK_KERNEL) under an id of its own; its row. */
uint32_t add_stack(struct host *h, uint16_t flags, const uint64_t *frames, uint16_t cnt);

/* The location valid at that time, or NULL. */
const struct model_location *location_at(struct host *h, uint64_t address, uint64_t time_ns);

/* Names one address as the leaf of a stack; NULL where it has to wait. */
const struct model_symbol *name_at(struct host *h, uint64_t address, uint64_t time_ns);
#endif

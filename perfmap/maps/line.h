/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MAPS_LINE_H
#define PERFMAP_MAPS_LINE_H
/*
 * One line of a perf map: `[0x]<hex address> [0x]<hex bytes> <name>`. Parsed by length: a line may
 * hold NUL and any other byte, the watched process writes it. Pure, no state, no threads.
 *
 * Written by the runtime's PerfMap class (dotnet/runtime, src/coreclr/vm/perfmap.cpp) and by other
 * JITs (Linux, tools/perf/Documentation/jit-interface.txt). .NET puts 0x before the address,
 * HotSpot before both numbers (JDK 17, CodeCache::write_perf_map), others before none. Where a
 * name holds non-ASCII characters, .NET 8 to 10 write garbage over the first 16 bytes of the line
 * and drop bytes at its end, the newline among them, so that the next line is glued on: see
 * perfmap_line.skipped.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmap/work.h"

/* The first page is never mapped (vm.mmap_min_addr); no address below it is code. */
#define PERFMAP_ADDRESS_MIN 4096u
/* Of one entry. The largest stub blocks are 64 KiB, methods of some MB exist. */
#define PERFMAP_CODE_BYTES_MAX (256u << 20)

struct perfmap_line {
	uint64_t start;	     /* first address of the code */
	uint64_t size_bytes; /* 1 .. PERFMAP_CODE_BYTES_MAX; start + size_bytes does not overflow */
	size_t skipped;	     /* damaged bytes before the entry; 0 = a sound line */
	size_t name_offset;  /* of the name within the line */
	size_t name_len;     /* may be 0 */
	bool has_0x;	     /* the address was written with 0x */
};

/*
 * Reads the entry of a line (without its newline). Where the line does not begin with an entry, the
 * first later `0x<hex> <hex> ` in it is taken and skipped says how many bytes came before.
 * Returns 0, or -ENOMSG when the line holds no entry (blank, continuation of a name, garbage).
 */
int perfmap_line_parse(const char *line, size_t len, struct perfmap_line *ret_line);

/*
 * The same, and counts in work what was looked at: at most PERFMAP_LINE_WORK_PER_BYTE for each byte
 * of the line. -ENOMSG also past the limit.
 */
#define PERFMAP_LINE_WORK_PER_BYTE 21u
int perfmap_line_parse_counted(const char *line, size_t len, struct perfmap_work *work,
			       struct perfmap_line *ret_line);

/* True for names of runtime stubs: "stub Kind<Owner>" (.NET 10), "stub<17> Kind<Owner>" (8, 9). */
bool perfmap_line_is_stub(const char *name, size_t len);

/*
 * True for those of them that never move the stack pointer nor change the frame pointer: at each of
 * their instructions the stack pointer points at the return address. Their bytes do not tell: data
 * lies between them. Sources: dotnet/runtime, src/coreclr/vm/amd64: thunktemplates.S,
 * patchedcode.S, cgenamd64.cpp, virtualcallstubcpu.hpp.
 */
bool perfmap_line_keeps_stack(const char *name, size_t len);
#endif

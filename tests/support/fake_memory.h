/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FAKE_MEMORY_H
#define HOTRUN_TESTS_FAKE_MEMORY_H
/*
 * The memory of a process that runs .NET 10, as small as it gets, laid out by hand: a library that
 * exports the descriptor, compiled code and what the runtime keeps of it, and the image of
 * fake_names.h. Its code:
 *
 *	FAKE_MEMORY_ADD		Shop.Cart::Add, first tier
 *	FAKE_MEMORY_GET		Shop.Box`1[Shop.Cart]::Get, second tier
 *	FAKE_MEMORY_MADE	a dynamic method, Made, of a Shop.Cart and an int32
 *	FAKE_MEMORY_STUB	a stub
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FAKE_MEMORY_BASE  0x10000000000ull /* a file may be so long */
#define FAKE_MEMORY_BYTES 0xa000u

/* Offsets. */
#define FAKE_MEMORY_CODE       0x1000u /* a page of code; in the file of the library it is at 0 */
#define FAKE_MEMORY_ADD	       0x1040u
#define FAKE_MEMORY_GET	       0x10c0u
#define FAKE_MEMORY_MADE       0x1140u
#define FAKE_MEMORY_STUB       0x1200u
#define FAKE_MEMORY_SIZE       0x60u /* of each body */
#define FAKE_MEMORY_DESCRIPTOR 0x2000u
#define FAKE_MEMORY_JSON       0x2100u
#define FAKE_MEMORY_MAP	       0x3000u /* five tables of 256 pointers */
#define FAKE_MEMORY_FRAGMENT   0x5800u
#define FAKE_MEMORY_SECTION    0x5840u
#define FAKE_MEMORY_HEAP       0x58a0u
#define FAKE_MEMORY_NIBBLES    0x58e0u
#define FAKE_MEMORY_HEADER(i)  (0x5a00u + 0x40 * (i)) /* of ADD, GET, MADE */
#define FAKE_MEMORY_CHUNK(i)   (0x5b00u + 0x80 * (i)) /* each with one method behind it */
#define FAKE_MEMORY_METHOD(i)  (FAKE_MEMORY_CHUNK(i) + 24)
#define FAKE_MEMORY_CART       0x5d00u /* types */
#define FAKE_MEMORY_BOX	       0x5d40u
#define FAKE_MEMORY_VERSION    0x5e80u /* of GET */
#define FAKE_MEMORY_MODULE     0x6000u
#define FAKE_MEMORY_NAME       0x6500u /* of MADE */
#define FAKE_MEMORY_IMAGE      0x7000u
#define FAKE_MEMORY_READY      0x8000u /* a precompiled image, as a runtime has it in memory */
#define FAKE_MEMORY_READY_INFO 0x8100u
#define FAKE_MEMORY_FUNCTIONS  0x8400u /* rows of 12 bytes */
#define FAKE_MEMORY_BUCKETS    0x8500u /* 64 bytes each; the first is their number, 3 */
#define FAKE_MEMORY_EXCEPTIONS 0x8600u
#define FAKE_MEMORY_CLAUSE     0x8620u
#define FAKE_MEMORY_READY_CODE 0x9000u /* functions of 0x40 bytes: ADD, its handler, one more */
#define FAKE_MEMORY_READY_SIZE 0x40u

/* A process's memory, read as /proc/PID/mem is. */
struct fake_memory {
	uint8_t bytes[FAKE_MEMORY_BYTES];
	size_t reads;	  /* so far */
	size_t change_at; /* before that read ... */
	uint32_t offset;  /* ... a byte changes, there, to that */
	uint8_t to;
};

void fake_memory(struct fake_memory *m);
/* The same of .NET 9, whose descriptor tells nothing of code. */
void fake_memory_thin(struct fake_memory *m);
/* That the runtime has a method at an entry point in the image, in the bucket of its first look or
 * the next one. */
void fake_memory_entry(struct fake_memory *m, uint32_t entry, uint32_t method, unsigned look);
/* Writes a value of len bytes, little-endian. */
void fake_memory_put(struct fake_memory *m, uint32_t offset, uint64_t value, size_t len);
/* A perfmap_memory_read; source is a struct fake_memory. */
ssize_t fake_memory_read(void *source, void *buf, size_t len, uint64_t address);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_DEBUG_FILE_H
#define HOTRUN_PARSE_DEBUG_FILE_H
/*
 * The two ways to separate symbols that need more than ELF: .gnu_debugdata, an xz stream inside the
 * stripped file that holds a small ELF file with its local functions ("MiniDebugInfo": Fedora,
 * RHEL), and .gnu_debuglink, which vouches for a debug file by the CRC-32 of all its bytes (gdb
 * manual, "Separate Debug Files"). The content is hostile: what it unpacks to, and the memory for
 * it, are bounded. Any thread; works long on large input, so in a worker (parse.h) only.
 */
#include <stdint.h>

/* In the file, and unpacked: a million functions with names of 40 bytes. */
#define DEBUG_PACKED_BYTES_MAX	 (16u << 20)
#define DEBUG_UNPACKED_BYTES_MAX (64u << 20)
/* What a decoder of `xz -9` needs; find-debuginfo packs with -6, which needs 9 MiB. */
#define DEBUG_MEMORY_BYTES_MAX (72u << 20)
/* Larger debug files are known by their build id or not at all. */
#define DEBUG_CRC_BYTES_MAX (1ull << 30)

/*
 * Unpacks the xz stream of these bytes of fd into to_fd, an empty file in memory. Returns 0;
 * -EBADMSG: no xz stream, damaged or cut; -E2BIG: beyond the bounds above; -ENOMEM; -errno of a
 * read.
 */
int debug_unpack(int fd, uint64_t offset, uint64_t bytes, int to_fd);

/* CRC-32 (of zlib and Ethernet) of a whole file. 0, -E2BIG or -errno of a read. */
int debug_crc(int fd, uint32_t *ret_crc);
#endif

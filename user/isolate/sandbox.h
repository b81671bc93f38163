/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_SANDBOX_H
#define HOTRUN_ISOLATE_SANDBOX_H
/*
 * Takes from the calling process all that work on hostile bytes does not need: capabilities, new
 * privileges, memory, output, and every system call but reading, writing and messages on
 * descriptors that it has or is handed. There is no way back. Single-threaded processes only.
 *
 * It stays uid 0: as another user it could be signalled, or held, by processes of that user.
 */
#include <stdint.h>

/* What could not be had; the rest is in force. */
#define SANDBOX_WITHOUT_CAPABILITIES 0x1u /* some capability was kept */
#define SANDBOX_WITHOUT_SECCOMP	     0x2u /* system calls are not filtered */
#define SANDBOX_WITHOUT_LIMITS	     0x4u /* memory or file size is not bounded */

/* memory_bytes: address space beyond what the process has now, and the longest file that it may
 * write. Returns SANDBOX_WITHOUT_* bits. */
uint32_t sandbox_enter(uint64_t memory_bytes);
#endif

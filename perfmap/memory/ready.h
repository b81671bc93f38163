/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_READY_H
#define PERFMAP_MEMORY_READY_H
/*
 * Which precompiled method lies at an address of an image that a runtime has loaded, wherever that
 * came from: a file, or memory into which it was unpacked. By what the runtime itself keeps: each
 * method that ever ran is in a hash by its entry point. Exception handlers have no entry; the
 * image's own tables say whose they are. Hostile. Not for use outside perfmap/. One thread.
 *
 * Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (ReadyToRunJitManager,
 * HashMapLookup), docs/design/coreclr/botr/readytorun-format.md (ExceptionInfo).
 */
#include "perfmap/memory/code.h"

/* section: the runtime's, of an image, which holds the address. 0: *code is a method, what it rests
 * on is noted; -ENOENT: none that ran lies there, or it is not told; -EFAULT. */
int perfmap_ready_find(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
		       uint64_t section, uint64_t address, struct perfmap_code *code);
#endif

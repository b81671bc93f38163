/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_LOCKS_H
#define PERFMAP_MEMORY_LOCKS_H
/*
 * Who holds the locks that threads wait for: System.Threading.Lock of .NET 9 and later, of which
 * .NET 11 makes its monitors, too. Such a lock is an object of the managed heap; who waits for it
 * waits for an event that the lock refers to, and has both on its stack. Monitors of .NET 8 to 10
 * are structures of the runtime. Hostile. Not for use outside perfmap/. One thread.
 *
 * Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading/Lock.cs, whose
 * fields lie alike in 9.0.20, 10.0.12 and 11.0.0; docs/design/datacontracts/Thread.md of threads;
 * src/coreclr/vm/syncblk.h of monitors (AwareLock).
 */
#include "perfmap/memory/memory.h"
#include "perfmap/memory/runtime.h"

/* perfmap_memory_holders(). */
int perfmap_locks_find(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
		       const struct perfmap_lock_wait *waits, size_t cnt,
		       struct perfmap_lock_holder *ret_holders);
/* perfmap_memory_locks_are_monitors(). */
bool perfmap_locks_are_monitors(const struct perfmap_runtime *runtime);
#endif

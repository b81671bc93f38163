/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_BODY_H
#define PERFMAP_MEMORY_BODY_H
/*
 * What the perf map would say of a compiled body, from the runtime's description of its method in
 * memory. Hostile: types, their depth and the work are bounded. Not for use outside perfmap/. One
 * thread.
 *
 * Source: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md, CodeVersions.md; the text
 * of perf maps.
 */
#include "perfmap/memory/code.h"
#include "perfmap/memory/modules.h"

/* Puts "void [app] Ns.Type::Method(int32)[OptimizedTier1]". ret_fleeting: its memory may be used
 * again for another method. 0; -ENODATA: it has no name that could be had; -EFAULT; -E2BIG. */
int perfmap_put_body(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
		     struct perfmap_modules_read *modules, const struct perfmap_code *code,
		     struct perfmap_out *out, bool *ret_fleeting);
#endif

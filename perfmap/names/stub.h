/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_NAMES_STUB_H
#define PERFMAP_NAMES_STUB_H
/*
 * What the runtime's stubs are for, in words of which there are few: small pieces of code that the
 * runtime makes beside methods. Not for use outside perfmap/. Pure, no threads.
 *
 * Names as .NET 8 to 10 write them: dotnet/runtime src/coreclr/vm, PerfMap::LogStubs() and its
 * callers (stub<n> KIND<OWNER>), codeman.cpp (kinds of stub blocks), ilstubcache.cpp (IL_STUB_*).
 */
#include "perfmap/names/span.h"

/* One of "[write barrier]", "[interface dispatch]", "[generic look-up]", "[allocation helper]",
 * "[async resumption]",
 * "[delegate call]", "[P/Invoke marshalling]", "[call stub]", "[runtime helper]" and, where the
 * name tells nothing, "[runtime stub]". Static strings. */
const char *perfmap_stub_group(struct perfmap_span name);
#endif

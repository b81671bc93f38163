/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_DOTNET_VERSION_H
#define HOTRUN_PARSE_DOTNET_VERSION_H
/*
 * The version of a .NET runtime, from the path or the content of the file that it is mapped from.
 * Files are hostile: read by offset with bounds, never mapped. No state.
 *
 * Sources (dotnet/runtime, src/coreclr/debug/runtimeinfo): a single-file executable exports
 * DotNetRuntimeInfo, whose version 2 (.NET 8 and later) ends with the four numbers of the runtime;
 * libcoreclr.so carries "@(#)Version 8.0.3126.42015 @Commit: ...". The third number is the patch
 * times 100, plus the year: 3126 is patch 31 of 2026, and 23 the first release of 8.0 in 2023.
 * Checked on 8.0.31, 9.0.20, 10.0.12.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dotnet_process.h"

struct dotnet_executable {
	bool is_32bit;
	bool has_runtime; /* single-file: exports DotNetRuntimeInfo */
	bool native_aot;  /* has the sections of NativeAOT's code */
	/* A library that a runtime can load as a profiler: exports DllGetClassObject
	 * (docs/design/coreclr/profiling/Profiler Loading.md). */
	bool class_object;
	char version[DOTNET_VERSION_BYTES]; /* of has_runtime; "" unknown */
};

/* Looks at an ELF program; what is no ELF, or not of this host's byte order, gives all false. */
void dotnet_version_executable(int fd, struct dotnet_executable *ret_executable);

/* Searches libcoreclr.so for its text. Returns false, with nothing written, where it has none. */
bool dotnet_version_library(int fd, char ret_version[DOTNET_VERSION_BYTES]);

/* ".../shared/Microsoft.NETCore.App/8.0.1/libcoreclr.so" tells "8.0.1". False for other paths. */
bool dotnet_version_path(const char *path, char ret_version[DOTNET_VERSION_BYTES]);
#endif

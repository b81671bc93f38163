/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_ENTRY_H
#define HOTRUN_PROCESS_ENTRY_H
/*
 * The name under which people know a .NET process: `dotnet Shop.Api.dll` is "Shop.Api". Pure.
 */
#include <stddef.h>

#define ENTRY_BYTES 256 /* NAME_MAX and a NUL */

/*
 * Derives the entry assembly from the path of the executable and the command line (arguments
 * ended by NUL, as /proc/PID/cmdline has them; nothing of it is kept but this name). Writes a
 * terminated string: the assembly run by the `dotnet` host without its extension, "dotnet build"
 * for a command of the SDK, or "" where the executable is not the `dotnet` host. Host options as
 * `dotnet --help` lists them (.NET 10).
 */
void entry_name(const char *exe, const char *cmdline, size_t cmdline_len,
		char ret_name[ENTRY_BYTES]);

/* The last component of a path; for an apphost ("/app/Shop.Api") that is its entry assembly. */
const char *entry_basename(const char *path);
#endif

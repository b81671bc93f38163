/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_ENTRY_H
#define HOTRUN_PROCESS_ENTRY_H
/*
 * The name under which people know a process whose executable runs another program: `dotnet
 * Shop.Api.dll` is "Shop.Api", `ld-linux-x86-64.so.2 /opt/node/bin/node` is "node". Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#define ENTRY_BYTES 256 /* NAME_MAX and a NUL */

/* Whether the executable is such a one: the `dotnet` host, or the dynamic loader. */
bool entry_is_host(const char *exe);

/*
 * Derives the entry assembly from the path of the executable and the command line (arguments
 * ended by NUL, as /proc/PID/cmdline has them; nothing of it is kept but this name). Writes a
 * terminated string: the assembly run by the `dotnet` host without its extension, "dotnet build"
 * for a command of the SDK, the program that the loader runs, or "" where the executable is
 * neither. Options as `dotnet --help` (.NET 10) and ld.so(8) list them.
 */
void entry_name(const char *exe, const char *cmdline, size_t cmdline_len,
		char ret_name[ENTRY_BYTES]);

/* The last component of a path; for an apphost ("/app/Shop.Api") that is its entry assembly. */
const char *entry_basename(const char *path);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FAKE_DOTNET_H
#define HOTRUN_TESTS_FAKE_DOTNET_H
/*
 * One .NET process of a /proc in a temporary folder, with the test's own pid, since it is the test
 * that plays its runtime, and who asks it. One at a time.
 */
#include "names_support.h"
#include "process/dotnet_ask.h"

#define FAKE_DOTNET_START  100ull /* ticks */
#define FAKE_DOTNET_MAP	   "perf-7.map"
#define FAKE_DOTNET_SOCKET "dotnet-diagnostic-7-100-socket"
/* Of a map, and of /proc/PID/maps. */
#define FAKE_DOTNET_MAP_TEXT \
	"0x7f0000001000 40 void [a] A::B()[QuickJitted]\n0x7f0000002000 80 stub X<Y>\n"
#define FAKE_DOTNET_MAPS                                                        \
	"7f0000000000-7f0000001000 r-xp 00000000 08:01 5 "                      \
	"/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.1/libcoreclr.so\n" \
	"7f0000100000-7f0000110000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n"

void fake_dotnet_begin(const char *maps);
void fake_dotnet_end(void);
uint32_t fake_dotnet_tgid(void);
struct file_requests *fake_dotnet_requests(void);
struct fake_proc *fake_dotnet_proc(void);

/* Of a file of the process, "root/tmp/x"; valid until the next call. */
const char *fake_dotnet_path(const char *name);
void fake_dotnet_text(const char *name, const char *text);
/* The runtime has the file at target open from now on. */
void fake_dotnet_holds(const char *target);
/* How it looks from outside; the result needs no clean-up. */
struct dotnet_process fake_dotnet_look(void);

/* What lies at the path of the map, or that its folder is missing. */
void fake_dotnet_put_link(void);
void fake_dotnet_put_fifo(void);
void fake_dotnet_put_folder(void);
void fake_dotnet_put_hard_link(void);
void fake_dotnet_take_folder(void);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_DOTNET_H
#define HOTRUN_PROCESS_DOTNET_H
/*
 * The .NET processes of the host as they look from outside: which runtime, whether its JIT code can
 * be named, whether it can be asked to write a perf map. For `perfmap status` and `doctor`; nothing
 * is changed and the targets take no part (a socket is looked at, not connected to). Facts of a
 * process come through the file requests: bounded, read by workers where they are its own bytes,
 * and one that hangs has its reason. One thread.
 *
 * How a process is found (dotnet/runtime): it maps libcoreclr.so; its executable exports
 * DotNetRuntimeInfo (single-file) or has the section __managedcode (NativeAOT); it maps
 * memfd:doublemapper (W^X); or a diagnostics socket with its pid and start time lies in its
 * temporary directory. Whether a map is written now is told by the descriptors of the process: the
 * runtime holds the file open as long as it is on (seen on 8, 9, 10).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dotnet_process.h"
#include "opener/file_requests.h"
#include "perfmap/maps/locate.h"

/* 20 KiB each; hosts with a thousand are rare. */
#define DOTNET_PROCESSES_MAX 8192u
/* Of maps that are read to count their lines, for a whole list: some seconds of work where somebody
 * plants hundreds of large ones. Those behind it have map_cut. */
#define DOTNET_COUNTED_BYTES_MAX (512ull << 20)

/* A process that was found, and what asking it again takes. */
struct dotnet_target {
	struct dotnet_process process;
	uint64_t party;			/* who pays for that */
	struct perfmap_environment env; /* what its environment says of its map */
};

struct dotnet_list {
	struct dotnet_target *rows; /* by pid */
	size_t cnt, cap;
	size_t unreadable; /* processes that could not be looked at for lack of rights */
	size_t hung;	   /* processes that did not answer in time */
	bool cut;	   /* more than DOTNET_PROCESSES_MAX */
};

/*
 * Looks at all processes below requests->proc_path, or with a pid at that one alone. The file
 * requests must not serve a model as well (pids stand for its processes here). Returns 0; of that
 * one pid also -ESRCH (no such process), -ENOENT (not .NET), -EACCES (no right to look),
 * -ETIMEDOUT; of all -EINTR (requests.stop); or another errno. ret_list is owned.
 */
int dotnet_read(struct file_requests *requests, uint32_t tgid, struct dotnet_list *ret_list);
void dotnet_clear(struct dotnet_list *list);
#endif

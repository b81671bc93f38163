/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/sources.h"

#include "names/symbol_dirs.h"

/* Maps of two processes that had one pid, or saw themselves under it, cannot be told apart by
 * it. */
static struct symbol_pids pids_of(const struct model *m, uint32_t process)
{
	struct symbol_pids pids = {m->processes[process].tgid, m->processes[process].ns_pid};

	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		const struct model_process *other = &m->processes[i];

		if (i == process || !(other->flags & PROCESS_DOTNET))
			continue;
		if (other->ns_pid == pids.ns_pid)
			pids.ns_pid = 0;
		if (other->tgid == pids.tgid)
			pids.tgid = 0;
	}
	return pids;
}

/* Whether the process gave no file, or no identity where that alone is asked for. */
static bool has_failed(const struct file_request *request, const struct file_reply *reply, int fd)
{
	if (request->kind == FILE_REQUEST_MAP)
		return reply->error != 0;
	return reply->reason ||
	       (fd < 0 && !(request->kind == FILE_REQUEST_MAPPED && request->mapped.identity_only));
}

enum model_reason sources_open(const struct sources *s, const struct model *m, uint32_t process,
			       struct file_request *request, struct file_reply *ret_reply,
			       int *ret_fd)
{
	bool is_map = request->kind == FILE_REQUEST_MAP;
	int root_fd = s->kept && !is_map ? kept_directories_root(s->kept, process) : -1;
	enum model_reason reason =
		file_requests_open(s->requests, m, process, request, root_fd, ret_reply, ret_fd);
	struct symbol_pids pids;

	/* What was put off is asked again. */
	if (!s->symbols || reason == REASON_LIMIT ||
	    (!reason && !has_failed(request, ret_reply, *ret_fd)))
		return reason;
	pids = pids_of(m, process);
	return symbol_dirs_serve(s->symbols, request, &pids, ret_reply, ret_fd) ? REASON_NAMED
										: reason;
}

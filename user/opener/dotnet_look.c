/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/dotnet_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/dotnet_door.h"
#include "opener/dotnet_map.h"
#include "opener/dotnet_socket.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"

static int look_at(const struct file_request *request, int process_fd, struct dotnet_look *look)
{
	static struct perfmap_target target; /* large; one thread here */
	_cleanup_close_ int root_fd = -1;
	struct dotnet_process *p = &look->process;
	struct dotnet_door door;
	int err = target_process_read(process_fd, &request->dotnet.env, &target);
	struct proc_stat stat;

	if (!err)
		err = proc_stat_read(process_fd, &stat);
	if (err)
		return err;
	p->ns_pid = target.ns_pid;
	p->euid = target.euid;
	p->start_ticks = stat.start_ticks;
	root_fd = guard_root(process_fd);
	look->denied = root_fd == -EACCES || root_fd == -EPERM;
	if (look->denied) {
		p->socket = DOTNET_SOCKET_DENIED;
		p->map = DOTNET_MAP_DENIED;
		p->map_refusal = -EACCES;
		look->is_dotnet = request->dotnet.is_dotnet;
		return 0;
	}
	if (root_fd < 0)
		return root_fd == -ENOENT ? -ESRCH : root_fd;
	door = (struct dotnet_door){
		.process_fd = process_fd,
		.root_fd = root_fd,
		.target = &target,
		.start_ticks = stat.start_ticks,
		.started_wall_ns = target_process_wall_ns(&request->target),
	};
	dotnet_socket_look(&door, request->dotnet.is_dotnet, p);
	look->is_dotnet = request->dotnet.is_dotnet || p->socket == DOTNET_SOCKET_THERE;
	if (look->is_dotnet)
		dotnet_map_look(&door, p);
	return 0;
}

int dotnet_look_serve(const struct file_request *request, int *ret_fd)
{
	static struct dotnet_look look; /* large; one thread here */
	_cleanup_close_ int process_fd = target_process_open(&request->target), fd = -1;
	int err;

	if (process_fd < 0)
		return process_fd;
	memset(&look, 0, sizeof(look));
	err = look_at(request, process_fd, &look);
	if (err)
		return err;
	fd = memfd_create("hotrun-dotnet", MFD_CLOEXEC);
	if (fd < 0 || write(fd, &look, sizeof(look)) != (ssize_t)sizeof(look))
		return -ENOMEM;
	*ret_fd = take_fd(&fd);
	return 0;
}

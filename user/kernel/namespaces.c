/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/namespaces.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

struct round {
	const struct namespaces *list;
	int (*visit)(void *ctx);
	void *ctx;
	int result;
};

static bool holds(const uint64_t *inodes, uint32_t cnt, uint64_t inode)
{
	for (uint32_t i = cnt; i-- > 0;)
		if (inodes[i] == inode)
			return true;
	return false;
}

static uint64_t inode_at(const char *process, const char *file)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/%s", process, file);
	return stat(path, &st) ? 0 : st.st_ino;
}

static void add_unseen(struct namespaces *list, const char *process)
{
	uint64_t table = inode_at(process, "net/tcp");

	/* 0, of processes that are hidden altogether (hidepid), stands for at least one. */
	if (list->unseen < NAMESPACES_MAX && !holds(list->unseen_tables, list->unseen, table))
		list->unseen_tables[list->unseen++] = table;
}

/* Of a process that ends meanwhile nothing is known, and nothing is missing. */
static void add(struct namespaces *list, const char *process)
{
	char path[300];
	struct stat st;
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", process);
	if (stat(path, &st)) {
		if (errno == EACCES || errno == EPERM)
			add_unseen(list, process);
		return;
	}
	if (holds(list->inodes, list->cnt, st.st_ino))
		return;
	errno = EMFILE;
	if (list->cnt < NAMESPACES_MAX)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT)
		add_unseen(list, process);
	if (fd < 0)
		return;
	list->fds[list->cnt] = fd;
	list->tables[list->cnt] = inode_at(process, "net/tcp");
	list->inodes[list->cnt++] = st.st_ino;
}

/* A process that we may look into may come after one of its namespace that we may not. */
static void forget_seen(struct namespaces *list)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < list->unseen; i++)
		if (!list->unseen_tables[i] ||
		    !holds(list->tables, list->cnt, list->unseen_tables[i]))
			list->unseen_tables[kept++] = list->unseen_tables[i];
	list->unseen = kept;
}

int namespaces_open(struct namespaces *ret_list)
{
	struct dirent *entry;
	DIR *proc;

	ret_list->cnt = ret_list->unseen = 0;
	proc = opendir("/proc");
	if (!proc)
		return -errno;
	add(ret_list, "self");
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			add(ret_list, entry->d_name);
	closedir(proc);
	forget_seen(ret_list);
	return 0;
}

static void *go_round(void *arg)
{
	struct round *r = arg;

	/* The first one is ours, where we are already. */
	for (uint32_t i = 0; i < r->list->cnt; i++) {
		int err;

		if (i && setns(r->list->fds[i], CLONE_NEWNET))
			continue;
		err = r->visit(r->ctx);
		if (err) {
			r->result = err;
			break;
		}
		r->result++;
	}
	return NULL;
}

int namespaces_visit(const struct namespaces *list, int (*visit)(void *ctx), void *ctx)
{
	struct round r = {list, visit, ctx, 0};
	pthread_t thread;
	int err = pthread_create(&thread, NULL, go_round, &r);

	if (err)
		return -err;
	pthread_join(thread, NULL);
	return r.result;
}

void namespaces_close(struct namespaces *list)
{
	while (list->cnt)
		close(list->fds[--list->cnt]);
}

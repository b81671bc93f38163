/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/listeners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/log.h"
#include "collect/collector.h"
#include "opener/target_process.h"

/* Of a pass, at about 1 us a link; and of one process, which chooses how many files it opens. */
#define LINKS_MAX	 65536u
#define LINKS_OF_ONE_MAX 4096u
#define NAMESPACES_MAX	 1024u
#define SOCKETS_MAX	 65536u
/* A pass takes at most one part in so many of the time until the next one. */
#define PASS_EVERY_NS	 10000000000ull
#define PASS_PART	 200u
#define TCP_STATE_LISTEN 0x0au /* TCP_LISTEN, include/net/tcp_states.h */

struct network {
	uint64_t inode;
	bool known; /* all of its listening sockets */
};

struct pass {
	struct model *m;
	const char *proc_path;
	struct network *networks;
	size_t networks_cnt, networks_cap;
	uint64_t *sockets; /* that listen, by inode number; in order */
	size_t sockets_cnt, sockets_cap;
	bool *network_known; /* by process */
	uint32_t links;
};

static int by_inode(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int add_socket(struct pass *p, uint64_t inode)
{
	if (p->sockets_cnt == SOCKETS_MAX || GROW(p->sockets, p->sockets_cnt, p->sockets_cap))
		return -ENOSPC;
	p->sockets[p->sockets_cnt++] = inode;
	return 0;
}

/* The kernel writes the listening sockets first (tcp_get_idx(), net/ipv4/tcp_ipv4.c): of 100,000
 * connections behind them nothing is read. 0, or -errno. */
static int read_table(struct pass *p, int process_fd, const char *name)
{
	_cleanup_close_ int fd = openat(process_fd, name, O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned int state;
	uint64_t inode;
	char line[512];
	int err = 0;

	if (!file)
		return -errno;
	fd = -1;			      /* the file's */
	if (!fgets(line, sizeof(line), file)) /* titles */
		return -ENODATA;
	while (!err && fgets(line, sizeof(line), file)) {
		if (sscanf(line,
			   "%*[^:]: %*[^:]:%*x %*[^:]:%*x %x %*[^:]:%*x %*[^:]:%*x %*x %*u %*u "
			   "%" SCNu64,
			   &state, &inode) != 2 ||
		    state != TCP_STATE_LISTEN)
			break;
		err = add_socket(p, inode);
	}
	return err;
}

/* Without IPv6 there is no second table. */
static bool read_network(struct pass *p, int process_fd)
{
	int err = read_table(p, process_fd, "net/tcp6");

	return (!err || err == -ENOENT) && !read_table(p, process_fd, "net/tcp");
}

static bool know_network(struct pass *p, int process_fd)
{
	struct stat st;

	if (fstatat(process_fd, "ns/net", &st, 0))
		return false;
	for (size_t i = 0; i < p->networks_cnt; i++)
		if (p->networks[i].inode == st.st_ino)
			return p->networks[i].known;
	if (p->networks_cnt == NAMESPACES_MAX ||
	    GROW(p->networks, p->networks_cnt, p->networks_cap))
		return false;
	p->networks[p->networks_cnt++] = (struct network){st.st_ino, read_network(p, process_fd)};
	return p->networks[p->networks_cnt - 1].known;
}

/* 1: it has a socket that listens; 0: it has none; else -errno, and nothing is known of it. */
static int read_links(struct pass *p, int process_fd, bool network_known)
{
	int fd = openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *files = fd < 0 ? NULL : fdopendir(fd);
	uint32_t links = 0;
	struct dirent *entry;

	if (!files) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(files))) {
		char link[64];
		uint64_t inode;
		ssize_t len;

		if (entry->d_name[0] == '.')
			continue;
		if (links++ >= LINKS_OF_ONE_MAX || p->links++ >= LINKS_MAX) {
			err = -ENOSPC;
			break;
		}
		/* Of names of files only that they are not this. */
		len = readlinkat(fd, entry->d_name, link, sizeof(link) - 1);
		link[len < 0 ? 0 : len] = '\0';
		if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
			continue;
		if (p->sockets_cnt &&
		    bsearch(&inode, p->sockets, p->sockets_cnt, sizeof(*p->sockets), by_inode))
			err = 1;
		else if (!network_known)
			err = -EACCES;
	}
	closedir(files);
	return err;
}

static int open_process(const struct pass *p, uint32_t row)
{
	const struct model_process *process = &p->m->processes[row];
	struct target_process target = {.tgid = process->tgid,
					.start_ns = process->start_ns,
					.start_exact = process->start_exact};

	/* Who listened once served, whatever it does now. */
	if (process->exit_ns || process->flags & (PROCESS_KERNEL | PROCESS_GONE | PROCESS_LISTENS))
		return -ESRCH;
	snprintf(target.proc_path, sizeof(target.proc_path), "%s", p->proc_path);
	return target_process_open(&target);
}

/* Of a process that ends meanwhile nothing more will be known. */
static bool read_process(struct pass *p, uint32_t row)
{
	_cleanup_close_ int fd = open_process(p, row);
	struct model_process *process = &p->m->processes[row];
	uint32_t was = process->flags;
	int listens = fd < 0 ? fd : read_links(p, fd, p->network_known[row]);

	if (listens >= 0)
		process->flags |= PROCESS_SOCKETS | (listens ? PROCESS_LISTENS : 0);
	process->dirty |= process->flags != was;
	return listens >= 0 || listens == -ESRCH || listens == -ENOENT;
}

uint32_t listeners_read(struct model *m, const char *proc_path)
{
	struct pass p = {.m = m, .proc_path = proc_path};
	uint32_t unknown = 0;

	p.network_known = calloc(m->processes_cnt + 1, sizeof(*p.network_known));
	if (!p.network_known)
		return (uint32_t)m->processes_cnt;
	/* The sockets first: one may have come to a process from another network. */
	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		_cleanup_close_ int fd = open_process(&p, i);

		if (fd >= 0)
			p.network_known[i] = know_network(&p, fd);
	}
	if (p.sockets_cnt)
		qsort(p.sockets, p.sockets_cnt, sizeof(*p.sockets), by_inode);
	for (uint32_t i = 0; i < m->processes_cnt; i++)
		unknown += !read_process(&p, i);
	free(p.network_known);
	free(p.networks);
	free(p.sockets);
	return unknown;
}

void listeners_find(struct listeners *l)
{
	struct model *m = l->rooms->model;
	uint64_t begin_ns = clock_now_ns(), end_ns;
	uint32_t unknown;

	if (!(m->host.off & OFF_REQUESTS) || (!l->rooms->stopped && begin_ns < l->due_ns))
		return;
	unknown = listeners_read(m, "/proc");
	for (uint32_t i = 0; l->rooms->options->facts && i < m->processes_cnt; i++)
		if (m->processes[i].flags & PROCESS_LISTENS)
			process_facts_want(l->facts, i);
	if (unknown && !l->told)
		log_warn("%u processes have verdict unknown: their open files cannot be read or "
			 "are too many, so hotrun cannot check whether they listen on TCP ports",
			 unknown);
	l->told |= unknown != 0;
	end_ns = clock_now_ns();
	l->due_ns = end_ns + PASS_EVERY_NS;
	if ((end_ns - begin_ns) * PASS_PART > PASS_EVERY_NS)
		l->due_ns = end_ns + (end_ns - begin_ns) * PASS_PART;
}

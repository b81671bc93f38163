/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that opens targets' files: what it holds, and what happens when it hangs. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/message.h"
#include "names_support.h"
#include "opener/opener.h"
#include "opener/serve.h"

#define DEADLINE_NS 50000000u

static struct file_request *map_request(const struct fake_proc *proc, uint64_t key)
{
	struct file_request *request = calloc(1, sizeof(*request));

	request->kind = FILE_REQUEST_MAP;
	request->key = key;
	request->target.tgid = 5;
	strcpy(request->target.proc_path, proc->path);
	return request;
}

/* The one started last. */
static pid_t newest_child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	cr_assert(f, "%s", path);
	while (fscanf(f, "%d", &child) == 1)
		;
	fclose(f);
	cr_assert(child);
	return child;
}

static void host_make(struct fake_proc *proc)
{
	struct fake_process p = {.tgid = 5, .start_ticks = 0, .comm = "x", .exe = "/x", .maps = ""};

	fake_proc_make(proc);
	fake_process(proc, &p);
	fake_text(proc, "5/root/tmp/perf-7.map", "7f0000100000 40 f\n");
}

/* A helper stuck in a target's file keeps what it holds beyond SIGKILL of the observer. */
Test(opener, helpers_hold_no_descriptor_of_their_parent)
{
	int held = open("/dev/zero", O_RDONLY), fd, sockets = 0;
	struct nursery *n = nursery_new(UINT64_MAX);
	struct opener *f = opener_new(n, 10000000000u);
	struct file_request *request;
	struct file_reply reply;
	struct fake_proc proc;
	struct dirent *entry;
	char path[64], link[64];
	DIR *dir;

	host_make(&proc);
	request = map_request(&proc, 1);
	cr_assert_eq(opener_ask(f, request, -1, -1, &reply, &fd), 0);
	cr_assert_eq(reply.error, 0);
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "/proc/%d/fd", newest_child_of(newest_child_of(getpid())));
	dir = opendir(path);
	cr_assert_not_null(dir);
	while ((entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		if (n < 0)
			continue;
		link[n] = '\0';
		cr_expect_str_neq(link, "/dev/zero");
		sockets += !strncmp(link, "socket:", 7);
	}
	cr_expect_eq(sockets, 1);
	closedir(dir);
	close(held);
	opener_free(f);
	nursery_free(n);
	free(request);
	fake_proc_remove(&proc);
}

/* E.g. killed for want of memory: that says nothing of who is asked next. */
Test(opener, a_server_that_died_idle_is_replaced_without_a_word)
{
	struct nursery *nurse = nursery_new(UINT64_MAX);
	struct opener *f = opener_new(nurse, 10000000000u);
	struct file_request *request;
	struct file_reply reply;
	struct fake_proc proc;
	pid_t server;
	int fd;

	host_make(&proc);
	request = map_request(&proc, 1);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(opener_ask(f, request, -1, -1, &reply, &fd), 0, "%d", i);
		cr_expect_eq(reply.error, 0);
		if (fd >= 0)
			close(fd);
		server = newest_child_of(newest_child_of(getpid()));
		cr_assert_eq(kill(server, SIGKILL), 0);
		while (!kill(server, 0))
			usleep(1000);
	}
	cr_expect_eq(opener_timeouts(f), 0);
	opener_free(f);
	nursery_free(nurse);
	free(request);
	fake_proc_remove(&proc);
}

Test(opener, without_its_nursery_it_says_so)
{
	struct nursery *nurse = nursery_new(UINT64_MAX);
	struct opener *f = opener_new(nurse, 10000000000u);
	struct file_request *request;
	struct file_reply reply;
	struct fake_proc proc;
	int fd;

	host_make(&proc);
	request = map_request(&proc, 1);
	cr_expect_not(nursery_is_gone(nurse));
	cr_assert_eq(kill(newest_child_of(getpid()), SIGKILL), 0);
	for (int i = 0; i < 1000 && !nursery_is_gone(nurse); i++)
		usleep(1000);
	cr_expect(nursery_is_gone(nurse));
	cr_expect_eq(opener_ask(f, request, -1, -1, &reply, &fd), -EAGAIN);
	cr_expect_eq(fd, -1);
	opener_free(f);
	nursery_free(nurse);
	free(request);
	fake_proc_remove(&proc);
}

Test(opener, servers_that_hang_are_replaced_and_their_key_is_refused)
{
	struct nursery *nurse = nursery_new(UINT64_MAX);
	struct opener *f = opener_new(nurse, DEADLINE_NS);
	struct file_request *bad, *good;
	pid_t nursery, stopped[OPENER_MAX_HUNG_KEY];
	struct file_reply reply;
	struct fake_proc proc;
	int fd, n = 0, err;

	host_make(&proc);
	bad = map_request(&proc, 1);
	good = map_request(&proc, 2);
	nursery = newest_child_of(getpid());
	while (n < OPENER_MAX_HUNG_KEY) {
		cr_assert_eq(opener_ask(f, good, -1, -1, &reply, &fd), 0);
		if (fd >= 0)
			close(fd);
		stopped[n] = newest_child_of(nursery);
		kill(stopped[n++], SIGSTOP);
		cr_assert_eq(opener_ask(f, bad, -1, -1, &reply, &fd), -ETIMEDOUT);
	}
	cr_expect_eq(opener_timeouts(f), OPENER_MAX_HUNG_KEY);
	cr_expect_eq(opener_ask(f, bad, -1, -1, &reply, &fd), -EBUSY);
	cr_expect_eq(opener_ask(f, good, -1, -1, &reply, &fd), 0, "others are served");
	if (fd >= 0)
		close(fd);
	for (int i = 0; i < n; i++)
		kill(stopped[i], SIGCONT);
	while ((err = opener_ask(f, bad, -1, -1, &reply, &fd)) == -EBUSY)
		usleep(1000);
	cr_expect_eq(err, 0);
	if (fd >= 0)
		close(fd);
	opener_free(f);
	nursery_free(nurse);
	free(bad);
	free(good);
	fake_proc_remove(&proc);
}

Test(opener, its_end_waits_for_nobody)
{
	struct nursery *n = nursery_new(UINT64_MAX);
	struct opener *f = opener_new(n, DEADLINE_NS);
	struct file_request *request;
	struct file_reply reply;
	struct fake_proc proc;
	pid_t server;
	int fd;

	host_make(&proc);
	request = map_request(&proc, 1);
	cr_assert_eq(opener_ask(f, request, -1, -1, &reply, &fd), 0);
	if (fd >= 0)
		close(fd);
	server = newest_child_of(newest_child_of(getpid()));
	kill(server, SIGSTOP);
	cr_assert_eq(opener_ask(f, request, -1, -1, &reply, &fd), -ETIMEDOUT);
	opener_free(f);
	cr_expect_eq(kill(server, 0), 0, "is left behind");
	kill(server, SIGCONT);
	nursery_free(n);
	free(request);
	fake_proc_remove(&proc);
}

/* The build id of these requests is ab 01 02, the file /opt/app/libx.so, its link libx.so.dbg. */
Test(opener, debug_files_are_looked_for_in_their_places)
{
	static const struct {
		const char *name, *path; /* below the process's root; NULL = nothing is there */
		unsigned place;
		bool found;
	} rows[] = {
		{"by build id", "usr/lib/debug/.build-id/ab/0102.debug", 0, true},
		{"by build id, of another", "usr/lib/debug/.build-id/ab/0103.debug", 0, false},
		{"by build id on the host: not in this root",
		 "usr/lib/debug/.build-id/ab/0102.debug", 1, false},
		{"beside the file", "opt/app/libx.so.dbg", 2, true},
		{"in .debug beside it", "opt/app/.debug/libx.so.dbg", 3, true},
		{"in the mirror of its folder", "usr/lib/debug/opt/app/libx.so.dbg", 4, true},
		{"in the host's mirror: not in this root", "usr/lib/debug/opt/app/libx.so.dbg", 5,
		 false},
		{"nowhere", NULL, 2, false},
		{"another name", "opt/app/liby.so.dbg", 2, false},
	};
	struct file_request *request = calloc(1, sizeof(*request));
	struct fake_process p = {.tgid = 5, .start_ticks = 0, .comm = "x", .exe = "/x", .maps = ""};
	struct file_reply reply;

	request->kind = FILE_REQUEST_DEBUG;
	request->target.tgid = 5;
	strcpy(request->debug.path, "/opt/app/libx.so");
	memcpy(request->debug.build_id, "\xab\x01\x02", 3);
	request->debug.build_id_len = 3;
	strcpy(request->debug.debuglink, "libx.so.dbg");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_proc proc;
		char path[256];
		int fd, way[2];

		fake_proc_make(&proc);
		fake_process(&proc, &p);
		strcpy(request->target.proc_path, proc.path);
		if (rows[i].path) {
			snprintf(path, sizeof(path), "5/root/%s", rows[i].path);
			fake_text(&proc, path, "symbols");
		}
		request->debug.place = rows[i].place;
		cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, way), 0);
		serve_request(request, -1, way[0], &reply, &fd);
		cr_expect_eq(fd, -1, "%s: it is never the caller's", rows[i].name);
		cr_expect_eq(message_wait(way[1], 0), rows[i].found, "%s", rows[i].name);
		cr_expect_eq(!reply.reason, rows[i].found, "%s: %d", rows[i].name, reply.reason);
		close(way[0]);
		close(way[1]);
		fake_proc_remove(&proc);
	}
	request->debug.place = 2;
	request->debug.debuglink[0] = '\0';
	serve_request(request, -1, -1, &reply, &(int){-1});
	cr_expect_eq(reply.reason, REASON_FILE_GONE, "no link, no place");
	free(request);
}

Test(opener, directories_are_kept_of_living_processes_only)
{
	struct nursery *n = nursery_new(UINT64_MAX);
	struct opener *f = opener_new(n, 10000000000u);
	struct file_request *request;
	struct file_reply reply;
	struct stat held, root;
	struct fake_proc proc;
	int fd;

	host_make(&proc);
	request = map_request(&proc, 1);
	request->kind = FILE_REQUEST_DIRECTORY;
	cr_assert_eq(opener_ask(f, request, -1, -1, &reply, &fd), 0);
	cr_assert(!reply.error && fd >= 0);
	cr_expect_eq(reply.directory.ns_pid, 7);
	cr_assert_eq(fstat(fd, &held), 0);
	cr_assert_eq(stat(fake_path(&proc, "5/root"), &root), 0);
	cr_expect(held.st_dev == root.st_dev && held.st_ino == root.st_ino);
	cr_expect(reply.directory.dev == root.st_dev && reply.directory.ino == root.st_ino);
	close(fd);
	request->directory.place = 1;
	cr_assert_eq(opener_ask(f, request, -1, -1, &reply, &fd), 0);
	cr_expect_eq(reply.error, -ENOENT, "no setting names it");
	cr_expect_eq(fd, -1);
	request->directory.place = 0;
	request->target.exited = true;
	cr_assert_eq(opener_ask(f, request, -1, -1, &reply, &fd), 0);
	cr_expect_eq(reply.error, -ESRCH);
	cr_expect_eq(fd, -1);
	opener_free(f);
	nursery_free(n);
	free(request);
	fake_proc_remove(&proc);
}

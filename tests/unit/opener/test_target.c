/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is handed over to read the memory of a process, by the socket that a worker has: this
 * one's. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/message.h"
#include "names_support.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"
#include "opener/serve.h"
#include "parse/target_memory.h"

/* This process, as the model knows it. */
static struct target_process own_process(void)
{
	struct target_process target = {
		.proc_path = "/proc", .tgid = (uint32_t)getpid(), .start_exact = true};
	int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct proc_stat stat;

	cr_assert_eq(proc_stat_read(fd, &stat), 0);
	close(fd);
	target.start_ns = stat.start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return target;
}

/* Asks; the socket from which a worker would receive, and what the reply says. */
static int ask(struct file_request *request, int *ret_error)
{
	struct file_reply reply;
	int fd, way[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, way), 0);
	serve_request(request, -1, way[0], &reply, &fd);
	cr_expect_eq(fd, -1, "it is never the caller's");
	close(way[0]);
	*ret_error = reply.error;
	return way[1];
}

static struct file_request *target_request(void)
{
	struct file_request *request = calloc(1, sizeof(*request));

	request->kind = FILE_REQUEST_TARGET;
	request->target = own_process();
	return request;
}

Test(target, its_memory_and_files_come_in_order)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/hotrun-test-XXXXXX", text[] = "in memory", buf[sizeof(text)];
	int file = mkstemp(path), fd, error;
	struct file_request *request = target_request();
	struct target_memory memory = {0};
	struct target_mapping files[3];
	uint64_t at;
	char *map;

	cr_assert_geq(file, 0);
	unlink(path);
	cr_assert_eq(ftruncate(file, (off_t)page), 0);
	cr_assert_eq(pwrite(file, "in file", 8, 0), 8);
	map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, 0);
	cr_assert_neq(map, MAP_FAILED);
	at = (uint64_t)(uintptr_t)map;
	/* Nothing is mapped in so many pages; and what is asked for may say anything. */
	files[0] = (struct target_mapping){at, at + 16 * page};
	files[1] = (struct target_mapping){at, at + page};
	files[2] = (struct target_mapping){UINT64_MAX, 0};
	for (int i = 0; i < 3; i++)
		request->memory.files[i] = (struct target_file){files[i].start, files[i].end};
	request->memory.files_cnt = 3;
	fd = ask(request, &error);
	cr_assert_eq(error, 0);
	cr_assert(target_memory_receive(&memory, fd, files, 3));
	cr_expect_eq(memory.given_cnt, 3);
	cr_expect_eq(memory.given_fds[0], -1);
	cr_expect_geq(memory.given_fds[1], 0);
	cr_expect_eq(memory.given_fds[2], -1);
	cr_expect_eq(target_memory_read(&memory, buf, sizeof(buf), (uint64_t)(uintptr_t)text),
		     (ssize_t)sizeof(buf));
	cr_expect_str_eq(buf, "in memory");
	cr_expect_eq(target_memory_read(&memory, buf, 8, at), 8, "never touched: of the file");
	cr_expect_str_eq(buf, "in file");
	cr_expect_eq(memory.given_used, 2);
	cr_expect_eq(fcntl(memory.memory_fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	target_memory_close(&memory);
	close(fd);
	close(file);
	free(request);
}

Test(target, more_files_than_may_be_are_not_looked_for)
{
	struct file_request *request = target_request();
	int fd, error, got, messages = 0;
	char byte;

	request->memory.files_cnt = UINT32_MAX;
	fd = ask(request, &error);
	while (message_wait(fd, 0) && !message_receive_exact(fd, &byte, sizeof(byte), &got)) {
		if (got >= 0)
			close(got);
		messages++;
	}
	cr_expect_leq(messages, 3 + (int)TARGET_OPENED_MAX);
	close(fd);
	free(request);
}

Test(target, of_another_process_with_its_number_nothing_comes)
{
	struct file_request *request = target_request();
	int fd, error;

	request->target.start_ns += 5000000000ull;
	fd = ask(request, &error);
	cr_expect_eq(error, -ESRCH);
	cr_expect(!message_wait(fd, 0) ||
		  message_receive_exact(fd, &(char){0}, 1, &(int){-1}) != 0);
	close(fd);
	free(request);
}

static void *wait_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

/* The kernel shows maps, exe, root and mem of a thread only. */
Test(target, a_process_goes_on_without_its_main_thread)
{
	struct target_process target = {.proc_path = "/proc", .start_exact = true};
	char path[64], maps[64], exe[256], own[256];
	struct proc_stat stat;
	pthread_t thread;
	pid_t child = fork();
	siginfo_t info;
	ssize_t n;
	int fd;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, wait_on, NULL);
		pthread_exit(NULL);
	}
	snprintf(path, sizeof(path), "/proc/%d", child);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 2000 && !proc_stat_read(fd, &stat) && stat.state != 'Z'; i++)
		usleep(10000);
	close(fd);
	cr_assert_eq(stat.state, 'Z');
	target.tgid = (uint32_t)child;
	target.start_ns = stat.start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	fd = target_process_open_stat(&target, &stat);
	cr_assert_geq(fd, 0);
	cr_expect_eq(stat.state, 'Z', "that of the process, not of the thread");
	cr_expect_gt(guard_read(fd, "maps", maps, sizeof(maps)), 0);
	n = readlinkat(fd, "exe", exe, sizeof(exe) - 1);
	cr_assert_gt(n, 0);
	exe[n] = '\0';
	n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[n > 0 ? n : 0] = '\0';
	cr_expect_str_eq(exe, own);
	close(fd);
	kill(child, SIGKILL);
	/* With its last thread it is a zombie as a whole, until it is waited for: its status and
	 * cgroup are there. */
	cr_assert_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	fd = target_process_open(&target);
	cr_expect_geq(fd, 0);
	cr_expect_gt(guard_read(fd, "status", maps, sizeof(maps)), 0);
	close(fd);
	waitpid(child, NULL, 0);
	cr_expect_eq(target_process_open(&target), -ESRCH);
}

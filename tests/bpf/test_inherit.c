/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child that hangs and outlives a killed recorder keeps nothing of it in the kernel. */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drive.h"

#define IDS_MAX	  256
#define SESSIONS  3
#define DEADLINES 100 /* looks of 100 ms */

/* What a recorder holds in the kernel, and the children that it left. */
struct held {
	uint32_t maps[IDS_MAX], programs[IDS_MAX];
	size_t maps_cnt, programs_cnt;
	pid_t children[SESSIONS];
};

/* A helper that hangs: it has closed what it does not need, as helpers do. */
static pid_t start_hung(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	syscall(SYS_close_range, 3, ~0u, 0);
	alarm(120);
	for (;;)
		pause();
}

static size_t count_mappings(pid_t pid, const char *name)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[4096];
	size_t cnt = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file))
		cnt += strstr(line, name) != NULL;
	return cnt;
}

static void add_ids(const char *fdinfo, struct held *held)
{
	_cleanup_fclose_ FILE *file = fopen(fdinfo, "re");
	char line[256];
	uint32_t id;

	while (file && fgets(line, sizeof(line), file)) {
		if (held->maps_cnt < IDS_MAX && sscanf(line, "map_id: %u", &id) == 1)
			held->maps[held->maps_cnt++] = id;
		if (held->programs_cnt < IDS_MAX && sscanf(line, "prog_id: %u", &id) == 1)
			held->programs[held->programs_cnt++] = id;
	}
}

static void find_held(struct held *held)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	char path[300];

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		add_ids(path, held);
	}
	if (dir)
		closedir(dir);
}

static size_t count_left(const struct held *held)
{
	size_t left = 0;

	for (size_t i = 0; i < held->maps_cnt + held->programs_cnt; i++) {
		int fd = i < held->maps_cnt
				 ? bpf_map_get_fd_by_id(held->maps[i])
				 : bpf_prog_get_fd_by_id(held->programs[i - held->maps_cnt]);

		if (fd >= 0)
			close(fd);
		left += fd >= 0 || errno != ENOENT;
	}
	return left;
}

static struct session *open_session(const struct host *host)
{
	const struct session_options options = {.sample_hz = 99,
						.requests = true,
						.cpus_possible = host->cpus_possible,
						.max_stack = host->max_stack};
	struct session *s = NULL;
	char why[512] = "";

	if (session_new(&options, why, sizeof(why), &s) || session_start(s, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		_exit(1);
	}
	return s;
}

/* Opens a session again and again, a child hangs in each; then tells what it holds, and waits to be
 * killed. */
static void record(const struct host *host, int to)
{
	struct held held = {0};
	struct session *s = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < SESSIONS; i++) {
		session_free(s);
		s = open_session(host);
		find_held(&held);
		held.children[i] = start_hung();
	}
	if (write(to, &held, sizeof(held)) != sizeof(held))
		_exit(1);
	for (;;)
		pause();
}

Test(inherit, a_child_gets_no_mapping_of_what_is_held_in_the_kernel)
{
	const struct session_options options = {.sample_hz = 99, .requests = true};
	struct drive d;
	pid_t pid;

	drive_start(&d, &options);
	d.may_lose = true;
	/* Ring buffers, variables, clocks, costs, and the perf rings of each CPU. */
	cr_assert_gt(count_mappings(getpid(), "bpf-map"), 6);
	cr_assert_gt(count_mappings(getpid(), "[perf_event]"), 1);
	pid = start_hung();
	cr_assert_gt(pid, 0);
	cr_expect_eq(count_mappings(pid, "bpf-map"), 0);
	cr_expect_eq(count_mappings(pid, "[perf_event]"), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	drive_close(&d);
}

Test(inherit, children_that_hang_keep_nothing_of_a_killed_recorder)
{
	struct held held = {0};
	struct host host;
	char why[512];
	int pair[2], looks = 0;
	pid_t pid;

	host_describe(&host);
	if (host_check(&host, why, sizeof(why)))
		drive_skip(why);
	cr_assert_eq(pipe(pair), 0);
	pid = fork();
	if (!pid)
		record(&host, pair[1]);
	close(pair[1]);
	cr_assert_eq(read(pair[0], &held, sizeof(held)), (ssize_t)sizeof(held));
	cr_expect_gt(held.maps_cnt, 10 * SESSIONS);
	cr_expect_gt(held.programs_cnt, 5 * SESSIONS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (count_left(&held) && looks++ < DEADLINES)
		drive_sleep(100 * DRIVE_MS);
	cr_expect_eq(count_left(&held), 0, "%zu of %zu maps and %zu programs stay",
		     count_left(&held), held.maps_cnt, held.programs_cnt);
	for (int i = 0; i < SESSIONS; i++) {
		cr_expect_eq(kill(held.children[i], 0), 0, "the child has not outlived it");
		kill(held.children[i], SIGKILL);
	}
	close(pair[0]);
}

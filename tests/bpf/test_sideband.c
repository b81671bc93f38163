/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lifetimes and mappings as the kernel's side-band tells them. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "drive.h"

static const struct drive_record *record_of(const struct drive *d, enum drive_record_kind kind,
					    pid_t tgid, const char *part_of_text)
{
	for (size_t i = 0; i < d->records_cnt; i++)
		if (d->records[i].kind == kind && d->records[i].tgid == (uint32_t)tgid &&
		    strstr(d->records[i].text, part_of_text))
			return &d->records[i];
	return NULL;
}

static void expect_order(const struct drive *d)
{
	for (size_t i = 1; i < d->records_cnt; i++)
		cr_assert_geq(d->records[i].time_ns, d->records[i - 1].time_ns,
			      "record %zu of %zu goes back in time", i, d->records_cnt);
}

/* A build id is somewhere in its file. */
static bool file_holds(const char *path, const uint8_t *bytes, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *text;
	bool found;

	cr_assert(fd >= 0 && !fstat(fd, &st), "%s", path);
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert_neq(text, MAP_FAILED);
	found = memmem(text, (size_t)st.st_size, bytes, len);
	munmap(text, (size_t)st.st_size);
	close(fd);
	return found;
}

Test(sideband, tells_the_life_of_a_program_in_order)
{
	const struct drive_record *born, *image, *own, *libc, *end;
	char *args[] = {NULL};
	struct drive d;
	int status;
	pid_t pid;

	drive_open(&d, NULL);
	/* Forked on one CPU, run on another: its records lie in two rings. */
	pid = drive_exec("drive_noop", args, drive_cpu(1), true);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	drive_sleep(20 * DRIVE_MS);
	drive_drain_sideband(&d, UINT64_MAX);
	expect_order(&d);
	born = record_of(&d, DRIVE_FORK, pid, "");
	image = record_of(&d, DRIVE_EXEC, pid, "");
	own = record_of(&d, DRIVE_MAP, pid, "/workloads/drive_noop");
	libc = record_of(&d, DRIVE_MAP, pid, "libc.so");
	end = record_of(&d, DRIVE_EXIT, pid, "");
	cr_assert(born && image && own && libc && end);
	cr_expect(born < image && image < own && own < libc && libc < end);
	cr_expect_eq(born->tid, (uint32_t)pid);
	cr_expect_eq(born->parent, (uint32_t)getpid());
	cr_expect_str_eq(image->text, "drive_noop");
	cr_assert_eq(own->build_id_len, 20, "%u bytes of build id", own->build_id_len);
	cr_expect(file_holds(own->text, own->build_id, own->build_id_len));
	cr_assert_eq(libc->build_id_len, 20);
	cr_expect(file_holds(libc->text, libc->build_id, libc->build_id_len));
	cr_expect_neq(memcmp(own->build_id, libc->build_id, 20), 0);
	cr_expect_eq(d.sideband_lost, 0);
	drive_close(&d);
}

#define STORM 1000

Test(sideband, every_process_of_a_storm_is_born_and_ends)
{
	static uint8_t born[1 << 22], ended[1 << 22]; /* by tgid, below pid_max */
	static pid_t pids[STORM];
	struct drive d;

	drive_open(&d, NULL);
	for (int i = 0; i < STORM; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (!pids[i])
			_exit(0);
		if (i % 8 == 7) /* several at a time: on all CPUs */
			for (int k = i - 7; k <= i; k++)
				waitpid(pids[k], NULL, 0);
	}
	drive_sleep(20 * DRIVE_MS);
	drive_drain_sideband(&d, UINT64_MAX);
	expect_order(&d);
	for (size_t i = 0; i < d.records_cnt; i++) {
		const struct drive_record *r = &d.records[i];

		if (r->kind == DRIVE_FORK && r->parent == (uint32_t)getpid())
			born[r->tid]++;
		else if (r->kind == DRIVE_EXIT && born[r->tid])
			ended[r->tid]++;
	}
	for (int i = 0; i < STORM; i++) {
		cr_expect_eq(born[pids[i]], 1, "%d", pids[i]);
		cr_expect_eq(ended[pids[i]], 1, "%d", pids[i]);
	}
	cr_expect_eq(d.sideband_lost, 0);
	drive_close(&d);
}

Test(sideband, passes_over_the_mappings_of_one_process_and_tells_all_else)
{
	char *args[] = {NULL};
	struct drive d;
	pid_t storm, other;
	int status;

	drive_open(&d, NULL);
	storm = drive_exec("drive_noop", args, drive_cpu(0), false);
	other = drive_exec("drive_noop", args, drive_cpu(0), false);
	cr_assert_eq(waitpid(storm, &status, 0), storm);
	cr_assert_eq(waitpid(other, &status, 0), other);
	drive_sleep(20 * DRIVE_MS);
	cr_expect_geq(drive_drain_passing(&d, storm), 3, "its image, the linker, the library");
	cr_expect_null(record_of(&d, DRIVE_MAP, storm, ""));
	cr_expect(record_of(&d, DRIVE_FORK, storm, "") && record_of(&d, DRIVE_EXIT, storm, ""));
	cr_expect(record_of(&d, DRIVE_EXEC, storm, "drive_noop"));
	cr_expect(record_of(&d, DRIVE_MAP, other, "drive_noop"));
	expect_order(&d);
	drive_close(&d);
}

Test(sideband, keeps_what_is_newer_than_asked_for)
{
	struct drive d;
	uint64_t until;
	pid_t pid;

	drive_open(&d, NULL);
	until = clock_now_ns();
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	drive_sleep(20 * DRIVE_MS);
	drive_drain_sideband(&d, until);
	cr_expect_null(record_of(&d, DRIVE_FORK, pid, ""));
	for (size_t i = 0; i < d.records_cnt; i++)
		cr_assert_leq(d.records[i].time_ns, until);
	drive_drain_sideband(&d, UINT64_MAX);
	cr_expect(record_of(&d, DRIVE_FORK, pid, ""));
	cr_expect(record_of(&d, DRIVE_EXIT, pid, ""));
	expect_order(&d);
	drive_close(&d);
}

static int map_code(void *unused)
{
	(void)unused;
	return mmap(NULL, 1 << 16, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

Test(sideband, tells_executable_memory_without_a_file)
{
	const struct drive_record *map;
	struct drive d;
	int status;
	pid_t pid;

	drive_open(&d, NULL);
	pid = drive_fork(map_code, NULL, -1, false);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	drive_sleep(20 * DRIVE_MS);
	drive_drain_sideband(&d, UINT64_MAX);
	map = record_of(&d, DRIVE_MAP, pid, "//anon");
	cr_assert(map);
	cr_expect_eq(map->build_id_len, 0);
	drive_close(&d);
}

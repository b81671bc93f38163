/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store_folder.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "store/store.h"

char folder[64];

static void enter_folder_below(const char *parent)
{
	snprintf(folder, sizeof(folder), "%s/hotrun-store-XXXXXX", parent);
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	unsetenv("TMPDIR");
}

void enter_folder(void)
{
	enter_folder_below("/tmp");
}

void enter_memory_folder(void)
{
	enter_folder_below(access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
}

void leave_folder(void)
{
	char command[256];

	cr_assert_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "chmod -R u+rwX %s; rm -rf %s", folder, folder);
	cr_assert_eq(system(command), 0);
}

void expect_equal(const char *path, const struct model *m)
{
	struct model *read = NULL;
	int err = store_read(path, &read);
	const char *difference;

	cr_assert_eq(err, 0, "%s: %s", path, store_error_text(err));
	difference = capture_difference(m, read);
	cr_assert_null(difference, "%s differs", difference);
	model_free(read);
}

int read_error(const char *path)
{
	struct model *read = NULL;
	int err = store_read(path, &read);

	if (err)
		cr_assert_null(read, "an output touched on failure");
	model_free(read);
	return err;
}

int create_error(const char *path)
{
	struct model *m = capture_model();
	struct store *store = NULL;
	int err = store_create(path, m, &store);

	store_free(store);
	model_free(m);
	return err;
}

void put_file(const char *path, const char *content)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	fputs(content, f);
	fclose(f);
}

/* --- killed at a change of a file ------------------------------------------------------------ */

static unsigned int changes_left;
static bool half_done;

/* SQLite's own calls ("pwrite64" is pwrite() here, since off_t has 64 bits). */
static bool is_last_change(void)
{
	if (--changes_left)
		return false;
	if (!half_done)
		kill(getpid(), SIGKILL);
	return true;
}

static ssize_t counted_write(int fd, const void *bytes, size_t cnt)
{
	bool last = is_last_change();
	ssize_t n = write(fd, bytes, last ? cnt / 2 : cnt);

	if (last)
		kill(getpid(), SIGKILL);
	return n;
}

static ssize_t counted_pwrite(int fd, const void *bytes, size_t cnt, off_t at)
{
	bool last = is_last_change();
	ssize_t n = pwrite(fd, bytes, last ? cnt / 2 : cnt, at);

	if (last)
		kill(getpid(), SIGKILL);
	return n;
}

static int counted_truncate(int fd, off_t bytes)
{
	if (is_last_change())
		kill(getpid(), SIGKILL);
	return ftruncate(fd, bytes);
}

static int counted_unlink(const char *path)
{
	if (is_last_change())
		kill(getpid(), SIGKILL);
	return unlink(path);
}

void die_at_change(unsigned int n, bool half)
{
	static const struct {
		const char *name;
		sqlite3_syscall_ptr call;
	} calls[] = {
		{"write", (sqlite3_syscall_ptr)counted_write},
		{"pwrite", (sqlite3_syscall_ptr)counted_pwrite},
		{"pwrite64", (sqlite3_syscall_ptr)counted_pwrite},
		{"ftruncate", (sqlite3_syscall_ptr)counted_truncate},
		{"unlink", (sqlite3_syscall_ptr)counted_unlink},
	};
	sqlite3_vfs *vfs;

	cr_assert_eq(sqlite3_initialize(), SQLITE_OK);
	vfs = sqlite3_vfs_find("unix");
	cr_assert(vfs);
	changes_left = n;
	half_done = half;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (vfs->xGetSystemCall(vfs, calls[i].name))
			cr_assert_eq(vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call),
				     SQLITE_OK);
}

bool killed_at_change(unsigned int n, bool half, int (*change)(void *ctx), void *ctx)
{
	pid_t pid = fork();
	int status;

	cr_assert(pid >= 0);
	if (!pid) {
		die_at_change(n, half);
		_exit(change(ctx));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "status %d", status);
	return false;
}

int count_files(void)
{
	FILE *p = popen("ls -A -q | wc -l", "r");
	int n = -1;

	cr_assert(p);
	cr_assert_eq(fscanf(p, "%d", &n), 1);
	pclose(p);
	return n;
}

int as_nobody(int (*f)(const char *), const char *path)
{
	pid_t pid = fork();
	int status;

	cr_assert(pid >= 0);
	if (!pid) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(255);
		_exit(-f(path) & 0xff);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "the child crashed");
	return -WEXITSTATUS(status);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store_folder.h"

#include <criterion/criterion.h>
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

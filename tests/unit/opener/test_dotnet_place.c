/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The empty file that keeps the place of a perf map until the runtime opens it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names_support.h"
#include "opener/dotnet_map.h"

#define MAP "5/root/tmp/perf-7.map"

static struct fake_proc proc;
static struct file_request *request;

static void begin(void)
{
	struct fake_process p = {.tgid = 5, .comm = "app", .exe = "/no/such", .maps = ""};

	fake_proc_make(&proc);
	fake_process(&proc, &p);
	cr_assert_eq(mkdir(fake_path(&proc, "5/root/tmp"), 0777), 0);
	request = calloc(1, sizeof(*request));
	cr_assert(request);
	request->target.tgid = 5;
	strcpy(request->target.proc_path, proc.path);
}

static void end(void)
{
	free(request);
	fake_proc_remove(&proc);
}

static int serve(enum file_request_kind what)
{
	request->kind = what;
	return dotnet_place_serve(request);
}

/* Bytes of what lies there, links not followed; -1: nothing. */
static long long bytes_there(void)
{
	struct stat st;

	return lstat(fake_path(&proc, MAP), &st) ? -1 : (long long)st.st_size;
}

Test(dotnet_place, is_kept_and_given_back)
{
	struct stat st;

	begin();
	cr_assert_eq(serve(FILE_REQUEST_RESERVE), 0);
	cr_assert_eq(lstat(fake_path(&proc, MAP), &st), 0);
	cr_expect(S_ISREG(st.st_mode) && !st.st_size);
	cr_expect_eq(st.st_mode & 0777 & ~0644u, 0);
	cr_expect_eq(serve(FILE_REQUEST_RESERVE), -EEXIST);
	cr_expect_eq(serve(FILE_REQUEST_RELEASE), 0);
	cr_expect_eq(bytes_there(), -1);
	cr_expect_eq(serve(FILE_REQUEST_RELEASE), -ENOENT);
	end();
}

Test(dotnet_place, a_map_that_was_written_stays)
{
	begin();
	cr_assert_eq(serve(FILE_REQUEST_RESERVE), 0);
	fake_text(&proc, MAP, "0x1000 10 a\n");
	cr_expect_eq(serve(FILE_REQUEST_RELEASE), 0);
	cr_expect_eq(bytes_there(), 12);
	end();
}

Test(dotnet_place, a_link_is_neither_followed_nor_removed)
{
	begin();
	cr_assert_eq(symlink("victim", fake_path(&proc, MAP)), 0);
	cr_expect_eq(serve(FILE_REQUEST_RESERVE), -EEXIST);
	cr_expect_eq(serve(FILE_REQUEST_RELEASE), -ELOOP);
	cr_expect_geq(bytes_there(), 0);
	cr_expect_neq(access(fake_path(&proc, "5/root/tmp/victim"), F_OK), 0);
	end();
}

Test(dotnet_place, without_a_directory_nothing_is_made)
{
	begin();
	cr_assert_eq(rmdir(fake_path(&proc, "5/root/tmp")), 0);
	cr_expect_eq(serve(FILE_REQUEST_RESERVE), -ENOENT);
	end();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A socket in a tool's stead, where the environment of a stranger says. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "names_support.h"
#include "opener/dotnet_socket.h"

#define FOLDER	 "5/root/tmp"
#define PORT	 FOLDER "/port"
#define STRANGER 54321u

static struct fake_proc proc;
static struct file_request *request;

/* files: the uid by which files are opened; capabilities: CapEff. */
static void put_ids(uint32_t euid, uint32_t files, const char *capabilities)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "Name:\tapp\nPid:\t5\nUid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nGroups:\t \n"
		 "NStgid:\t5\t7\nCapEff:\t%s\n",
		 euid, euid, euid, files, STRANGER, STRANGER, STRANGER, STRANGER, capabilities);
	fake_text(&proc, "5/status", text);
}

/* A process of a stranger, and a folder of ours. */
static void begin(mode_t mode)
{
	struct fake_process p = {.tgid = 5, .comm = "app", .exe = "/no/such", .maps = ""};

	fake_proc_make(&proc);
	fake_process(&proc, &p);
	put_ids(STRANGER, STRANGER, "0");
	cr_assert_eq(mkdir(fake_path(&proc, FOLDER), 0700), 0);
	cr_assert_eq(chmod(fake_path(&proc, FOLDER), mode), 0);
	request = calloc(1, sizeof(*request));
	cr_assert(request);
	request->target.tgid = 5;
	strcpy(request->target.proc_path, proc.path);
	strcpy(request->runtime.port, "/tmp/port");
}

static void end(void)
{
	free(request);
	fake_proc_remove(&proc);
}

/* 0 or -errno; the listener is closed. */
static int serve_listen(void)
{
	int fd = -1, err;

	request->kind = FILE_REQUEST_LISTEN;
	err = dotnet_listen_serve(request, &fd);
	cr_expect_eq(fd >= 0, !err);
	if (fd >= 0)
		close(fd);
	return err;
}

static int serve_unlisten(void)
{
	request->kind = FILE_REQUEST_UNLISTEN;
	return dotnet_unlisten_serve(request);
}

static bool is_there(void)
{
	struct stat st;

	return !lstat(fake_path(&proc, PORT), &st);
}

Test(dotnet_port, is_made_and_removed_where_the_process_may)
{
	begin(0777);
	cr_assert_eq(serve_listen(), 0);
	cr_expect(is_there());
	cr_expect_eq(serve_unlisten(), 0);
	cr_expect_not(is_there());
	end();
}

Test(dotnet_port, is_not_made_where_the_process_may_not)
{
	begin(0755);
	cr_expect_eq(serve_listen(), -EPERM);
	cr_expect_not(is_there());
	/* Rights over a user namespace of its own are none here. */
	put_ids(STRANGER, STRANGER, "000001ffffffffff");
	cr_expect_eq(serve_listen(), -EPERM);
	cr_expect_not(is_there());
	fake_text(&proc, "5/status", "Name:\tapp\nUid:\t0\t0\t0\t0\nNStgid:\t5\t7\n");
	cr_expect_eq(serve_listen(), -EPERM, "whose ids are not told");
	cr_expect_not(is_there());
	end();
}

Test(dotnet_port, rights_of_this_host_count)
{
	begin(0755);
	put_ids(STRANGER, STRANGER, "0000000000000002");
	cr_assert_eq(mkdir(fake_path(&proc, "5/ns"), 0755), 0);
	cr_assert_eq(symlink("/proc/self/ns/user", fake_path(&proc, "5/ns/user")), 0);
	cr_expect_eq(serve_listen(), 0);
	cr_expect_eq(serve_unlisten(), 0);
	end();
}

Test(dotnet_port, only_a_socket_of_the_process_makes_room)
{
	begin(0777);
	cr_assert_eq(serve_listen(), 0);
	cr_expect_eq(serve_listen(), -EPERM, "another user's");
	cr_expect(is_there());
	put_ids(geteuid(), STRANGER, "0");
	cr_expect_eq(serve_listen(), 0);
	cr_expect_eq(serve_unlisten(), 0);
	fake_text(&proc, PORT, "no socket");
	cr_expect_eq(serve_listen(), -ENOTSOCK);
	cr_expect_eq(serve_unlisten(), -ENOTSOCK);
	cr_expect(is_there());
	end();
}

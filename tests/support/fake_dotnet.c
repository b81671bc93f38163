/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_dotnet.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names_support.h"

#define LOOK_NS 10000000000ull /* nothing hangs here, however busy the machine is */

static struct fake_proc proc;
static struct file_requests requests;
static uint32_t tgid;

const char *fake_dotnet_path(const char *name)
{
	return fake_path(&proc, "%u/%s", tgid, name);
}

void fake_dotnet_text(const char *name, const char *text)
{
	char path[600];

	snprintf(path, sizeof(path), "%u/%s", tgid, name);
	fake_text(&proc, path, text);
}

/* A .NET process with the test's own pid, since it is the test that listens. */
void fake_dotnet_begin(const char *maps)
{
	struct fake_process p = {
		.start_ticks = FAKE_DOTNET_START, .comm = "app", .exe = "/no/such", .maps = maps};

	tgid = p.tgid = (uint32_t)getpid();
	fake_proc_make(&proc);
	fake_process(&proc, &p);
	cr_assert_eq(mkdir(fake_dotnet_path("root/tmp"), 0777), 0);
	cr_assert_eq(mkdir(fake_dotnet_path("fd"), 0777), 0);
	cr_assert_eq(file_requests_init(&requests, NULL, proc.path, LOOK_NS), 0);
}

void fake_dotnet_end(void)
{
	file_requests_clear(&requests);
	fake_proc_remove(&proc);
}

/* The runtime has the file at target open as long as this link is there. */
void fake_dotnet_holds(const char *target)
{
	char copy[600];

	snprintf(copy, sizeof(copy), "%s", target);
	cr_assert_eq(symlink(copy, fake_dotnet_path("fd/9")), 0);
}

struct dotnet_process fake_dotnet_look(void)
{
	struct dotnet_list list = {0};
	struct dotnet_process p;
	int err = dotnet_read(&requests, tgid, &list);

	cr_assert_eq(err, 0, "%d", err);
	cr_assert_eq(list.cnt, 1);
	p = list.rows[0].process;
	dotnet_clear(&list);
	return p;
}

struct file_requests *fake_dotnet_requests(void)
{
	return &requests;
}

uint32_t fake_dotnet_tgid(void)
{
	return tgid;
}

struct fake_proc *fake_dotnet_proc(void)
{
	return &proc;
}

void fake_dotnet_put_link(void)
{
	cr_assert_eq(symlink("/etc/passwd", fake_dotnet_path("root/tmp/" FAKE_DOTNET_MAP)), 0);
}

void fake_dotnet_put_fifo(void)
{
	cr_assert_eq(mkfifo(fake_dotnet_path("root/tmp/" FAKE_DOTNET_MAP), 0666), 0);
}

void fake_dotnet_put_folder(void)
{
	cr_assert_eq(mkdir(fake_dotnet_path("root/tmp/" FAKE_DOTNET_MAP), 0777), 0);
}

void fake_dotnet_put_hard_link(void)
{
	char other[600];

	fake_dotnet_text("root/tmp/" FAKE_DOTNET_MAP, FAKE_DOTNET_MAP_TEXT);
	snprintf(other, sizeof(other), "%s", fake_dotnet_path("root/tmp/other"));
	cr_assert_eq(link(fake_dotnet_path("root/tmp/" FAKE_DOTNET_MAP), other), 0);
}

void fake_dotnet_take_folder(void)
{
	cr_assert_eq(rmdir(fake_dotnet_path("root/tmp")), 0);
}

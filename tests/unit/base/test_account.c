/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/account.h"

static char etc[] = "/tmp/hotrun-etc.XXXXXX";

static void put(const char *name, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", etc, name);
	file = fopen(path, "w");
	cr_assert(file);
	fputs(text, file);
	fclose(file);
}

static void enter(void)
{
	cr_assert(mkdtemp(etc));
	put("passwd", "root:x:0:0:root:/root:/bin/sh\n"
		      "broken line\n"
		      "mail-check:x:990:980::/var/lib/check:/bin/false\n"
		      "4711:x:991:981::/:/bin/false\n");
	put("group", "root:x:0:\nmail-check:x:980:\nmail:x:8:other,mail-check\n"
		     "audit:x:70:mail-check\nmail-check-not:x:71:mail\n");
}

static void leave(void)
{
	char path[64];

	for (const char *const *name = (const char *const[]){"passwd", "group", NULL}; *name;
	     name++) {
		snprintf(path, sizeof(path), "%s/%s", etc, *name);
		unlink(path);
	}
	rmdir(etc);
}

TestSuite(account, .init = enter, .fini = leave);

struct wanted {
	const char *text;
	int err;
	uid_t uid;
	gid_t gid;
	size_t groups_cnt;
};

static const struct wanted table[] = {
	{"mail-check", 0, 990, 980, 3},
	{"990", 0, 990, 980, 3},
	{"root", 0, 0, 0, 1},
	{"65534:65533", 0, 65534, 65533, 1},
	{"mail-chec", -ENOENT, 0, 0, 0},
	{"12345", -ENOENT, 0, 0, 0},
	{"4711", -ENOENT, 0, 0, 0}, /* a number is never a name */
	{"", -EINVAL, 0, 0, 0},
	{"a:b", -EINVAL, 0, 0, 0},
	{"1:", -EINVAL, 0, 0, 0},
	{":1", -EINVAL, 0, 0, 0},
	{"-1:1", -EINVAL, 0, 0, 0},
	/* "as it is" to setuid(2): one would stay root. */
	{"4294967295:4294967295", -EINVAL, 0, 0, 0},
	{"1:4294967295", -EINVAL, 0, 0, 0},
	{"00000000000000000001:1", -EINVAL, 0, 0, 0},
};

Test(account, is_found_by_name_uid_or_both_ids)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct wanted *w = &table[i];
		struct account a = {0};

		cr_expect_eq(account_find(w->text, etc, &a), w->err, "%s", w->text);
		cr_expect_eq(a.uid, w->uid, "%s: %u", w->text, a.uid);
		cr_expect_eq(a.gid, w->gid, "%s: %u", w->text, a.gid);
		cr_expect_eq(a.groups_cnt, w->groups_cnt, "%s: %zu", w->text, a.groups_cnt);
	}
}

Test(account, has_the_groups_that_list_it)
{
	struct account a;

	cr_assert_eq(account_find("mail-check", etc, &a), 0);
	cr_expect_eq(a.groups[0], 980);
	cr_expect_eq(a.groups[1], 8);
	cr_expect_eq(a.groups[2], 70);
	cr_expect_str_eq(a.home, "/var/lib/check");
}

Test(account, needs_no_files_as_two_ids)
{
	struct account a;

	cr_expect_eq(account_find("7:8", "/nowhere", &a), 0);
	cr_expect_eq(account_find("nobody", "/nowhere", &a), -ENOENT);
}

Test(account, of_more_groups_than_can_be_held_is_refused)
{
	char text[8192] = "";
	struct account a;

	for (int i = 0; i <= ACCOUNT_GROUPS_MAX; i++)
		sprintf(text + strlen(text), "g%d:x:%d:mail-check\n", i, 1000 + i);
	put("group", text);
	cr_expect_eq(account_find("mail-check", etc, &a), -E2BIG);
}

/* The way back is there until it is given up, and not after. */
static int changes(void)
{
	const struct account a = {.uid = 65534, .gid = 65534, .groups = {65534}, .groups_cnt = 1};
	uid_t real, effective, saved;

	if (account_become(&a, true) || getresuid(&real, &effective, &saved))
		return 1;
	if (real != 65534 || effective != 65534 || saved != 0 || getegid() != 65534)
		return 2;
	if (account_become(&a, false) || getresuid(&real, &effective, &saved) || saved != 65534)
		return 3;
	return seteuid(0) ? 0 : 4;
}

Test(account, is_become_for_good_at_the_second_time)
{
	int code = -1;
	pid_t pid;

	if (geteuid())
		return;
	pid = fork();
	if (!pid)
		_exit(changes());
	waitpid(pid, &code, 0);
	cr_expect_eq(WEXITSTATUS(code), 0);
}

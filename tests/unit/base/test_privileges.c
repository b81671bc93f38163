/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/privileges.h"

/* The value of a line of /proc/self/status as it is written there; -1 = it is not there. */
static long long status(const char *key, int base)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t len = strlen(key);
	long long value = -1;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, len) && line[len] == ':')
			value = strtoll(line + len + 1, NULL, base);
	if (file)
		fclose(file);
	return value;
}

/* Runs it in a child; returns what it returned. */
static int in_child(int (*check)(void))
{
	int code = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(check());
	waitpid(pid, &code, 0);
	return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static int keeps_one(void)
{
	uint64_t one = PRIVILEGE(HOST_CAP_SYS_PTRACE), had = privileges_held();

	if (had != (uint64_t)status("CapPrm", 16) || privileges_keep(one))
		return 1;
	if (privileges_held() != (had & one) || status("CapEff", 16) != (long long)(had & one))
		return 2;
	/* A second time with more gives nothing back. */
	if (privileges_keep(~0ull) || privileges_held() != (had & one))
		return 3;
	return status("CapInh", 16) || status("CapAmb", 16) ? 4 : 0;
}

Test(privileges, those_in_the_mask_stay_and_nothing_comes_back)
{
	cr_assert_eq(in_child(keeps_one), 0);
}

static int drops_all(void)
{
	/* CAP_SETPCAP: without it the bounding set is as it was. */
	long long bound = privileges_held() >> 8 & 1 ? 0 : status("CapBnd", 16);

	if (privileges_drop_all())
		return 1;
	if (status("CapPrm", 16) || status("CapEff", 16) || status("CapInh", 16) ||
	    status("CapAmb", 16))
		return 2;
	if (status("CapBnd", 16) != bound)
		return 3;
	return status("NoNewPrivs", 10) != 1 ? 4 : 0;
}

Test(privileges, all_are_gone)
{
	cr_assert_eq(in_child(drops_all), 0);
}

/* As uid 0 with a full bounding set it would have all of them again. */
static int executes(void)
{
	if (privileges_use(~PRIVILEGE(8)) || privileges_lock())
		return 1;
	/* A bounding set that is not for us to empty. */
	if (privileges_keep(0))
		return 1;
	execl("/bin/sh", "sh", "-c", "grep -Eq '^CapPrm:\\s*0+$' /proc/self/status", NULL);
	return 2;
}

Test(privileges, a_program_that_is_executed_has_none_where_the_bounding_set_stays)
{
	cr_assert_eq(in_child(executes), 0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operator's own program: what it is given, and that it harms nothing whatever it does. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store_folder.h"
#include "watch/hook.h"

#define MS     1000000ull
#define SECOND (1000 * MS)

TestSuite(hook, .init = enter_folder, .fini = leave_folder);

static char program[128];

static void put_program(const char *script)
{
	char text[1024];

	snprintf(program, sizeof(program), "%s/program", folder);
	snprintf(text, sizeof(text), "#!/bin/sh\ncd %s\n%s\n", folder, script);
	put_file(program, text);
	cr_assert_eq(chmod(program, 0700), 0);
}

static const char *const args[HOOK_ARGS] = {"/a b", "/c'$(id)", "", "Shop.Web", "inelastic"};

static int add(struct hook *h, const char *json)
{
	return hook_add(h, program, args, json, strlen(json));
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* Looks until one is over; its fate. now_ns: as it is, or as the test says. */
static int wait_for(struct hook *h, uint64_t now_ns)
{
	int err = 1;

	for (int i = 0; i < 1000; i++) {
		if (hook_look(h, now_ns ? now_ns : clock_now_ns(), &err))
			return err;
		sleep_ms(10);
	}
	cr_assert_fail("it does not end");
	return 1;
}

static bool is_text(const char *path, const char *want)
{
	char text[512] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	cr_expect_str_eq(text, want);
	return !strcmp(text, want);
}

Test(hook, gets_its_arguments_and_json_and_no_shell_sees_them)
{
	struct hook *h = hook_new(HOOK_LIMIT_NS);

	put_program("printf '%s|' \"$@\" >args; cat >json; env | sort | grep -v '^_=\\|PWD' >env; "
		    "grep -E 'CapEff|NoNewPrivs' /proc/self/status >status");
	setenv("NOTIFY_SOCKET", "/somewhere", 1);
	cr_assert_eq(add(h, "{\"verdict\": \"inelastic\"}"), 0);
	cr_expect_eq(hook_pending(h), 1);
	cr_expect_eq(wait_for(h, 0), 0);
	cr_expect_eq(hook_pending(h), 0);
	cr_expect(is_text("args", "/a b|/c'$(id)||Shop.Web|inelastic|"));
	cr_expect(is_text("json", "{\"verdict\": \"inelastic\"}"));
	cr_expect(is_text("env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/"
				 "bin\n"));
	cr_expect(is_text("status", "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n"));
	hook_free(h);
}

Test(hook, what_it_says_goes_nowhere_and_an_unread_input_hurts_nobody)
{
	struct hook *h = hook_new(HOOK_LIMIT_NS);
	char *json = malloc(1 << 20);

	memset(json, ' ', 1 << 20);
	put_program("head -c 10000000 /dev/zero; head -c 10000000 /dev/zero >&2");
	cr_assert_eq(hook_add(h, program, args, json, 1 << 20), 0);
	cr_expect_eq(wait_for(h, 0), 0);
	free(json);
	hook_free(h);
}

static pid_t pid_in(const char *path)
{
	int pid = 0;
	FILE *f = fopen(path, "r");

	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid;
}

/* A zombie that nobody has reaped is dead, too. */
static bool is_dead(pid_t pid)
{
	char path[64], state = 'X';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return true;
	if (fscanf(f, "%*d %*s %c", &state) != 1)
		state = 'X';
	fclose(f);
	return state == 'Z' || state == 'X';
}

static bool dies(pid_t pid)
{
	for (int i = 0; i < 300 && !is_dead(pid); i++)
		sleep_ms(10);
	return is_dead(pid);
}

Test(hook, one_that_hangs_is_killed_with_all_of_its_group)
{
	struct hook *h = hook_new(SECOND);
	int err = 1;

	put_program("trap '' TERM INT HUP; sleep 600 & echo $! >child; echo $$ >self; while :; do "
		    "sleep 600; done");
	cr_assert_eq(add(h, "{}"), 0);
	cr_expect_eq(hook_look(h, SECOND, &err), 0);
	for (int i = 0; i < 500 && !pid_in("self"); i++)
		sleep_ms(10);
	cr_assert(pid_in("child") && pid_in("self"));
	cr_expect_eq(hook_look(h, 2 * SECOND - 1, &err), 0);
	cr_expect_not(is_dead(pid_in("self")), "it has a second");
	cr_expect_eq(wait_for(h, 2 * SECOND), -ETIMEDOUT);
	cr_expect(dies(pid_in("self")) && dies(pid_in("child")));
	hook_free(h);
}

Test(hook, what_it_leaves_behind_ends_with_it)
{
	struct hook *h = hook_new(HOOK_LIMIT_NS);

	put_program("sleep 600 & echo $! >child");
	cr_assert_eq(add(h, "{}"), 0);
	cr_expect_eq(wait_for(h, 0), 0);
	cr_assert(pid_in("child"));
	cr_expect(dies(pid_in("child")));
	hook_free(h);
}

Test(hook, failures_are_told_and_the_next_one_runs)
{
	struct hook *h = hook_new(HOOK_LIMIT_NS);

	put_program("exit 3");
	cr_assert_eq(add(h, "{}"), 0);
	cr_expect_eq(wait_for(h, 0), -EIO);
	cr_assert_eq(hook_add(h, "/no/such/program", args, "{}", 2), 0);
	cr_expect_eq(wait_for(h, 0), -EIO);
	put_program("kill -9 $$");
	cr_assert_eq(add(h, "{}"), 0);
	cr_expect_eq(wait_for(h, 0), -EIO);
	put_program("echo 1 >worked");
	cr_assert_eq(add(h, "{}"), 0);
	cr_expect_eq(wait_for(h, 0), 0);
	cr_expect_eq(pid_in("worked"), 1);
	hook_free(h);
}

Test(hook, one_at_a_time_and_a_bounded_queue)
{
	struct hook *h = hook_new(HOOK_LIMIT_NS);
	int err;

	put_program("mkdir alone && echo x >>ran && sleep 0.05 && rmdir alone");
	for (int i = 0; i < HOOK_QUEUE; i++)
		cr_assert_eq(add(h, "{}"), 0);
	cr_expect_eq(add(h, "{}"), -E2BIG);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(wait_for(h, 0), 0, "it ran beside another one");
	cr_expect_eq(hook_look(h, clock_now_ns(), &err), 0);
	cr_expect_eq(hook_pending(h), HOOK_QUEUE - 3);
	hook_free(h);
}

Test(hook, ends_with_who_started_it)
{
	struct hook *h = hook_new(HOOK_LIMIT_NS);
	int err;

	put_program("echo $$ >self; sleep 600");
	cr_assert_eq(add(h, "{}"), 0);
	cr_expect_eq(hook_look(h, SECOND, &err), 0);
	for (int i = 0; i < 500 && !pid_in("self"); i++)
		sleep_ms(10);
	hook_free(h);
	cr_expect(dies(pid_in("self")));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process_state.h"

static bool comes_to(pid_t pid, bool runnable)
{
	for (int i = 0; i < 2000; i++) {
		if (process_is_runnable(pid) == runnable)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	return false;
}

Test(process_state, tells_who_wants_the_cpu_from_who_waits)
{
	pid_t spins = fork(), waits;

	while (!spins)
		;
	waits = fork();
	while (!waits)
		pause();
	cr_expect(comes_to(spins, true));
	cr_expect(comes_to(waits, false));
	while (process_cpu_ns(spins) < 20000000)
		;
	cr_expect(process_turns_of(spins).runnable);
	cr_expect_geq(process_turns_of(spins).cpu_ns, 20000000);
	cr_expect_not(process_turns_of(waits).runnable);
	cr_expect_gt(process_turns_of(waits).turns, 0, "it did run once");
	cr_expect_lt(process_cpu_ns(waits), 20000000);
	kill(spins, SIGKILL);
	kill(waits, SIGKILL);
	waitpid(spins, NULL, 0);
	waitpid(waits, NULL, 0);
	cr_expect_not(process_is_runnable(spins), "gone");
	cr_expect_not(process_is_runnable(0));
	cr_expect_eq(process_cpu_ns(spins), 0);
	cr_expect_eq(process_turns_of(spins).turns, 0);
	cr_expect_eq(process_cpu_ns(0), 0, "not this one");
}

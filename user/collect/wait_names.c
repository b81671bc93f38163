/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/wait_names.h"

#include <time.h>

#include "base/clock.h"

#define POLL_NS 5000000ull
/* Between two looks at who is to get tables, whatever comes. */
#define REST_NS 2000000ull

static void sleep_until(uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns(), ns = end_ns > now_ns ? end_ns - now_ns : 0;
	struct timespec pause = {(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};

	nanosleep(&pause, NULL);
}

bool wait_names_tables_wanted(const struct unwind_feed *f, const uint32_t *processes, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (unwind_feed_wants(f, processes[i]))
			return true;
	return !cnt && unwind_feed_is_busy(f);
}

void wait_names_tables(struct unwind_feed *f, struct model *m, struct names *names,
		       const uint32_t *processes, size_t cnt, uint64_t end_ns)
{
	uint64_t now_ns, due_ns;

	while (wait_names_tables_wanted(f, processes, cnt) && (now_ns = clock_now_ns()) < end_ns) {
		bool is_read = names_poll(names);

		due_ns = unwind_feed_work(f, m, names);
		if (is_read)
			names_await(names, POLL_NS);
		else if (due_ns < end_ns)
			sleep_until(due_ns > now_ns + REST_NS ? due_ns : now_ns + REST_NS);
		else if (cnt)
			sleep_until(now_ns + POLL_NS);
		else
			break;
	}
}

void wait_names_moment(struct names *names)
{
	if (names_is_reading(names))
		names_await(names, POLL_NS);
	else
		sleep_until(clock_now_ns() + POLL_NS);
}

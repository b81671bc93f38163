/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of system calls that workers are under, on this kernel: unit tests run under a
 * sanitizer, which leaves no room for it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "isolate/procmap_query.h"
#include "isolate/sandbox.h"
#include "isolate/workers.h"

#define WAIT_NS 20000000000ull

enum what {
	ASK_MAPPING,
	ASK_ELSE,
	OPEN,
};

struct order {
	uint64_t what, address;
};

struct answer {
	uint64_t start;
	int64_t error;
};

static size_t do_order(const void *request, size_t len, const int *fds, unsigned fd_cnt,
		       int result_fd, void *reply)
{
	const struct order *order = request;
	struct procmap_query q = {.size = sizeof(q), .query_addr = order->address};
	struct answer answer = {0};
	int bytes;

	(void)len;
	(void)fd_cnt;
	(void)result_fd;
	if (order->what == ASK_MAPPING && ioctl(fds[0], PROCMAP_QUERY, &q))
		answer.error = errno;
	else if (order->what == ASK_ELSE)
		ioctl(fds[0], FIONREAD, &bytes);
	else if (order->what == OPEN)
		close(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
	answer.start = q.vma_start;
	memcpy(reply, &answer, sizeof(answer));
	return sizeof(answer);
}

/* What became of a job that was handed the mappings of this process. */
static int run(struct workers *w, enum what what, const void *address, struct answer *ret_answer)
{
	struct order order = {what, (uint64_t)(uintptr_t)address};
	struct workers_job *job = workers_job_new(1, &order, sizeof(order), false);
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), err;
	size_t len = 0;

	cr_assert(job && maps >= 0 && workers_job_give(job, maps));
	workers_submit(w, job, WORKERS_USUAL);
	cr_assert(workers_wait(w, job, WAIT_NS));
	err = workers_job_error(job);
	if (!err) {
		const void *reply = workers_job_reply(job, &len);

		cr_assert_eq(len, sizeof(*ret_answer));
		memcpy(ret_answer, reply, len);
	}
	workers_job_free(w, job);
	return err;
}

/* Of a process's mappings it may ask for one; it can neither ask for anything else so, nor open
 * anything. */
Test(sandbox, one_mapping_may_be_asked_for)
{
	static char place[64];
	struct procmap_query q = {.size = sizeof(q), .query_addr = (uint64_t)(uintptr_t)place};
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct nursery *nursery = nursery_new(0);
	struct answer answer = {0};
	struct workers *w;
	bool is_old;

	cr_assert(maps >= 0 && nursery);
	/* Since 6.11. */
	is_old = ioctl(maps, PROCMAP_QUERY, &q) != 0;
	close(maps);
	w = workers_new(nursery, do_order, &(struct workers_limits){0});
	cr_assert_not_null(w);
	cr_assert_eq(run(w, ASK_MAPPING, place, &answer), 0);
	cr_assert_eq(workers_counters(w).without & SANDBOX_WITHOUT_SECCOMP, 0);
	cr_expect_eq(answer.error, is_old ? ENOTTY : 0);
	cr_expect_eq(answer.start, is_old ? 0 : q.vma_start);
	cr_expect_eq(run(w, ASK_ELSE, place, &answer), -EPIPE, "killed for it");
	cr_expect_eq(run(w, OPEN, place, &answer), -EPIPE);
	cr_expect_eq(run(w, ASK_MAPPING, place, &answer), 0);
	workers_free(w);
	nursery_free(nursery);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/io.h"

static void ignore(int number)
{
	(void)number;
}

/* Interrupts the main thread again and again, and hands it a piece each time. */
static void *drip(void *arg)
{
	const int *end = arg;

	for (int i = 0; i < 5; i++) {
		usleep(2000);
		kill(getpid(), SIGUSR1);
		if (write(*end, "ab", 2) != 2)
			return NULL;
	}
	close(*end);
	return NULL;
}

Test(io, a_read_goes_on_after_signals_and_parts)
{
	struct sigaction action = {.sa_handler = ignore}; /* no SA_RESTART */
	char buf[32];
	pthread_t thread;
	int ends[2];

	sigaction(SIGUSR1, &action, NULL);
	cr_assert_eq(pipe(ends), 0);
	pthread_create(&thread, NULL, drip, &ends[1]);
	cr_expect_eq(io_read(ends[0], buf, 7), 7);
	cr_expect(!memcmp(buf, "abababa", 7));
	cr_expect_eq(io_read(ends[0], buf, sizeof(buf)), 3, "up to the end");
	pthread_join(thread, NULL);
	close(ends[0]);
}

Test(io, offsets_beyond_any_file)
{
	_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);
	char buf[4] = "";

	cr_assert_eq(io_write_at(fd, "abcd", 4, 2), 0);
	cr_expect_eq(io_read_at(fd, buf, 4, 4), 2);
	cr_expect(!memcmp(buf, "cd", 2));
	cr_expect_eq(io_read_at(fd, buf, 4, 6), 0, "the end");
	cr_expect_eq(io_read_at(fd, buf, 4, UINT64_MAX), 0, "what a hostile header may ask for");
	cr_expect_eq(io_read_at(fd, buf, 4, INT64_MAX - 3), 0);
	cr_expect_eq(io_write_at(fd, "x", 1, UINT64_MAX), -ENOSPC);
	cr_expect_eq(io_read(-1, buf, 4), -EBADF);
	cr_expect_eq(io_write(-1, buf, 4), -EBADF);
}

Test(io, a_copy_is_whole_and_bounded)
{
	_cleanup_close_ int from = memfd_create("from", MFD_CLOEXEC);
	_cleanup_close_ int to = memfd_create("to", MFD_CLOEXEC);
	static char bytes[200000], copied[sizeof(bytes) + 1];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 251);
	cr_assert_eq(io_write(from, bytes, sizeof(bytes)), 0);
	cr_expect_eq(io_copy(from, to, sizeof(bytes) - 1), -EFBIG);
	cr_assert_eq(ftruncate(to, 0), 0);
	cr_assert_eq(lseek(to, 0, SEEK_SET), 0);
	cr_expect_eq(io_copy(from, to, sizeof(bytes)), 0, "from its beginning, wherever it stands");
	cr_expect_eq(io_read_at(to, copied, sizeof(copied), 0), (ssize_t)sizeof(bytes));
	cr_expect(!memcmp(bytes, copied, sizeof(bytes)));
}

Test(compare, numbers_whose_difference_overflows)
{
	uint32_t a = 0, b = UINT32_MAX;
	uint64_t x = 1, y = UINT64_MAX;

	cr_expect_lt(compare_u32(&a, &b), 0);
	cr_expect_gt(compare_u32(&b, &a), 0);
	cr_expect_eq(compare_u32(&a, &a), 0);
	cr_expect_lt(compare_u64(&x, &y), 0);
	cr_expect_gt(compare_u64(&y, &x), 0);
	cr_expect_eq(compare_u64(&y, &y), 0);
}

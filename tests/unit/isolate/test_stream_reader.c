/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors that are read by a process of their own: whole, and without anybody waiting for one
 * that does not end. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "isolate/stream_reader.h"

#define BYTES (300u << 10)

struct got {
	char *bytes;
	size_t len, most;
};

static int take(void *ctx, const char *bytes, size_t len)
{
	struct got *got = ctx;

	cr_assert_leq(len, STREAM_PIECE_BYTES);
	if (got->len + len > got->most)
		return -EFBIG;
	memcpy(got->bytes + got->len, bytes, len);
	got->len += len;
	return 0;
}

static int read_all(struct stream_reader *r, struct got *got, uint64_t *ret_cpu_ns)
{
	int err = 0;

	while (!err)
		err = stream_reader_take(r, 50, take, got, ret_cpu_ns);
	return err;
}

static int open_file(char *bytes)
{
	int fd = memfd_create("stream", 0);

	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	cr_assert_eq(write(fd, bytes, BYTES), (ssize_t)BYTES);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

Test(stream_reader, what_is_read_is_what_is_there_again_and_again, .timeout = 60)
{
	static char bytes[BYTES], copy[BYTES];
	struct nursery *n = nursery_new(0);
	struct stream_reader *r = stream_reader_new(n);

	cr_assert(n && r);
	for (int i = 0; i < 3; i++) {
		struct got got = {copy, 0, sizeof(copy)};
		uint64_t cpu_ns = 0;
		int fd = open_file(bytes);

		memset(copy, 0, sizeof(copy));
		cr_expect_not(stream_reader_is_busy(r));
		cr_assert_eq(stream_reader_begin(r, fd), 0);
		close(fd);
		cr_expect(stream_reader_is_busy(r));
		cr_expect_eq(read_all(r, &got, &cpu_ns), 1);
		cr_expect_eq(got.len, BYTES);
		cr_expect_arr_eq(copy, bytes, BYTES);
		cr_expect_gt(cpu_ns, 0);
	}
	stream_reader_free(r);
	nursery_free(n);
}

Test(stream_reader, one_that_does_not_end_is_given_up_and_the_next_goes_on, .timeout = 60)
{
	static char bytes[BYTES], copy[BYTES];
	struct nursery *n = nursery_new(0);
	struct stream_reader *r = stream_reader_new(n);
	struct got got = {copy, 0, sizeof(copy)};
	uint64_t begin_ns = clock_now_ns();
	int tube[2], fd, err = -EBUSY;

	cr_assert(n && r && !pipe(tube));
	cr_assert_eq(stream_reader_begin(r, tube[0]), 0);
	cr_expect_eq(stream_reader_begin(r, tube[0]), -EBUSY);
	cr_expect_eq(read_all(r, &got, NULL), -ETIMEDOUT);
	cr_expect_lt(clock_now_ns() - begin_ns, 20000000000ull);
	cr_expect_not(stream_reader_is_busy(r));
	fd = open_file(bytes);
	for (int i = 0; i < 200 && err == -EBUSY; i++) {
		err = stream_reader_begin(r, fd); /* until that process has gone */
		usleep(10000);
	}
	cr_assert_eq(err, 0);
	cr_expect_eq(read_all(r, &got, NULL), 1);
	cr_expect_eq(got.len, BYTES);
	close(fd);
	close(tube[0]);
	close(tube[1]);
	stream_reader_free(r);
	nursery_free(n);
}

Test(stream_reader, who_has_seen_enough_and_what_cannot_be_read_end_it, .timeout = 60)
{
	static char bytes[BYTES], copy[BYTES];
	struct nursery *n = nursery_new(0);
	struct stream_reader *r = stream_reader_new(n);
	struct got few = {copy, 0, 1000}, got = {copy, 0, sizeof(copy)};
	int fd = open_file(bytes), tube[2], err;

	cr_assert(n && r && !pipe(tube));
	cr_assert_eq(stream_reader_begin(r, fd), 0);
	cr_expect_eq(read_all(r, &few, NULL), -ECANCELED);
	err = -EBUSY;
	for (int i = 0; i < 200 && err == -EBUSY; i++) {
		err = stream_reader_begin(r, tube[1]); /* an end that is only written to */
		usleep(10000);
	}
	cr_assert_eq(err, 0);
	cr_expect_eq(read_all(r, &got, NULL), -EBADF);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(stream_reader_begin(r, fd), 0);
	cr_expect_eq(read_all(r, &got, NULL), 1, "the same process goes on");
	close(fd);
	close(tube[0]);
	close(tube[1]);
	stream_reader_free(r);
	nursery_free(n);
}

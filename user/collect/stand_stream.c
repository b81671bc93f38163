/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/stand_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/process_state.h"
#include "collect/stand_pieces.h"
#include "isolate/stream_reader.h"

/* Between two looks at whether it is to stop. */
#define WAIT_MOST_NS 50000000ull
/* For the process to be there. */
#define FIRST_NS 300000000ull

struct stand_stream {
	struct stream_reader *reader;
	const volatile sig_atomic_t *stop;
	uint64_t cpu_ns, of_this_ns; /* the latter: of the process that there is now */
	uint64_t end_ns;
	stands_take_fn take;
	void *ctx;
	int err; /* of a piece */
	struct stand_pieces pieces;
};

static bool is_over(const struct stand_stream *s)
{
	return clock_now_ns() >= s->end_ns || (s->stop && *s->stop);
}

static int take_bytes(void *ctx, const char *bytes, size_t len)
{
	struct stand_stream *s = ctx;

	s->err = stand_pieces_take(&s->pieces, bytes, len, s->take, s->ctx);
	/* Pieces may come as fast as they are taken. */
	if (!s->err && is_over(s))
		s->err = -ETIMEDOUT;
	return s->err;
}

/* The time of a process that is given up is told by nobody else. */
static void drop(struct stand_stream *s, pid_t pid)
{
	uint64_t cpu_ns = pid ? process_cpu_ns(pid) : 0;

	if (cpu_ns > s->of_this_ns)
		s->cpu_ns += cpu_ns - s->of_this_ns;
	s->of_this_ns = 0;
	stream_reader_drop(s->reader);
}

/* Until it is over, but no longer than until it is looked whether it is to stop. */
static int patience_ms(const struct stand_stream *s)
{
	uint64_t now_ns = clock_now_ns(), ns = s->end_ns > now_ns ? s->end_ns - now_ns : 0;

	return (int)((ns < WAIT_MOST_NS ? ns : WAIT_MOST_NS) / 1000000) + 1;
}

/* As stream_reader_take(), until the end. */
static int take_all(struct stand_stream *s)
{
	uint64_t cpu_ns = 0;
	int err = 0;

	while (!err && !is_over(s)) {
		pid_t pid = stream_reader_pid(s->reader);

		err = stream_reader_take(s->reader, patience_ms(s), take_bytes, s, &cpu_ns);
		if (err < 0)
			drop(s, pid);
	}
	if (!err)
		drop(s, stream_reader_pid(s->reader));
	s->cpu_ns += cpu_ns;
	s->of_this_ns += cpu_ns;
	return err == 1 ? 0 : err == -ECANCELED ? s->err : err ?: -ETIMEDOUT;
}

static int begin(struct stand_stream *s, int fd)
{
	s->pieces.have = 0;
	s->err = 0;
	return stream_reader_begin(s->reader, fd);
}

struct stand_stream *stand_stream_new(struct nursery *nursery, const volatile sig_atomic_t *stop)
{
	_cleanup_close_ int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct stand_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->stop = stop;
	s->reader = stream_reader_new(nursery);
	if (!s->reader) {
		free(s);
		return NULL;
	}
	if (nothing >= 0)
		begin(s, nothing);
	return s;
}

void stand_stream_free(struct stand_stream *s)
{
	if (!s)
		return;
	stream_reader_free(s->reader);
	free(s);
}

/* The first one, of nothing. */
static void finish_first(struct stand_stream *s)
{
	s->end_ns = clock_now_ns() + FIRST_NS;
	if (stream_reader_is_busy(s->reader))
		take_all(s);
}

int stand_stream_read(struct stand_stream *s, int fd, uint64_t end_ns, stands_take_fn take,
		      void *ctx)
{
	int err;

	finish_first(s);
	s->end_ns = end_ns;
	s->take = take;
	s->ctx = ctx;
	err = begin(s, fd);
	return err ?: take_all(s);
}

unsigned int stand_stream_place(struct stand_stream *s)
{
	finish_first(s);
	return stream_reader_place(s->reader);
}

uint32_t stand_stream_stuck(const struct stand_stream *s)
{
	return stream_reader_stuck(s->reader);
}

pid_t stand_stream_pid(const struct stand_stream *s)
{
	return stream_reader_pid(s->reader);
}

uint64_t stand_stream_cpu_ns(const struct stand_stream *s)
{
	return s->cpu_ns;
}

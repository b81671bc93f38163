/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/stream_reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper_names.h"
#include "base/privileges.h"
#include "base/process_state.h"
#include "isolate/message.h"

/* Nothing came for so long, and it did not move either: it hangs; or nothing came for the second
 * time, whatever it did. */
#define HUNG_NS 1000000000ull
#define LATE_NS 10000000000ull

enum kind {
	PIECE = 1, /* bytes follow */
	END = 2,
};

struct head {
	uint32_t kind;
	int32_t err;
	uint64_t cpu_ns;
};

struct message {
	struct head head;
	char bytes[STREAM_PIECE_BYTES];
};

struct stream_reader {
	struct nursery *nursery;
	pid_t pid;  /* 0 = there is none, or it has not told yet */
	int pid_fd; /* of it; -1 */
	/* By place, of those that were left and may not have ended; -1. */
	int left_fds[STREAM_READERS_MOST];
	unsigned int place; /* of this one */
	int socket;
	bool is_busy, told; /* told: its pid is known */
	uint64_t came_ns;   /* when something came last, */
	uint64_t moved_ns;  /* and when it was seen to have moved */
	struct process_turns turns;
	struct message message;
};

/* --- the process ----------------------------------------------------------------------------- */

/* 0 at the end, or negative errno. */
static int send_piece(int socket, int fd, struct message *m)
{
	ssize_t n = read(fd, m->bytes, sizeof(m->bytes));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	if (!n)
		return 0;
	m->head.kind = PIECE;
	return message_send(socket, m, sizeof(m->head) + (size_t)n, NULL, 0) ?: 1;
}

static void live(int socket)
{
	static struct message m;
	uint32_t order;
	int fd;

	privileges_keep(0);
	while (!message_receive_exact(socket, &order, sizeof(order), &fd) && fd >= 0) {
		uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		int err;

		do {
			err = send_piece(socket, fd, &m);
		} while (err > 0);
		close(fd);
		m.head = (struct head){END, err, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns};
		if (err == -EPIPE || message_send(socket, &m, sizeof(m.head), NULL, 0))
			break;
	}
}

/* --- this side ------------------------------------------------------------------------------- */

struct stream_reader *stream_reader_new(struct nursery *nursery)
{
	struct stream_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->nursery = nursery;
	r->socket = r->pid_fd = -1;
	for (unsigned int i = 0; i < STREAM_READERS_MOST; i++)
		r->left_fds[i] = -1;
	return r;
}

static void end(const struct stream_reader *r)
{
	if (r->pid_fd >= 0)
		syscall(SYS_pidfd_send_signal, r->pid_fd, SIGKILL, NULL, 0);
}

/* It ends by itself when it finds that nobody listens, unless it hangs. */
static void leave(struct stream_reader *r)
{
	cleanup_close(&r->left_fds[r->place]);
	r->left_fds[r->place] = r->pid_fd;
	r->pid_fd = -1;
	r->pid = 0;
	r->is_busy = r->told = false;
	cleanup_close(&r->socket);
	r->socket = -1;
}

void stream_reader_free(struct stream_reader *r)
{
	if (!r)
		return;
	leave(r);
	for (unsigned int i = 0; i < STREAM_READERS_MOST; i++)
		cleanup_close(&r->left_fds[i]);
	free(r);
}

void stream_reader_drop(struct stream_reader *r)
{
	if (!r->is_busy)
		return;
	/* It would go on reading what nobody takes, or hang, and the next one not begin. */
	end(r);
	leave(r);
}

pid_t stream_reader_pid(const struct stream_reader *r)
{
	return r->told ? r->pid : 0;
}

bool stream_reader_is_busy(const struct stream_reader *r)
{
	return r->is_busy;
}

static bool is_left(const struct stream_reader *r, unsigned int place)
{
	struct pollfd fd = {r->left_fds[place], POLLIN, 0};

	return fd.fd >= 0 && poll(&fd, 1, 0) != 1;
}

uint32_t stream_reader_stuck(const struct stream_reader *r)
{
	uint32_t stuck = 0;

	for (unsigned int i = 0; i < STREAM_READERS_MOST; i++)
		stuck |= (uint32_t)is_left(r, i) << i;
	return stuck;
}

unsigned int stream_reader_place(struct stream_reader *r)
{
	unsigned int place = 0;

	if (r->socket >= 0)
		return r->place;
	while (place < STREAM_READERS_MOST && is_left(r, place))
		place++;
	return place;
}

bool stream_reader_is_stuck(const struct stream_reader *r)
{
	return r->socket < 0 && stream_reader_stuck(r) == (1u << STREAM_READERS_MOST) - 1;
}

int stream_reader_begin(struct stream_reader *r, int fd)
{
	const uint32_t order = PIECE;

	unsigned int place = stream_reader_place(r);

	if (r->is_busy || place == STREAM_READERS_MOST)
		return -EBUSY;
	cleanup_close(&r->left_fds[place]);
	r->left_fds[place] = -1;
	r->place = place;
	if (r->socket < 0 && nursery_spawn(r->nursery, live, HELPER_STREAM, &r->socket)) {
		r->socket = -1;
		return -EAGAIN;
	}
	if (message_send(r->socket, &order, sizeof(order), &fd, 1)) {
		leave(r);
		return -EAGAIN;
	}
	r->is_busy = true;
	r->came_ns = r->moved_ns = clock_now_ns();
	return 0;
}

/* On a host that is full of other work it may be late through no fault of its own. */
static bool is_hung(struct stream_reader *r)
{
	uint64_t now_ns = clock_now_ns();
	struct process_turns turns;

	if (now_ns - r->moved_ns < HUNG_NS)
		return false;
	turns = r->told ? process_turns_of(r->pid) : (struct process_turns){.runnable = true};
	if (now_ns - r->came_ns < LATE_NS &&
	    (turns.runnable || turns.turns != r->turns.turns || turns.cpu_ns != r->turns.cpu_ns)) {
		r->moved_ns = now_ns;
		r->turns = turns;
		return false;
	}
	return true;
}

/* 1 at the end, 0, or negative errno: then the process is to be left. */
static int take_message(struct stream_reader *r, size_t len,
			int (*take)(void *ctx, const char *bytes, size_t len), void *ctx,
			uint64_t *ret_cpu_ns)
{
	const struct message *m = &r->message;

	r->came_ns = r->moved_ns = clock_now_ns();
	if (!r->told && len == sizeof(r->pid)) {
		memcpy(&r->pid, m, sizeof(r->pid));
		r->told = true;
		r->pid_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
		return 0;
	}
	if (len < sizeof(m->head))
		return -EPROTO;
	if (m->head.kind == PIECE)
		return take(ctx, m->bytes, len - sizeof(m->head)) ? -ECANCELED : 0;
	if (ret_cpu_ns)
		*ret_cpu_ns = m->head.cpu_ns;
	r->is_busy = false;
	return m->head.err ?: 1;
}

int stream_reader_take(struct stream_reader *r, int timeout_ms,
		       int (*take)(void *ctx, const char *bytes, size_t len), void *ctx,
		       uint64_t *ret_cpu_ns)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)timeout_ms * 1000000, now_ns;
	size_t len;
	int err;

	while (r->is_busy) {
		now_ns = clock_now_ns();
		if (!message_wait(r->socket,
				  now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) : 0)) {
			if (!is_hung(r))
				return 0;
			end(r);
			leave(r);
			return -ETIMEDOUT;
		}
		err = message_receive_bytes(r->socket, &r->message, sizeof(r->message), &len);
		if (err == -EAGAIN)
			continue;
		err = err ?: take_message(r, len, take, ctx, ret_cpu_ns);
		if (err < 0 && r->is_busy)
			leave(r);
		if (err)
			return err;
		if (clock_now_ns() >= end_ns)
			return 0;
	}
	return -EINVAL;
}

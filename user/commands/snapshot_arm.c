/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/snapshot_arm.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/command.h"
#include "watch/control.h"
#include "watch/folder.h"

/* Who asked and does not read is not waited for. */
#define SEND_S 5
/* On a host that drowns who asks looks itself, before it waits for others: so long for the
 * connection, and for the first line. Between pieces of an answer that has begun. */
#define BEGIN_NS     400000000ull
#define PIECE_MS     10000
#define ANSWER_FIRST SNAPSHOT_ANSWER "\n"
#define PIECE_BYTES  65536

/* So much more than after the first snapshot stays for the next one. */
#define MEMORY_BYTES ((intptr_t)32 << 20)

void snapshot_arm_lock(void)
{
	/* What a snapshot needed once stays for the next one. */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, -1);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		log_warn("memory is not locked: %s; on a host without memory a snapshot may be "
			 "late",
			 strerror(errno));
}

/* Since all of it is the heap's: where that ends. Nothing that is locked can be given back; what is
 * there at the end is locked again, and nothing read in for it. */
static void give_back(const char *first_end)
{
	if ((char *)sbrk(0) - first_end <= MEMORY_BYTES)
		return;
	munlockall();
	malloc_trim(0);
	mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	log_debug("memory: %td bytes more than at first", (char *)sbrk(0) - first_end);
}

/* --- who is asked ---------------------------------------------------------------------------- */

static int no_capture(void *ctx, uint64_t before_ns, uint64_t after_ns,
		      char ret_name[static FOLDER_NAME_BYTES], char *why, size_t why_bytes)
{
	(void)ctx, (void)before_ns, (void)after_ns, (void)ret_name;
	snprintf(why, why_bytes, "nothing is recorded here: this is `hotrun snapshot --arm`");
	return -ENOTSUP;
}

struct armed {
	const struct snapshot_taker *taker;
	const char *heap_end; /* after the first snapshot */
};

static void tell_status(void *ctx, char *text, size_t bytes)
{
	const struct snapshot_taker *taker = ((struct armed *)ctx)->taker;

	snprintf(text, bytes, "armed %s\n", taker->urgent->realtime ? "SCHED_RR" : "nice");
}

/* The connection as a file that is written to for a bounded time. */
static FILE *open_answer(int fd)
{
	_cleanup_close_ int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	const struct timeval patience = {.tv_sec = SEND_S};
	FILE *out;

	if (own < 0 || fcntl(own, F_SETFL, 0) ||
	    setsockopt(own, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)))
		return NULL;
	out = fdopen(own, "w");
	if (out)
		own = -1;
	return out;
}

/* Ahead of others for that time alone. */
static int take_ahead(const struct snapshot_taker *taker, const struct snapshot_request *request,
		      FILE *out)
{
	int err;

	urgent_resume(taker->urgent);
	err = snapshot_take(taker, request, out);
	snapshot_looks_forget(taker->looks);
	urgent_pause(taker->urgent);
	return err;
}

static void answer(void *ctx, int fd, const struct snapshot_request *request)
{
	const struct armed *armed = ctx;
	FILE *out = open_answer(fd);
	int err;

	if (!out)
		return;
	fputs(ANSWER_FIRST, out);
	err = fflush(out) ? -EIO : take_ahead(armed->taker, request, out);
	if (!err && (fputc(SNAPSHOT_END, out) == EOF || fflush(out)))
		err = -EIO;
	if (err)
		log_warn("a snapshot: %s", strerror(err == -EIO ? errno : -err));
	fclose(out);
	give_back(armed->heap_end);
}

/* One for nobody: what it needs is in memory after it. */
static void warm_up(const struct snapshot_taker *taker)
{
	const struct snapshot_request request = {.begun_ns = clock_now_ns(), .repeat = 1};
	FILE *out = fopen("/dev/null", "we");

	if (!out)
		return;
	if (take_ahead(taker, &request, out))
		log_debug("the first snapshot failed");
	fclose(out);
}

static void serve(struct control *control)
{
	while (!stop_requested) {
		struct pollfd in = {.fd = control_fd(control), .events = POLLIN};

		poll(&in, 1, (int)(CONTROL_IDLE_NS / 1000000));
		control_look(control, clock_now_ns());
	}
}

int snapshot_arm(const struct snapshot_taker *taker, const char *dir)
{
	struct armed armed = {.taker = taker};
	const struct control_ops ops = {
		.ctx = &armed,
		.trigger = no_capture,
		.status = tell_status,
		.snapshot = answer,
	};
	_cleanup_close_ int folder = -1, lock = -1;
	struct control *control = NULL;
	char why[1024] = "";
	int err = folder_open(dir, true, why, sizeof(why), &folder);

	if (!err)
		err = folder_lock(folder, why, sizeof(why), &lock);
	if (err) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	warm_up(taker);
	armed.heap_end = sbrk(0);
	err = control_new(folder, &ops, &control);
	if (err) {
		log_error("%s/" CONTROL_NAME ": %s", dir, strerror(-err));
		return EXIT_FAILED;
	}
	log_info("armed: `hotrun snapshot` is answered from here (%s)", dir);
	serve(control);
	control_free(control);
	return EXIT_OK;
}

/* --- who asks -------------------------------------------------------------------------------- */

/* 1 there is more, 0 its end, or negative errno. */
static int read_piece(int fd, int patience_ms, char *piece, size_t bytes, size_t *ret_len)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};
	int ready = poll(&in, 1, patience_ms);
	ssize_t n;

	if (ready <= 0)
		return ready ? -errno : -ETIMEDOUT;
	n = read(fd, piece, bytes);
	if (n < 0)
		return -errno;
	*ret_len = (size_t)n;
	return n > 0;
}

/* The line before the answer proper: whether there will be one. */
static int read_begin(int fd, uint64_t end_ns, char *line, size_t bytes)
{
	size_t len = 0, one;

	while (len + 1 < bytes) {
		uint64_t now_ns = clock_now_ns();
		int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) : 0;
		int more = read_piece(fd, left_ms, line + len, 1, &one);

		if (more <= 0)
			return more ?: -EPIPE;
		if (line[len++] == '\n')
			break;
	}
	line[len] = '\0';
	return 0;
}

static int refuse(const char *dir, const char *line)
{
	char safe[CONTROL_LINE_BYTES];

	text_copy_safe(safe, sizeof(safe), line, strcspn(line, "\n"));
	log_debug("%s: %s", dir, safe);
	return -ENOTSUP;
}

/* Up to its end. Where nothing was printed yet, a negative errno: somebody else may answer. */
static int copy(int fd, FILE *out)
{
	char piece[PIECE_BYTES];
	bool begun = false, whole = false;
	size_t len;
	int more;

	while (!whole && (more = read_piece(fd, PIECE_MS, piece, sizeof(piece), &len)) > 0) {
		whole = piece[len - 1] == SNAPSHOT_END;
		len -= whole;
		begun |= len > 0;
		if (fwrite(piece, 1, len, out) != len || fflush(out))
			return errno == EPIPE ? EXIT_OK : EXIT_FAILED;
	}
	if (whole && begun)
		return EXIT_OK;
	more = more < 0 ? more : -EPIPE;
	if (!begun)
		return more;
	log_error("the answer is not whole: %s",
		  more == -EPIPE ? "who gave it stopped in the middle" : strerror(-more));
	return EXIT_FAILED;
}

int snapshot_ask(const char *dir, const struct snapshot_request *request, FILE *out)
{
	_cleanup_close_ int folder = -1, fd = -1;
	uint64_t end_ns = clock_now_ns() + BEGIN_NS;
	char words[256], line[CONTROL_LINE_BYTES], why[1024] = "";
	int err = folder_open(dir, false, why, sizeof(why), &folder);

	if (err)
		return err;
	snapshot_request_write(request, words, sizeof(words));
	snprintf(line, sizeof(line), "snapshot %s", words);
	err = control_open(folder, line, BEGIN_NS, &fd);
	if (!err)
		err = read_begin(fd, end_ns, line, sizeof(line));
	if (!err && strcmp(line, ANSWER_FIRST) != 0)
		err = refuse(dir, line);
	return err ? err : copy(fd, out);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/helper_names.h"
#include "base/process_state.h"
#include "isolate/message.h"

/* A server says its pid first; on a host full of spinners it may take long to come to it. */
#define HELLO_MS 3000

#define GOODBYE_MS 100

struct hung {
	int fd;
	uint64_t key;
};

struct fetch {
	struct nursery *nursery; /* borrowed */
	uint64_t deadline_ns;
	uint64_t timeouts;
	int server_fd; /* -1 = none at the moment */
	pid_t server;
	uint64_t server_cpu_ns, cpu_ns; /* of this server when it was seen last; of all of them */
	struct hung hung[FETCH_MAX_HUNG];
	unsigned hung_cnt;
};

/* --- the server -------------------------------------------------------------------------------- */

static void serve(int socket)
{
	static struct fetch_request request;
	int given[MESSAGE_FDS_MAX];
	unsigned given_cnt;
	size_t len;

	/* What it looks through is others', however urgent hotrun is itself. */
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
	while (!message_receive(socket, &request, sizeof(request), &len, given, &given_cnt)) {
		struct fetch_reply reply = {0};
		int fd = -1, err;

		if (len == sizeof(request) && given_cnt >= request.delivers)
			fetch_serve(&request, given_cnt > request.delivers ? given[0] : -1,
				    request.delivers ? given[given_cnt - 1] : -1, &reply, &fd);
		err = message_send(socket, &reply, sizeof(reply), &fd, fd >= 0);
		if (fd >= 0)
			close(fd);
		for (unsigned i = 0; i < given_cnt; i++)
			close(given[i]);
		if (err)
			return;
	}
}

struct fetch *fetch_new(struct nursery *nursery, uint64_t deadline_ns)
{
	struct fetch *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->nursery = nursery;
	f->deadline_ns = deadline_ns;
	f->server_fd = -1;
	return f;
}

void fetch_free(struct fetch *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->hung_cnt; i++)
		close(f->hung[i].fd);
	if (f->server_fd >= 0) {
		/* Its parent should outlive it: not every host has an init that buries orphans. */
		shutdown(f->server_fd, SHUT_WR);
		message_wait(f->server_fd, GOODBYE_MS);
		close(f->server_fd);
	}
	free(f);
}

/* --- asking ------------------------------------------------------------------------------------ */

static int start_server(struct fetch *f)
{
	int none;

	if (f->server_fd >= 0)
		return 0;
	if (nursery_spawn(f->nursery, serve, HELPER_OPENER, &f->server_fd))
		return -EAGAIN;
	f->server_cpu_ns = 0;
	if (message_wait(f->server_fd, HELLO_MS) &&
	    !message_receive_exact(f->server_fd, &f->server, sizeof(f->server), &none))
		return 0;
	close(f->server_fd);
	f->server_fd = -1;
	return -EAGAIN;
}

/* It works only while it is asked. */
static void note_cpu(struct fetch *f)
{
	uint64_t cpu_ns = process_cpu_ns(f->server);

	if (cpu_ns <= f->server_cpu_ns)
		return;
	f->cpu_ns += cpu_ns - f->server_cpu_ns;
	f->server_cpu_ns = cpu_ns;
}

/* Forgets servers that came back meanwhile: their answer, or their end, can be read. */
static void reap(struct fetch *f)
{
	for (unsigned i = 0; i < f->hung_cnt;) {
		if (message_wait(f->hung[i].fd, 0)) {
			close(f->hung[i].fd);
			f->hung[i] = f->hung[--f->hung_cnt];
		} else {
			i++;
		}
	}
}

static bool is_refused(const struct fetch *f, uint64_t key)
{
	unsigned same = 0;

	for (unsigned i = 0; i < f->hung_cnt; i++)
		same += f->hung[i].key == key;
	return same >= FETCH_MAX_HUNG_KEY || f->hung_cnt >= FETCH_MAX_HUNG;
}

static bool wait_reply(const struct fetch *f)
{
	for (int i = 0; i < FETCH_MAX_DEADLINES; i++) {
		uint64_t before = process_cpu_ns(f->server);

		if (message_wait(f->server_fd, (int)(f->deadline_ns / 1000000u)))
			return true;
		if (process_cpu_ns(f->server) == before && !process_is_runnable(f->server))
			return false;
	}
	return false;
}

static void leave_server(struct fetch *f)
{
	close(f->server_fd);
	f->server_fd = -1;
}

/* A server that is gone before it was asked has died of nothing that is asked now: once more, of a
 * new one. 0, -EAGAIN (no process), or why it could not be sent. */
static int send_request(struct fetch *f, const struct fetch_request *request, const int *given,
			unsigned given_cnt)
{
	int err = -EPIPE;

	for (int i = 0; i < 2 && err; i++) {
		if (start_server(f))
			return -EAGAIN;
		err = message_send(f->server_fd, request, sizeof(*request), given, given_cnt);
		if (err && !i)
			leave_server(f);
	}
	return err;
}

int fetch_ask(struct fetch *f, struct fetch_request *request, int give_fd, int way_fd,
	      struct fetch_reply *ret_reply, int *ret_fd)
{
	int given[2], err;
	unsigned given_cnt = 0;

	*ret_fd = -1;
	request->delivers = way_fd >= 0;
	if (give_fd >= 0)
		given[given_cnt++] = give_fd;
	if (way_fd >= 0)
		given[given_cnt++] = way_fd;
	reap(f);
	if (is_refused(f, request->key))
		return -EBUSY;
	err = send_request(f, request, given, given_cnt);
	if (err == -EAGAIN)
		return err;
	if (!err && !wait_reply(f)) {
		note_cpu(f);
		f->hung[f->hung_cnt++] = (struct hung){f->server_fd, request->key};
		f->server_fd = -1;
		f->timeouts++;
		return -ETIMEDOUT;
	}
	if (!err)
		err = message_receive_exact(f->server_fd, ret_reply, sizeof(*ret_reply), ret_fd);
	note_cpu(f);
	if (!err)
		return 0;
	leave_server(f);
	return -EPIPE;
}

uint64_t fetch_cpu_ns(const struct fetch *f)
{
	return f->cpu_ns;
}

uint64_t fetch_timeouts(const struct fetch *f)
{
	return f->timeouts;
}

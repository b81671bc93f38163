/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/opener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper_names.h"
#include "base/patience.h"
#include "base/process_state.h"
#include "isolate/message.h"
#include "opener/serve.h"

/* A server says its pid first; on a host full of spinners it may take long to come to it. */
#define HELLO_MS 3000

#define GOODBYE_MS 100

struct hung {
	int fd;
	uint64_t key;
};

struct opener {
	struct nursery *nursery; /* borrowed */
	uint64_t deadline_ns;
	uint64_t timeouts;
	int server_fd; /* -1 = none at the moment */
	pid_t server;
	uint64_t server_cpu_ns, cpu_ns; /* of this server when it was seen last; of all of them */
	struct hung hung[OPENER_MAX_HUNG];
	unsigned hung_cnt;
};

/* --- the server ------------------------------------------------------------------------------- */

static void serve(int socket)
{
	static struct file_request request;
	int given[MESSAGE_FDS_MAX];
	unsigned given_cnt;
	size_t len;

	/* What it looks through is others', however urgent hotrun is itself. */
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
	while (!message_receive(socket, &request, sizeof(request), &len, given, &given_cnt)) {
		struct file_reply reply = {0};
		int fd = -1, err;

		if (len == sizeof(request) && given_cnt >= request.delivers)
			serve_request(&request, given_cnt > request.delivers ? given[0] : -1,
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

struct opener *opener_new(struct nursery *nursery, uint64_t deadline_ns)
{
	struct opener *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->nursery = nursery;
	o->deadline_ns = deadline_ns;
	o->server_fd = -1;
	return o;
}

void opener_free(struct opener *o)
{
	if (!o)
		return;
	for (unsigned i = 0; i < o->hung_cnt; i++)
		close(o->hung[i].fd);
	if (o->server_fd >= 0) {
		/* Its parent should outlive it: not every host has an init that buries orphans. */
		shutdown(o->server_fd, SHUT_WR);
		message_wait(o->server_fd, GOODBYE_MS);
		close(o->server_fd);
	}
	free(o);
}

/* --- asking ----------------------------------------------------------------------------------- */

static int start_server(struct opener *o)
{
	int none;

	if (o->server_fd >= 0)
		return 0;
	if (nursery_spawn(o->nursery, serve, HELPER_OPENER, &o->server_fd))
		return -EAGAIN;
	o->server_cpu_ns = 0;
	if (message_wait(o->server_fd, HELLO_MS) &&
	    !message_receive_exact(o->server_fd, &o->server, sizeof(o->server), &none))
		return 0;
	close(o->server_fd);
	o->server_fd = -1;
	return -EAGAIN;
}

/* It works only while it is asked. */
static void note_cpu(struct opener *o)
{
	uint64_t cpu_ns = process_cpu_ns(o->server);

	if (cpu_ns <= o->server_cpu_ns)
		return;
	o->cpu_ns += cpu_ns - o->server_cpu_ns;
	o->server_cpu_ns = cpu_ns;
}

/* Forgets servers that came back meanwhile: their answer, or their end, can be read. */
static void reap(struct opener *o)
{
	for (unsigned i = 0; i < o->hung_cnt;) {
		if (message_wait(o->hung[i].fd, 0)) {
			close(o->hung[i].fd);
			o->hung[i] = o->hung[--o->hung_cnt];
		} else {
			i++;
		}
	}
}

static bool is_refused(const struct opener *o, uint64_t key)
{
	unsigned same = 0;

	for (unsigned i = 0; i < o->hung_cnt; i++)
		same += o->hung[i].key == key;
	return same >= OPENER_MAX_HUNG_KEY || o->hung_cnt >= OPENER_MAX_HUNG;
}

static bool wait_reply(const struct opener *o)
{
	struct process_turns now = process_turns_of(o->server);
	struct patience patience = patience_new(o->deadline_ns, &now);
	uint64_t looked_ns = clock_now_ns(), now_ns;

	for (;;) {
		if (message_wait(o->server_fd, (int)(patience_look_ns(&patience) / 1000000u)))
			return true;
		now = process_turns_of(o->server);
		now_ns = clock_now_ns();
		if (patience_is_over(&patience, &now, now_ns - looked_ns))
			return message_wait(o->server_fd, 0);
		looked_ns = now_ns;
	}
}

static void leave_server(struct opener *o)
{
	close(o->server_fd);
	o->server_fd = -1;
}

/* A server that is gone before it was asked has died of nothing that is asked now: once more, of a
 * new one. 0, -EAGAIN (no process), or why it could not be sent. */
static int send_request(struct opener *o, const struct file_request *request, const int *given,
			unsigned given_cnt)
{
	int err = -EPIPE;

	for (int i = 0; i < 2 && err; i++) {
		if (start_server(o))
			return -EAGAIN;
		err = message_send(o->server_fd, request, sizeof(*request), given, given_cnt);
		if (err && !i)
			leave_server(o);
	}
	return err;
}

int opener_ask(struct opener *o, struct file_request *request, int give_fd, int way_fd,
	       struct file_reply *ret_reply, int *ret_fd)
{
	int given[2], err;
	unsigned given_cnt = 0;

	*ret_fd = -1;
	request->delivers = way_fd >= 0;
	if (give_fd >= 0)
		given[given_cnt++] = give_fd;
	if (way_fd >= 0)
		given[given_cnt++] = way_fd;
	reap(o);
	if (is_refused(o, request->key))
		return -EBUSY;
	err = send_request(o, request, given, given_cnt);
	if (err == -EAGAIN)
		return err;
	if (!err && !wait_reply(o)) {
		note_cpu(o);
		o->hung[o->hung_cnt++] = (struct hung){o->server_fd, request->key};
		o->server_fd = -1;
		o->timeouts++;
		return -ETIMEDOUT;
	}
	if (!err)
		err = message_receive_exact(o->server_fd, ret_reply, sizeof(*ret_reply), ret_fd);
	note_cpu(o);
	if (!err)
		return 0;
	leave_server(o);
	return -EPIPE;
}

uint64_t opener_cpu_ns(const struct opener *o)
{
	return o->cpu_ns;
}

uint64_t opener_timeouts(const struct opener *o)
{
	return o->timeouts;
}

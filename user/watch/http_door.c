/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is let in. The thread accepts, waits until a request is there whole, and hands the connection
 * to libmicrohttpd when its turn has come. Turns of the thread, connections and answers have a pace
 * each, and a turn looks at GUESTS_MAX connections at the most: whatever clients do, that is what
 * they can cost.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "watch/http_private.h"

/* The thread looks at the ages of its guests so often. */
#define LOOK_NS SECOND_NS
/* Who drips bytes is looked at so often. */
#define DRIP_NS 20000000ull

static const char refusal[] = "HTTP/1.1 429 Too Many Requests\r\n"
			      "Content-Type: text/plain; charset=utf-8\r\n"
			      "Connection: close\r\n"
			      "Retry-After: 1\r\n"
			      "Content-Length: 0\r\n\r\n";

bool http_lacks_room(struct http *h)
{
	if (h->page && clock_now_ns() - h->page_ns >= HTTP_FRESH_NS) {
		/* Who still reads it holds it. */
		MHD_destroy_response(h->page);
		h->page = NULL;
	}
	return !h->page && h->pages >= HTTP_PAGES;
}

/* --- going ----------------------------------------------------------------------------------- */

/* What he sent is read: bytes that nobody read would make the kernel take the answer back (RST). */
static void refuse(struct http *h, int fd)
{
	char rest[HTTP_MEMORY_BYTES];

	h->counts.refused++;
	send(fd, refusal, sizeof(refusal) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	recv(fd, rest, sizeof(rest), MSG_DONTWAIT);
	close(fd);
}

static void run_daemon(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	/* One connection may take some steps; what goes on for longer waits for the next turn. */
	for (int i = 0; i < 4; i++) {
		MHD_run(h->daemon);
		if (MHD_get_timeout(h->daemon, &wait_ms) != MHD_YES || wait_ms)
			break;
	}
}

/* Of one that is being answered, libmicrohttpd closes what is shut down. */
static void send_away(struct http *h, struct guest *guest)
{
	if (guest->state == GUEST_SERVED) {
		shutdown(guest->fd, SHUT_RDWR);
		run_daemon(h);
		return;
	}
	close(guest->fd);
	guest->state = GUEST_NONE;
}

static bool is_late(const struct guest *guest, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - guest->since_ns;

	switch (guest->state) {
	case GUEST_SILENT:
		return age_ns >= HTTP_REQUEST_NS;
	case GUEST_SERVED:
		/* Not answered: what looked whole is not so for libmicrohttpd. */
		return guest->answered ? now_ns - guest->served_ns >= HTTP_LIFE_NS
				       : now_ns - guest->served_ns >= HTTP_REQUEST_NS;
	default:
		return false;
	}
}

static void send_late_away(struct http *h, uint64_t now_ns)
{
	for (size_t i = 0; i < GUESTS_MAX; i++) {
		struct guest *guest = &h->guests.places[i];

		if (!is_late(guest, now_ns))
			continue;
		h->counts.late++;
		send_away(h, guest);
	}
}

/* --- coming ---------------------------------------------------------------------------------- */

/* A request without its body: that is not waited for. Line ends before it are none of it (RFC 9112,
 * 2.2). */
static bool is_whole(const char *bytes, size_t len)
{
	while (len && (*bytes == '\r' || *bytes == '\n')) {
		bytes++;
		len--;
	}
	return memmem(bytes, len, "\r\n\r\n", 4) || memmem(bytes, len, "\n\n", 2);
}

/* Looks at what a silent guest has sent by now, and leaves it there for libmicrohttpd. */
static void look_at(struct http *h, struct guest *guest)
{
	char bytes[HTTP_MEMORY_BYTES];
	ssize_t len = recv(guest->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	guest->began = len > 0;
	/* More than fits is no request; libmicrohttpd says so. */
	if (len > 0 && (is_whole(bytes, (size_t)len) || (size_t)len == sizeof(bytes))) {
		if (guests_asks(guest, guests_wish(bytes, (size_t)len)))
			return;
		guest->state = GUEST_NONE;
		refuse(h, guest->fd);
	} else if (len <= 0 || guest->leaving) {
		send_away(h, guest);
	}
}

static void let_in(struct http *h, int fd, const struct sockaddr *from, uint64_t now_ns)
{
	struct in6_addr address = guests_address(from);
	struct guest *place = guests_find_place(&h->guests, &address, now_ns);

	/* Who is to go because he said nothing may have done so since the last look. */
	while (place && place->state == GUEST_SILENT) {
		look_at(h, place);
		if (place->state == GUEST_SILENT)
			break;
		place = guests_find_place(&h->guests, &address, now_ns);
	}
	if (place && place->state != GUEST_NONE) {
		h->counts.displaced++;
		send_away(h, place);
	}
	/* libmicrohttpd may need another turn to let go. */
	if (!place || place->state != GUEST_NONE)
		refuse(h, fd);
	else
		guests_seat(&h->guests, place, &address, fd, now_ns);
}

static void accept_guests(struct http *h, uint64_t now_ns)
{
	while (!pace_wait_ns(&h->accepts, now_ns)) {
		struct sockaddr_storage from;
		socklen_t bytes = sizeof(from);
		int fd = accept4(h->listen_fd, (struct sockaddr *)&from, &bytes,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			break;
		pace_take(&h->accepts, now_ns);
		let_in(h, fd, (struct sockaddr *)&from, now_ns);
	}
}

static void look_at_guests(struct http *h)
{
	for (size_t i = 0; i < GUESTS_MAX; i++)
		if (h->guests.places[i].state == GUEST_SILENT)
			look_at(h, &h->guests.places[i]);
}

/* --- answers --------------------------------------------------------------------------------- */

void http_meet(void *ctx, struct MHD_Connection *connection, void **mine,
	       enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;
	struct http *h = ctx;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*mine)
			((struct guest *)*mine)->state = GUEST_NONE;
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	for (size_t i = 0; info && i < GUESTS_MAX; i++) {
		struct guest *guest = &h->guests.places[i];

		if (guest->state != GUEST_SERVED || guest->met || guest->fd != info->connect_fd)
			continue;
		guest->met = true;
		*mine = guest;
	}
}

/* Only the address family counts for libmicrohttpd: who it is was looked at before. */
static void serve(struct http *h, struct guest *guest, uint64_t now_ns)
{
	struct sockaddr_in6 from = {.sin6_family = AF_INET6, .sin6_addr = guest->address};

	guests_serve(&h->guests, guest, now_ns);
	MHD_add_connection(h->daemon, guest->fd, (struct sockaddr *)&from, sizeof(from));
	run_daemon(h);
	/* Without memory libmicrohttpd has closed it at once. */
	if (guest->state == GUEST_SERVED && !guest->met)
		guest->state = GUEST_NONE;
}

static void serve_guests(struct http *h, uint64_t now_ns)
{
	struct guest *next;

	while (!pace_wait_ns(&h->answers, now_ns) && (next = guests_next(&h->guests))) {
		/* His turn comes again as soon as one who reads slowly has let his page go. */
		if (next->wish == GUEST_METRICS && http_lacks_room(h)) {
			struct guest *slowest = guests_slowest(&h->guests);

			if (slowest) {
				h->counts.displaced++;
				send_away(h, slowest);
			}
			break;
		}
		pace_take(&h->answers, now_ns);
		serve(h, next, now_ns);
	}
}

/* --- the thread ------------------------------------------------------------------------------ */

static void least(uint64_t *ns, uint64_t other_ns)
{
	if (other_ns < *ns)
		*ns = other_ns;
}

/* The end, the listening socket, libmicrohttpd's, and guests of whom something new may be told. */
#define FDS_MAX (3 + GUESTS_MAX)

struct waiting {
	struct pollfd fds[FDS_MAX]; /* the first: the end */
	struct guest *guests[FDS_MAX];
	nfds_t cnt;
	uint64_t ns;
};

static void add(struct waiting *w, int fd, int events, struct guest *guest)
{
	w->guests[w->cnt] = guest;
	w->fds[w->cnt++] = (struct pollfd){.fd = fd, .events = (short)events};
}

/* Who drips is looked at now and then: each byte of his would wake the thread. */
static void add_guest(const struct http *h, struct waiting *w, struct guest *guest, uint64_t now_ns)
{
	bool new_bytes = guest->state == GUEST_SILENT && !guest->began;

	if (guest->state != GUEST_SILENT && guest->state != GUEST_ASKING)
		return;
	if (guest->state == GUEST_ASKING)
		least(&w->ns, pace_wait_ns(&h->answers, now_ns));
	else if (guest->began)
		least(&w->ns, DRIP_NS);
	if (!guest->leaving)
		add(w, guest->fd, new_bytes ? POLLIN | POLLRDHUP : POLLRDHUP, guest);
}

/* Until something happens, or is due. */
static void wait_for_turn(struct http *h, struct waiting *w, int daemon_fd)
{
	uint64_t now_ns = clock_now_ns(), pause_ns = pace_wait_ns(&h->accepts, now_ns);
	MHD_UNSIGNED_LONG_LONG daemon_ms;

	w->cnt = 1;
	w->ns = LOOK_NS;
	if (MHD_get_timeout(h->daemon, &daemon_ms) == MHD_YES)
		least(&w->ns, daemon_ms * 1000000);
	add(w, daemon_fd, POLLIN, NULL);
	if (pause_ns)
		least(&w->ns, pause_ns);
	else
		add(w, h->listen_fd, POLLIN, NULL);
	for (size_t i = 0; i < GUESTS_MAX; i++)
		add_guest(h, w, &h->guests.places[i], now_ns);
	if (poll(w->fds, w->cnt, (int)((w->ns + 999999) / 1000000)) < 0)
		w->fds[0].revents = 0;
	for (nfds_t i = 1; i < w->cnt; i++)
		if (w->guests[i] && w->fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR))
			w->guests[i]->leaving = true;
}

void *http_serve(void *ctx)
{
	struct http *h = ctx;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct waiting w = {.fds = {{.fd = h->stop, .events = POLLIN}}};

	while (!w.fds[0].revents) {
		uint64_t now_ns = clock_now_ns(), pause_ns = pace_wait_ns(&h->turns, now_ns);

		if (pause_ns) {
			poll(w.fds, 1, (int)((pause_ns + 999999) / 1000000));
			continue;
		}
		wait_for_turn(h, &w, info->epoll_fd);
		now_ns = clock_now_ns();
		pace_take(&h->turns, now_ns);
		accept_guests(h, now_ns);
		look_at_guests(h);
		serve_guests(h, now_ns);
		run_daemon(h);
		send_late_away(h, now_ns);
	}
	return NULL;
}

void http_close_door(struct http *h)
{
	for (size_t i = 0; i < GUESTS_MAX; i++) {
		struct guest *guest = &h->guests.places[i];

		if (guest->state == GUEST_SILENT || guest->state == GUEST_ASKING)
			close(guest->fd);
		guest->state = GUEST_NONE;
	}
	if (h->listen_fd >= 0)
		close(h->listen_fd);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server's side. */
#include "watch/control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/text.h"

#define SOCKET_NEW ".control.new"
#define BACKLOG	   16
/* Callers that are let in or sent away in one look. */
#define ACCEPT_MAX 64

struct client {
	int fd; /* -1 = free */
	uint64_t since_ns;
	bool asked;			   /* its line was read */
	char waits_for[FOLDER_NAME_BYTES]; /* "" = for nothing */
	char line[CONTROL_LINE_BYTES];
	size_t len;
};

struct control {
	struct control_ops ops;
	int dir, listen_fd, epoll_fd;
	dev_t dev; /* of the socket in the folder */
	ino_t ino;
	struct client clients[CONTROL_CLIENTS];
};

/* --- the line --------------------------------------------------------------------------------- */

/* Reads a number that ends where the line does or with a space. Moves *at on. */
static bool read_number(const char **at, const char *end, uint64_t *ret_value)
{
	const char *from = *at;
	uint64_t value = 0;

	for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
		value = value * 10 + (uint64_t)(**at - '0');
		if (value > CONTROL_DAY_NS)
			return false;
	}
	*ret_value = value;
	return *at > from;
}

enum control_request control_parse(const char *line, size_t len, uint64_t *ret_before_ns,
				   uint64_t *ret_after_ns)
{
	static const char trigger[] = "trigger ", status[] = "status";
	static const char snapshot[] = "snapshot ";
	const char *at = line, *end = line + len;
	uint64_t before_ns, after_ns;

	if (!len)
		return CONTROL_NOTHING;
	if (len == sizeof(status) - 1 && !memcmp(line, status, len))
		return CONTROL_STATUS;
	if (len > sizeof(snapshot) && !memcmp(line, snapshot, sizeof(snapshot) - 1))
		return CONTROL_SNAPSHOT;
	if (len < sizeof(trigger) || memcmp(line, trigger, sizeof(trigger) - 1) != 0)
		return CONTROL_BAD;
	at += sizeof(trigger) - 1;
	if (!read_number(&at, end, &before_ns) || at == end || *at++ != ' ' ||
	    !read_number(&at, end, &after_ns) || at != end)
		return CONTROL_BAD;
	*ret_before_ns = before_ns;
	*ret_after_ns = after_ns;
	return CONTROL_TRIGGER;
}

/* --- callers ---------------------------------------------------------------------------------- */

static void drop(struct client *client)
{
	cleanup_close(&client->fd);
	*client = (struct client){.fd = -1};
}

/* A socket has room for every answer; who lets it fill up is not waited for. */
static bool say(int fd, const char *text)
{
	size_t len = strlen(text);

	return send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

static bool say_words(int fd, const char *word, const char *what)
{
	char line[CONTROL_LINE_BYTES], safe[CONTROL_LINE_BYTES - 32];

	text_copy_safe(safe, sizeof(safe), what, strlen(what));
	snprintf(line, sizeof(line), "%s %s\n", word, safe);
	return say(fd, line);
}

static void fail(struct client *client, const char *why)
{
	say_words(client->fd, "failed", why);
	drop(client);
}

static void trigger(struct control *c, struct client *client, uint64_t before_ns, uint64_t after_ns)
{
	char name[FOLDER_NAME_BYTES] = "", why[CONTROL_LINE_BYTES] = "";
	int err = c->ops.trigger(c->ops.ctx, before_ns, after_ns, name, why, sizeof(why));

	if (err) {
		fail(client, *why ? why : strerror(-err));
		return;
	}
	if (!say_words(client->fd, "begun", name))
		drop(client);
	else
		memcpy(client->waits_for, name, sizeof(name));
}

static void tell_status(struct control *c, struct client *client)
{
	char text[CONTROL_STATUS_BYTES] = "";

	c->ops.status(c->ops.ctx, text, sizeof(text));
	say(client->fd, text);
	drop(client);
}

bool control_say(int fd, const char *bytes, size_t len)
{
	return send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

/* line: with room for its end. */
static void take_snapshot(struct control *c, struct client *client, char *line, size_t len)
{
	struct snapshot_request request;

	line[len] = '\0';
	if (!c->ops.snapshot) {
		fail(client, "no snapshots are taken here");
	} else if (snapshot_request_read(line + strlen("snapshot "), &request)) {
		fail(client, "no such snapshot; the two hotruns may be of different versions");
	} else {
		c->ops.snapshot(c->ops.ctx, client->fd, &request);
		drop(client);
	}
}

static void answer(struct control *c, struct client *client, size_t line_len)
{
	struct epoll_event only_end = {.data.ptr = client};
	uint64_t before_ns = 0, after_ns = 0;

	client->asked = true;
	/* What else it says stays in its socket; its going away is told without being asked for. */
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, client->fd, &only_end)) {
		drop(client);
		return;
	}
	switch (control_parse(client->line, line_len, &before_ns, &after_ns)) {
	case CONTROL_TRIGGER:
		trigger(c, client, before_ns, after_ns);
		break;
	case CONTROL_STATUS:
		tell_status(c, client);
		break;
	case CONTROL_SNAPSHOT:
		take_snapshot(c, client, client->line, line_len);
		break;
	case CONTROL_NOTHING:
	case CONTROL_BAD:
		fail(client, "no such request; `hotrun trigger` and this recorder may be of "
			     "different versions");
		break;
	}
}

/* One read: who sends without end does not keep us here. */
static void hear(struct control *c, struct client *client)
{
	ssize_t n = recv(client->fd, client->line + client->len, sizeof(client->line) - client->len,
			 MSG_DONTWAIT);
	const char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(client);
		return;
	}
	end = memchr(client->line + client->len, '\n', (size_t)n);
	client->len += (size_t)n;
	if (end)
		answer(c, client, (size_t)(end - client->line));
	else if (client->len == sizeof(client->line))
		fail(client, "the line is too long");
}

/* --- new callers ------------------------------------------------------------------------------ */

/* The mode of the socket says the same; not everywhere is it looked at (unix(7)). */
static bool is_permitted(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) &&
	       (who.uid == 0 || who.uid == geteuid());
}

static struct client *find_free(struct control *c)
{
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		if (c->clients[i].fd < 0)
			return &c->clients[i];
	return NULL;
}

/* Takes fd. */
static void let_in(struct control *c, int fd, uint64_t now_ns)
{
	struct client *client = find_free(c);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};

	if (!is_permitted(fd))
		say_words(fd, "failed",
			  "not permitted: be root, or the user who runs the recorder");
	else if (!client)
		say_words(fd, "failed", "too many callers at a time; try again");
	else if (!epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
		client->fd = fd;
		client->since_ns = now_ns;
		return;
	}
	close(fd);
}

static void accept_all(struct control *c, uint64_t now_ns)
{
	for (int i = 0; i < ACCEPT_MAX; i++) {
		int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			let_in(c, fd, now_ns);
		else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

/* --- the server's life ------------------------------------------------------------------------ */

/* A socket of mode 0600 from its first moment: Linux takes the mode from the descriptor. It gets
 * its name when somebody answers there, so that nobody who finds it is refused. */
static int listen_in(struct control *c)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;

	/* A path of that form is short, however long that of the folder is. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SOCKET_NEW,
		 c->dir);
	if (unlinkat(c->dir, SOCKET_NEW, 0) && errno != ENOENT)
		return -errno;
	if (fchmod(c->listen_fd, 0600) ||
	    bind(c->listen_fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	if (listen(c->listen_fd, BACKLOG) || fstatat(c->dir, SOCKET_NEW, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	return renameat(c->dir, SOCKET_NEW, c->dir, CONTROL_NAME) ? -errno : 0;
}

static int start(struct control *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = c};
	int err;

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll_fd < 0)
		return -errno;
	c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listen_fd < 0)
		return -errno;
	err = listen_in(c);
	if (err) {
		unlinkat(c->dir, SOCKET_NEW, 0);
		return err;
	}
	/* By edge: where no descriptor is left to accept with, the loop must not turn for ever. */
	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->listen_fd, &event) ? -errno : 0;
}

int control_new(int dir, const struct control_ops *ops, struct control **ret_control)
{
	struct control *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->ops = *ops;
	c->dir = dir;
	c->listen_fd = c->epoll_fd = -1;
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		c->clients[i].fd = -1;
	err = start(c);
	if (err) {
		control_free(c);
		return err;
	}
	*ret_control = c;
	return 0;
}

int control_fd(const struct control *c)
{
	return c->epoll_fd;
}

void control_look(struct control *c, uint64_t now_ns)
{
	struct epoll_event events[CONTROL_CLIENTS + 1];
	int n = epoll_wait(c->epoll_fd, events, CONTROL_CLIENTS + 1, 0);

	for (int i = 0; i < n; i++) {
		struct client *client = events[i].data.ptr;

		if ((void *)client == (void *)c)
			continue;
		if (client->asked)
			drop(client);
		else
			hear(c, client);
	}
	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		struct client *client = &c->clients[i];

		if (client->fd >= 0 && !client->asked &&
		    now_ns - client->since_ns >= CONTROL_IDLE_NS)
			fail(client, "no request came");
	}
	/* Last, so that the event of a place is of the caller who has it. */
	accept_all(c, now_ns);
}

void control_done(struct control *c, const char *name, int err)
{
	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		struct client *client = &c->clients[i];

		if (client->fd < 0 || !client->asked || strcmp(client->waits_for, name) != 0)
			continue;
		say_words(client->fd, err ? "failed" : "done", err ? strerror(-err) : name);
		drop(client);
	}
}

void control_free(struct control *c)
{
	struct stat st;

	if (!c)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		drop(&c->clients[i]);
	if (c->ino && !fstatat(c->dir, CONTROL_NAME, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_dev == c->dev && st.st_ino == c->ino)
		unlinkat(c->dir, CONTROL_NAME, 0);
	cleanup_close(&c->listen_fd);
	cleanup_close(&c->epoll_fd);
	free(c);
}

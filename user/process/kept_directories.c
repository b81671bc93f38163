/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/kept_directories.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "process/environ.h"
#include "opener/opener.h"
#include "perfmap/maps/locate.h"

/* The root, then the directories of maps. */
#define PLACES (1 + PERFMAP_DIRECTORIES)

struct directory {
	int fd; /* -1 = free */
	uint64_t dev, ino, mount;
	uint32_t users;
};

struct held {
	uint32_t process;
	uint32_t ns_pid, euid;
	uint32_t places[PLACES]; /* rows of directories, or MODEL_NONE */
	bool partial;		 /* not all places were asked for */
	uint8_t looks;		 /* since its end */
	uint64_t used;
};

struct kept_directories {
	struct file_requests *requests;
	struct directory directories[KEPT_DIRECTORIES_MAX];
	unsigned open_cnt;
	struct held *held;
	size_t held_cnt, held_cap;
	uint64_t uses, closed;
};

struct kept_directories *kept_directories_new(struct file_requests *requests)
{
	struct kept_directories *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->requests = requests;
	for (unsigned i = 0; i < KEPT_DIRECTORIES_MAX; i++)
		h->directories[i].fd = -1;
	requests->kept = h;
	return h;
}

void kept_directories_free(struct kept_directories *h)
{
	if (!h)
		return;
	h->requests->kept = NULL;
	for (unsigned i = 0; i < KEPT_DIRECTORIES_MAX; i++)
		if (h->directories[i].fd >= 0)
			close(h->directories[i].fd);
	free(h->held);
	free(h);
}

static struct held *held_of(const struct kept_directories *h, uint32_t process)
{
	for (size_t i = h->held_cnt; i-- > 0;)
		if (h->held[i].process == process)
			return &h->held[i];
	return NULL;
}

static void let_go(struct kept_directories *h, struct held *held)
{
	for (unsigned i = 0; i < PLACES; i++) {
		struct directory *d;

		if (held->places[i] == MODEL_NONE)
			continue;
		d = &h->directories[held->places[i]];
		if (--d->users)
			continue;
		close(d->fd);
		d->fd = -1;
		h->open_cnt--;
	}
	*held = h->held[--h->held_cnt];
}

void kept_directories_release(struct kept_directories *h, uint32_t process)
{
	struct held *held = held_of(h, process);

	if (held)
		let_go(h, held);
}

static void let_go_oldest(struct kept_directories *h)
{
	struct held *oldest = NULL;

	for (size_t i = 0; i < h->held_cnt; i++)
		if (!oldest || h->held[i].used < oldest->used)
			oldest = &h->held[i];
	if (!oldest)
		return;
	let_go(h, oldest);
	h->closed++;
}

static uint32_t find_directory(const struct kept_directories *h, const struct file_reply *reply)
{
	for (uint32_t i = 0; i < KEPT_DIRECTORIES_MAX; i++) {
		const struct directory *d = &h->directories[i];

		if (d->fd >= 0 && d->mount == reply->mount && d->ino == reply->ino &&
		    d->dev == reply->dev)
			return i;
	}
	return MODEL_NONE;
}

/* Takes fd; MODEL_NONE where there is no room although others were closed. */
static uint32_t keep_directory(struct kept_directories *h, const struct file_reply *reply, int fd)
{
	_cleanup_close_ int dir_fd = fd;
	uint32_t row = find_directory(h, reply);

	if (row != MODEL_NONE) {
		h->directories[row].users++;
		return row;
	}
	while (h->open_cnt == KEPT_DIRECTORIES_MAX && h->held_cnt)
		let_go_oldest(h);
	for (row = 0; row < KEPT_DIRECTORIES_MAX && h->directories[row].fd >= 0; row++)
		;
	if (row == KEPT_DIRECTORIES_MAX)
		return MODEL_NONE;
	h->directories[row] = (struct directory){
		.fd = take_fd(&dir_fd),
		.dev = reply->dev,
		.ino = reply->ino,
		.mount = reply->mount,
		.users = 1,
	};
	h->open_cnt++;
	return row;
}

/* One place of a process, unless it is kept already. As file_requests_open(). */
static enum model_reason keep_place(struct kept_directories *h, const struct model *m,
				    struct held *held, unsigned place, struct file_request *request)
{
	struct file_reply reply;
	enum model_reason reason;
	int fd;

	if (held->places[place] != MODEL_NONE)
		return REASON_NAMED;
	request->directory = place;
	reason = file_requests_open(h->requests, m, held->process, request, -1, &reply, &fd);
	if (reason || reply.error)
		return reason;
	held->ns_pid = reply.ns_pid;
	held->euid = reply.euid;
	held->places[place] = keep_directory(h, &reply, fd);
	return REASON_NAMED;
}

/* Those that no environment names first: its process may be gone before that was read. */
static enum model_reason keep_places(struct kept_directories *h, const struct model *m,
				     struct held *held, struct file_request *request)
{
	enum model_reason reason = keep_place(h, m, held, 0, request);

	if (!reason)
		reason = keep_place(h, m, held, 1 + PERFMAP_DIRECTORY_FIXED, request);
	if (!reason)
		reason = environ_of(h->requests, m, held->process, &request->env);
	for (unsigned i = 1; i < PLACES && !reason; i++)
		reason = keep_place(h, m, held, i, request);
	return reason;
}

enum model_reason kept_directories_keep(struct kept_directories *h, const struct model *m,
					uint32_t process)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct held *old = held_of(h, process), held = {.process = process};
	enum model_reason reason;

	if (old && !old->partial)
		return REASON_NAMED;
	if (!request)
		return REASON_LIMIT;
	for (unsigned i = 0; i < PLACES; i++)
		held.places[i] = MODEL_NONE;
	/* Out of reach of those who look for the oldest. */
	if (old) {
		held = *old;
		*old = h->held[--h->held_cnt];
	}
	while (h->held_cnt >= KEPT_PROCESSES_MAX)
		let_go_oldest(h);
	if (GROW(h->held, h->held_cnt, h->held_cap))
		return REASON_LIMIT;
	held.used = ++h->uses;
	request->what = FILE_REQUEST_DIRECTORY;
	reason = keep_places(h, m, &held, request);
	held.partial = reason != REASON_NAMED;
	h->held[h->held_cnt++] = held;
	return reason;
}

static int fd_of(struct kept_directories *h, uint32_t process, unsigned place,
		 struct held **ret_held)
{
	struct held *held = held_of(h, process);

	if (!held || held->places[place] == MODEL_NONE)
		return -1;
	held->used = ++h->uses;
	*ret_held = held;
	return h->directories[held->places[place]].fd;
}

int kept_directories_root(struct kept_directories *h, uint32_t process)
{
	struct held *held;

	return fd_of(h, process, 0, &held);
}

bool kept_directories_map_place(struct kept_directories *h, uint32_t process, unsigned candidate,
				struct kept_place *ret_place)
{
	struct held *held;
	int fd = fd_of(h, process, 1 + candidate, &held);

	if (fd < 0)
		return false;
	*ret_place = (struct kept_place){fd, held->ns_pid, held->euid};
	return true;
}

void kept_directories_tail(struct kept_directories *h, const struct model *m)
{
	for (size_t i = 0; i < h->held_cnt;) {
		struct held *held = &h->held[i];

		if (m->processes[held->process].exit_ns && ++held->looks > KEPT_LOOKS)
			let_go(h, held);
		else
			i++;
	}
}

unsigned kept_directories_cnt(const struct kept_directories *h)
{
	return h->open_cnt;
}

uint64_t kept_directories_closed(const struct kept_directories *h)
{
	return h->closed;
}

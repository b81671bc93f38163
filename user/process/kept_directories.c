/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/kept_directories.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "perfmap/maps/locate.h"

/* The root, then the directories of maps. */
#define PLACES (1 + PERFMAP_DIRECTORIES)

struct directory {
	int fd; /* -1 = free */
	uint64_t dev, ino, mount;
	uint32_t users;
};

struct kept_process {
	uint32_t process;
	uint32_t ns_pid, euid;
	uint32_t places[PLACES]; /* rows of directories, or MODEL_NONE */
	bool partial;		 /* not all places were asked for */
	uint8_t looks;		 /* since its end */
	uint64_t used;
};

struct kept_directories {
	struct file_requests *requests; /* borrowed, as the next one */
	struct environs *environs;
	struct directory directories[KEPT_DIRECTORIES_MAX];
	unsigned open_cnt;
	struct kept_process *kept;
	size_t kept_cnt, kept_cap;
	uint64_t uses, closed;
};

struct kept_directories *kept_directories_new(struct file_requests *requests,
					      struct environs *environs)
{
	struct kept_directories *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->requests = requests;
	k->environs = environs;
	for (unsigned i = 0; i < KEPT_DIRECTORIES_MAX; i++)
		k->directories[i].fd = -1;
	return k;
}

void kept_directories_free(struct kept_directories *k)
{
	if (!k)
		return;
	for (unsigned i = 0; i < KEPT_DIRECTORIES_MAX; i++)
		if (k->directories[i].fd >= 0)
			close(k->directories[i].fd);
	free(k->kept);
	free(k);
}

static struct kept_process *kept_of(const struct kept_directories *k, uint32_t process)
{
	for (size_t i = k->kept_cnt; i-- > 0;)
		if (k->kept[i].process == process)
			return &k->kept[i];
	return NULL;
}

static void release(struct kept_directories *k, struct kept_process *kept)
{
	for (unsigned i = 0; i < PLACES; i++) {
		struct directory *d;

		if (kept->places[i] == MODEL_NONE)
			continue;
		d = &k->directories[kept->places[i]];
		if (--d->users)
			continue;
		close(d->fd);
		d->fd = -1;
		k->open_cnt--;
	}
	*kept = k->kept[--k->kept_cnt];
}

void kept_directories_release(struct kept_directories *k, uint32_t process)
{
	struct kept_process *kept = kept_of(k, process);

	if (kept)
		release(k, kept);
}

static void release_oldest(struct kept_directories *k)
{
	struct kept_process *oldest = NULL;

	for (size_t i = 0; i < k->kept_cnt; i++)
		if (!oldest || k->kept[i].used < oldest->used)
			oldest = &k->kept[i];
	if (!oldest)
		return;
	release(k, oldest);
	k->closed++;
}

static uint32_t find_directory(const struct kept_directories *k, const struct file_reply *reply)
{
	for (uint32_t i = 0; i < KEPT_DIRECTORIES_MAX; i++) {
		const struct directory *d = &k->directories[i];

		if (d->fd >= 0 && d->mount == reply->directory.mount &&
		    d->ino == reply->directory.ino && d->dev == reply->directory.dev)
			return i;
	}
	return MODEL_NONE;
}

/* Takes fd; MODEL_NONE where there is no room although others were closed. */
static uint32_t keep_directory(struct kept_directories *k, const struct file_reply *reply, int fd)
{
	_cleanup_close_ int dir_fd = fd;
	uint32_t row = find_directory(k, reply);

	if (row != MODEL_NONE) {
		k->directories[row].users++;
		return row;
	}
	while (k->open_cnt == KEPT_DIRECTORIES_MAX && k->kept_cnt)
		release_oldest(k);
	for (row = 0; row < KEPT_DIRECTORIES_MAX && k->directories[row].fd >= 0; row++)
		;
	if (row == KEPT_DIRECTORIES_MAX)
		return MODEL_NONE;
	k->directories[row] = (struct directory){
		.fd = take_fd(&dir_fd),
		.dev = reply->directory.dev,
		.ino = reply->directory.ino,
		.mount = reply->directory.mount,
		.users = 1,
	};
	k->open_cnt++;
	return row;
}

/* One place of a process, unless it is kept already. As file_requests_open(). */
static enum model_reason keep_place(struct kept_directories *k, const struct model *m,
				    struct kept_process *kept, unsigned place,
				    struct file_request *request)
{
	struct file_reply reply;
	enum model_reason reason;
	int fd;

	if (kept->places[place] != MODEL_NONE)
		return REASON_NAMED;
	request->directory.place = place;
	reason = file_requests_open(k->requests, m, kept->process, request, -1, &reply, &fd);
	if (reason || reply.error)
		return reason;
	kept->ns_pid = reply.directory.ns_pid;
	kept->euid = reply.directory.euid;
	kept->places[place] = keep_directory(k, &reply, fd);
	return REASON_NAMED;
}

/* Those that no environment names first: its process may be gone before that was read. */
static enum model_reason keep_places(struct kept_directories *k, const struct model *m,
				     struct kept_process *kept, struct file_request *request)
{
	enum model_reason reason = keep_place(k, m, kept, 0, request);

	if (!reason)
		reason = keep_place(k, m, kept, 1 + PERFMAP_DIRECTORY_FIXED, request);
	if (!reason)
		reason = environs_read(k->environs, m, kept->process, &request->directory.env);
	for (unsigned i = 1; i < PLACES && !reason; i++)
		reason = keep_place(k, m, kept, i, request);
	return reason;
}

enum model_reason kept_directories_keep(struct kept_directories *k, const struct model *m,
					uint32_t process)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct kept_process *old = kept_of(k, process), kept = {.process = process};
	enum model_reason reason;

	if (old && !old->partial)
		return REASON_NAMED;
	if (!request)
		return REASON_LIMIT;
	for (unsigned i = 0; i < PLACES; i++)
		kept.places[i] = MODEL_NONE;
	/* Out of reach of those who look for the oldest. */
	if (old) {
		kept = *old;
		*old = k->kept[--k->kept_cnt];
	}
	while (k->kept_cnt >= KEPT_PROCESSES_MAX)
		release_oldest(k);
	if (GROW(k->kept, k->kept_cnt, k->kept_cap))
		return REASON_LIMIT;
	kept.used = ++k->uses;
	request->kind = FILE_REQUEST_DIRECTORY;
	reason = keep_places(k, m, &kept, request);
	kept.partial = reason != REASON_NAMED;
	k->kept[k->kept_cnt++] = kept;
	return reason;
}

static int fd_of(struct kept_directories *k, uint32_t process, unsigned place,
		 struct kept_process **ret_kept)
{
	struct kept_process *kept = kept_of(k, process);

	if (!kept || kept->places[place] == MODEL_NONE)
		return -1;
	kept->used = ++k->uses;
	*ret_kept = kept;
	return k->directories[kept->places[place]].fd;
}

int kept_directories_root(struct kept_directories *k, uint32_t process)
{
	struct kept_process *kept;

	return fd_of(k, process, 0, &kept);
}

bool kept_directories_map_place(struct kept_directories *k, uint32_t process, unsigned candidate,
				struct kept_place *ret_place)
{
	struct kept_process *kept;
	int fd = fd_of(k, process, 1 + candidate, &kept);

	if (fd < 0)
		return false;
	*ret_place = (struct kept_place){fd, kept->ns_pid, kept->euid};
	return true;
}

void kept_directories_tail(struct kept_directories *k, const struct model *m)
{
	for (size_t i = 0; i < k->kept_cnt;) {
		struct kept_process *kept = &k->kept[i];

		if (m->processes[kept->process].exit_ns && ++kept->looks > KEPT_LOOKS)
			release(k, kept);
		else
			i++;
	}
}

unsigned kept_directories_cnt(const struct kept_directories *k)
{
	return k->open_cnt;
}

uint64_t kept_directories_closed(const struct kept_directories *k)
{
	return k->closed;
}

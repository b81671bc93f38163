/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A resident recorder that records nothing: for the live test of `hotrun trigger` and `hotrun
 * captures`, without BPF. A capture that is asked for gets a slice at once, is complete AFTER
 * later, and has a text as its artifact.
 *
 *   fake_recorder DIR		serves until it is killed; says "ready" on stdout
 *   fake_recorder DIR hang	listens, and never answers
 *   fake_recorder DIR fail	begins captures, and fails them
 *   fake_recorder DIR end	ends as soon as one has begun
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"
#include "store/store.h"
#include "watch/control.h"
#include "watch/folder.h"

struct fake {
	const char *path, *mode;
	int dir;
	struct model *m;
	struct store *store; /* of the capture under way, or NULL */
	char name[FOLDER_NAME_BYTES];
	uint64_t end_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int fill(struct fake *f, uint64_t before_ns)
{
	struct model_slice slice = {.end_ns = now_ns()};

	f->m = model_new();
	if (!f->m)
		return -ENOMEM;
	f->m->host.sample_hz = 19;
	f->m->host.start_ns = slice.start_ns = slice.end_ns - before_ns;
	f->m->host.end_ns = slice.end_ns;
	return model_slice_add(f->m, &slice);
}

static int on_trigger(void *ctx, uint64_t before_ns, uint64_t after_ns,
		      char ret_name[static FOLDER_NAME_BYTES], char *why, size_t why_bytes)
{
	struct fake *f = ctx;
	char path[4096];
	int err;

	if (f->store) {
		snprintf(why, why_bytes, "one at a time");
		return -EBUSY;
	}
	err = folder_name(f->dir, "fake", time(NULL), FOLDER_TRIGGER, f->name);
	if (!err)
		err = fill(f, before_ns);
	snprintf(path, sizeof(path), "%s/%s", f->path, f->name);
	if (!err)
		err = store_create(path, f->m, &f->store);
	if (!err)
		err = store_write_slice(f->store, f->m);
	if (!err)
		memcpy(ret_name, f->name, sizeof(f->name));
	f->end_ns = now_ns() + after_ns;
	return err;
}

static void on_status(void *ctx, char *text, size_t bytes)
{
	const struct fake *f = ctx;

	snprintf(text, bytes, "capturing %d\n", f->store != NULL);
}

static void write_artifact(struct fake *f)
{
	char name[FOLDER_NAME_BYTES];
	int fd;

	snprintf(name, sizeof(name), "%.*s.txt", (int)(strlen(f->name) - strlen(".hotrun")),
		 f->name);
	fd = openat(f->dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd >= 0) {
		(void)!write(fd, "a report\n", 9);
		close(fd);
	}
}

static void finish(struct fake *f, struct control *c)
{
	int err = 0;

	if (!strcmp(f->mode, "fail")) {
		store_free(f->store);
		err = -ENOSPC;
	} else {
		err = store_finish(f->store, f->m);
		write_artifact(f);
	}
	f->store = NULL;
	model_free(f->m);
	control_done(c, f->name, err);
}

int main(int argc, char **argv)
{
	struct fake f = {.path = argc > 1 ? argv[1] : "", .mode = argc > 2 ? argv[2] : ""};
	const struct control_ops ops = {&f, on_trigger, on_status, NULL};
	struct control *c;
	char why[1024];
	int lock, err;

	if (folder_open(f.path, true, why, sizeof(why), &f.dir) ||
	    folder_lock(f.dir, why, sizeof(why), &lock)) {
		fprintf(stderr, "fake_recorder: %s\n", why);
		return 1;
	}
	folder_clean(f.dir);
	err = control_new(f.dir, &ops, &c);
	if (err) {
		fprintf(stderr, "fake_recorder: control: %s\n", strerror(-err));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (strcmp(f.mode, "hang") != 0) {
		struct pollfd p = {.fd = control_fd(c), .events = POLLIN};

		poll(&p, 1, 20);
		control_look(c, now_ns());
		if (f.store && !strcmp(f.mode, "end"))
			return 0;
		if (f.store && now_ns() >= f.end_ns)
			finish(&f, c);
	}
	for (;;)
		pause();
}

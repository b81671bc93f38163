/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of the running recorder: opened and locked, followed when it goes, with what earlier
 * runs left. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernel/host.h"
#include "watch/own_snapshot.h"
#include "watch/private.h"

#define FOLLOW_NS 5000000000ull

static int begin_capture(void *ctx, uint64_t before_ns, uint64_t after_ns,
			 char ret_name[static FOLDER_NAME_BYTES], char *why, size_t why_bytes)
{
	const struct job_options options = {
		.by = FOLDER_TRIGGER, .before_ns = before_ns, .after_ns = after_ns};

	return jobs_begin(ctx, &options, ret_name, why, why_bytes);
}

static void tell_status(void *ctx, char *text, size_t bytes)
{
	page_status(ctx, text, bytes);
}

int home_open(struct watch *w, char *why, size_t why_bytes)
{
	const struct control_ops ops = {.ctx = w,
					.trigger = begin_capture,
					.status = tell_status,
					.snapshot = own_snapshot_answer};
	const struct history_setup setup = {w->config.history_bytes, w->config.history_days};
	int err;

	err = folder_open(w->options.dir, true, why, why_bytes, &w->dir);
	if (!err)
		err = folder_lock(w->dir, why, why_bytes, &w->lock_fd);
	if (err)
		return err;
	err = control_new(w->dir, &ops, &w->control);
	if (err) {
		snprintf(why, why_bytes, "%s/control: %s", w->options.dir, strerror(-err));
		return err;
	}
	w->artifacts = artifacts_new(w->dir);
	if (!w->artifacts) {
		err = -errno;
		snprintf(why, why_bytes, "%s", strerror(-err));
		return err;
	}
	w->history = history_new(w->dir, &setup);
	if (!w->history)
		log_warn("history: %s; recording goes on without it", strerror(errno));
	return 0;
}

void home_close(struct watch *w)
{
	history_free(w->history);
	w->history = NULL;
	control_free(w->control);
	artifacts_free(w->artifacts);
	w->control = NULL;
	w->artifacts = NULL;
	cleanup_close(&w->lock_fd);
	cleanup_close(&w->dir);
	w->lock_fd = w->dir = -1;
}

void home_follow(struct watch *w, uint64_t now_ns)
{
	char why[512];

	if (now_ns - w->followed_ns < FOLLOW_NS)
		return;
	w->followed_ns = now_ns;
	if (w->control && folder_stays(w->dir, w->options.dir))
		return;
	if (w->control)
		log_warn("%s: the folder is gone; captures in it are lost", w->options.dir);
	jobs_drop(w);
	home_close(w);
	w->unsaved = true;
	if (!home_open(w, why, sizeof(why))) {
		folder_clean(w->dir);
		log_info("%s: made anew", w->options.dir);
		*w->home_why = '\0';
		return;
	}
	home_close(w);
	if (strcmp(why, w->home_why) != 0)
		log_error("%s; no captures until that is mended", why);
	snprintf(w->home_why, sizeof(w->home_why), "%s", why);
}

/* Of captures with artifacts, and whose artifacts an earlier run did not come to. */
static void finish_artifacts(struct watch *w)
{
	_cleanup_free_ struct folder_capture *captures = NULL;
	size_t cnt = 0;

	if (folder_captures(w->dir, &captures, &cnt))
		return;
	for (size_t i = 0; i < cnt; i++) {
		const struct folder_capture *c = &captures[i];

		if (c->capture && c->by != FOLDER_ROTATE && !(c->text && c->page))
			artifacts_add(w->artifacts, c->name);
	}
}

void home_take_over(struct watch *w)
{
	unsigned int removed = folder_clean(w->dir), delay_s;
	const struct governor_options options = w->governor.options;
	int err = state_read(w->dir, &w->state);

	if (removed)
		log_info("%s: removed %u unfinished files of an earlier run", w->options.dir,
			 removed);
	if (err && err != -ENOENT)
		log_warn("%s/state: %s; begun anew", w->options.dir, strerror(-err));
	/* What was too much then is too much now, until it turns out otherwise. */
	governor_init(&w->governor, &options, (enum governor_level)w->state.level);
	delay_s = state_start(&w->state, (int64_t)time(NULL));
	w->attach_ns = clock_now_ns() + delay_s * SECOND_NS;
	if (delay_s) {
		log_warn("started again and again: waiting %u s before observing this host",
			 delay_s);
		page_not_ready(w, "started again and again without a proper end; waiting");
	}
	w->state.clean = false;
	automatic_take_over(w);
	save_state(w);
	finish_artifacts(w);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures of the resident recorder: begun, fed slice by slice, ended, and in the end removed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernel/host.h"
#include "store/store.h"
#include "watch/private.h"

#define KEEP_EVERY_NS 60000000000ull
/* The loop stands still while it removes: 1000 small files take a tenth of a second. */
#define REMOVE_AT_ONCE	1000
#define REMOVE_AGAIN_NS 10000000000ull
#define REMOVED_TOLD	10 /* one by one */
/* A capture remembers whoever it has seen: on a host where thousands of processes come and go each
 * second it ends early, when it has grown to so many times what the recorder itself may know
 * (--memory). */
#define MEMORY_PARTS 4
/* So long before its end a capture has the second look at where every thread stands. */
#define LOOK_BEFORE_NS 1500000000ull

static int64_t wall_s(void)
{
	return (int64_t)time(NULL);
}

/* --- begin ----------------------------------------------------------------------------------- */

/* Each kind has places of its own: whatever is taken by itself, a person's goes. */
static struct job *free_job(struct watch *w, enum folder_by by)
{
	struct job *found = NULL;
	unsigned int cnt = 0;

	for (int i = 0; i < JOBS_MAX; i++) {
		if (!w->jobs[i].writer)
			found = &w->jobs[i];
		else
			cnt += w->jobs[i].by == by;
	}
	return cnt < (by == FOLDER_TRIGGER ? JOBS_ASKED : 1) ? found : NULL;
}

static uint64_t from_of(uint64_t now_ns, uint64_t before_ns)
{
	if (!before_ns)
		return UINT64_MAX;
	return before_ns < now_ns ? now_ns - before_ns : 0;
}

/* Says it once, until something works again or fails otherwise. */
static void note_failure(struct watch *w, const char *name, int err)
{
	w->state.failed++;
	if (err != w->failed_err)
		log_error("capture %s: %s; what was written before can be read", name,
			  store_error_text(err));
	w->failed_err = err;
}

/* Where every thread stands: in the slice that is open, which the capture will have. Of who did not
 * run before tables and names come by it: a second look, a moment later, has them. */
static void look_at_all(struct watch *w)
{
	int err = collector_look_at_all(w->collector);

	if (err && err != -ENOTSUP)
		log_debug("where threads stand: %s", strerror(-err));
}

static int begin(struct watch *w, struct job *job, const struct job_options *wanted)
{
	const struct model *m = collector_model(w->collector);
	uint64_t now_ns = clock_now_ns();
	struct capture_writer_options options = {
		.from_ns = from_of(now_ns, wanted->before_ns),
		.until_ns = wanted->after_ns < UINT64_MAX - now_ns ? now_ns + wanted->after_ns
								   : UINT64_MAX,
		.selection = &w->config.selection,
		.taken = wanted->taken,
	};
	_cleanup_free_ char *path = NULL;
	int err = folder_name(w->dir, m->host.name, wall_s(), wanted->by, job->name);

	if (err)
		return err;
	/* Whatever lies under the folder's own path by now. */
	if (asprintf(&path, "/proc/self/fd/%d/%s", w->dir, job->name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	options.path = path;
	job->by = wanted->by;
	job->end_ns = options.until_ns;
	job->rotate_ns = w->config.rotate_ns;
	err = capture_writer_new(&options, w->ring, m, &job->writer);
	if (err)
		return err;
	job->look_ns = 0;
	if (wanted->by == FOLDER_ROTATE)
		return 0;
	if (wanted->after_ns > LOOK_BEFORE_NS && options.until_ns != UINT64_MAX)
		job->look_ns = options.until_ns - LOOK_BEFORE_NS;
	look_at_all(w);
	collector_take_switches(w->collector);
	return 0;
}

/* Somebody asked in vain. */
static void note_refused(struct watch *w, enum folder_by by, const char *why)
{
	if (by == FOLDER_TRIGGER)
		history_add_decision(w->history,
				     &(struct history_decision){.time_s = wall_s(), .reason = why});
}

int jobs_begin(struct watch *w, const struct job_options *options,
	       char ret_name[static FOLDER_NAME_BYTES], char *why, size_t why_bytes)
{
	struct job *job = free_job(w, options->by);
	int err;

	if (!w->control) {
		snprintf(why, why_bytes, "%s cannot be opened", w->options.dir);
		return -ENOENT;
	}
	if (!w->collector) {
		snprintf(why, why_bytes, "this host is not observed: %s", w->why);
		return -ENOTSUP;
	}
	if (!job) {
		snprintf(why, why_bytes, "%d captures are under way already", JOBS_ASKED);
		note_refused(w, options->by, why);
		return -EBUSY;
	}
	err = begin(w, job, options);
	if (err) {
		note_failure(w, job->name, err);
		snprintf(why, why_bytes, "%s: %s", w->options.dir, store_error_text(err));
		note_refused(w, options->by, why);
		return err;
	}
	memcpy(ret_name, job->name, FOLDER_NAME_BYTES);
	if (options->by != FOLDER_TRIGGER)
		return 0;
	history_add_decision(w->history,
			     &(struct history_decision){.time_s = wall_s(),
							.taken = true,
							.reason = "somebody asked for it",
							.capture = job->name});
	log_info("capture %s: begun, %.0f s before and %.0f s after now", job->name,
		 (double)options->before_ns / 1e9, (double)options->after_ns / 1e9);
	return 0;
}

/* --- end ------------------------------------------------------------------------------------- */

/* Called off before its first slice: of a rotation nothing is missing. */
static void withdraw(struct watch *w, struct job *job)
{
	capture_writer_withdraw(job->writer);
	job->writer = NULL;
	if (job->by == FOLDER_ROTATE)
		return;
	note_failure(w, job->name, -ENODATA);
	control_done(w->control, job->name, -ENODATA);
}

static void end(struct watch *w, struct job *job, int err)
{
	if (!err && capture_writer_is_empty(job->writer)) {
		withdraw(w, job);
		return;
	}
	if (err)
		capture_writer_free(job->writer);
	else
		err = capture_writer_finish(job->writer);
	job->writer = NULL;
	if (err) {
		note_failure(w, job->name, err);
		control_done(w->control, job->name, err);
		return;
	}
	w->failed_err = 0;
	if (job->by == FOLDER_ROTATE) {
		w->state.rotated++;
		return;
	}
	if (job->by == FOLDER_AUTO) {
		w->state.automatic++;
	} else {
		w->state.triggered++;
		w->state.trigger_s = wall_s();
	}
	if (job->by == FOLDER_AUTO)
		finished_capture(w, job->name);
	err = artifacts_add(w->artifacts, job->name);
	if (err) {
		finished_artifacts(w, job->name, err);
		control_done(w->control, job->name, 0);
	}
}

static bool rotates(const struct watch *w)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (w->jobs[i].writer && w->jobs[i].by == FOLDER_ROTATE)
			return true;
	return false;
}

static void rotate(struct watch *w)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t end_ns = rotation_end_ns(w->config.rotate_ns, now_ns, host_wall_offset_ns());
	char name[FOLDER_NAME_BYTES], why[512];

	/* Why it cannot be was told by jobs_begin(); tried again with the next slice. */
	jobs_begin(w, &(struct job_options){.after_ns = end_ns - now_ns}, name, why, sizeof(why));
}

/* Beyond its memory, or with a length that is no longer wanted. */
static bool is_due(const struct watch *w, const struct job *job)
{
	size_t bytes = capture_writer_memory_bytes(job->writer);

	if (job->by == FOLDER_ROTATE && job->rotate_ns != w->config.rotate_ns)
		return true;
	if (bytes <= MEMORY_PARTS * w->config.memory_bytes)
		return false;
	log_warn("capture %s: ends early: too many processes came and went (%zu MiB; --memory)",
		 job->name, bytes >> 20);
	return true;
}

void jobs_slice(struct watch *w)
{
	const struct model *m = collector_model(w->collector);

	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *job = &w->jobs[i];
		int err;

		if (!job->writer)
			continue;
		err = capture_writer_slice(job->writer, m);
		if (err || capture_writer_is_over(job->writer) || is_due(w, job))
			end(w, job, err);
	}
	model_forget_switches(collector_model(w->collector));
	if (w->config.rotate_ns && !w->stop && !rotates(w))
		rotate(w);
}

void jobs_leave(struct watch *w)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (w->jobs[i].writer)
			capture_writer_leave(w->jobs[i].writer);
}

bool jobs_asked(const struct watch *w)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (w->jobs[i].writer && w->jobs[i].by != FOLDER_ROTATE)
			return true;
	return false;
}

const struct job *jobs_auto(const struct watch *w)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (w->jobs[i].writer && w->jobs[i].by == FOLDER_AUTO)
			return &w->jobs[i];
	return NULL;
}

void jobs_end(struct watch *w)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (w->jobs[i].writer)
			end(w, &w->jobs[i], 0);
}

void jobs_drop(struct watch *w)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		capture_writer_free(w->jobs[i].writer);
		w->jobs[i].writer = NULL;
	}
}

/* --- retention ------------------------------------------------------------------------------- */

static bool is_busy(const struct watch *w, const char *name)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (w->jobs[i].writer && !strcmp(w->jobs[i].name, name))
			return true;
	return artifacts_has(w->artifacts, name);
}

/* False where it could not be, which is said once. */
static bool remove_capture(struct watch *w, const char *name)
{
	int err = folder_remove(w->dir, name);

	if (err && err != w->remove_err)
		log_warn("capture %s: cannot be removed: %s", name, strerror(-err));
	w->remove_err = err;
	return !err;
}

/* Returns how many were removed. Those of remove that stay, since they are too many at once or
 * cannot be removed, are unmarked. */
static uint64_t remove_marked(struct watch *w, const struct folder_capture *captures, size_t cnt,
			      bool *remove)
{
	uint64_t removed = 0, tried = 0;

	for (size_t i = cnt; i-- > 0;) {
		if (!remove[i])
			continue;
		remove[i] = tried++ < REMOVE_AT_ONCE && remove_capture(w, captures[i].name);
		if (remove[i] && ++removed <= REMOVED_TOLD)
			log_info("capture %s: removed (keep-count, keep-bytes, keep-age)",
				 captures[i].name);
	}
	if (removed > REMOVED_TOLD)
		log_info("captures: removed %llu more", (unsigned long long)removed - REMOVED_TOLD);
	/* Soon, but other things first. */
	if (tried > REMOVE_AT_ONCE)
		w->kept_ns -= KEEP_EVERY_NS - REMOVE_AGAIN_NS;
	return removed;
}

/* Looks through the folder: what has to go goes, the rest is counted. */
static void keep(struct watch *w)
{
	_cleanup_free_ struct folder_capture *captures = NULL;
	_cleanup_free_ struct retention_file *files = NULL;
	_cleanup_free_ bool *remove = NULL;
	uint64_t left, bytes = 0;
	size_t cnt = 0;

	if (folder_captures(w->dir, &captures, &cnt))
		return;
	files = calloc(cnt + 1, sizeof(*files));
	remove = calloc(cnt + 1, sizeof(*remove));
	if (!files || !remove)
		return;
	for (size_t i = 0; i < cnt; i++)
		files[i] = (struct retention_file){.time_s = captures[i].time_s,
						   .bytes = captures[i].bytes,
						   .worth = captures[i].by,
						   .busy = is_busy(w, captures[i].name)};
	if (retention_plan(&w->config.keep, files, cnt, wall_s(), remove))
		return;
	left = cnt - remove_marked(w, captures, cnt, remove);
	w->state.removed += cnt - left;
	for (size_t i = 0; i < cnt; i++)
		bytes += remove[i] ? 0 : files[i].bytes;
	for (size_t i = cnt; i-- > 0;)
		if (captures[i].by != FOLDER_ROTATE)
			w->last_bytes = captures[i].bytes;
	pthread_mutex_lock(&w->mutex);
	w->own.captures = left;
	w->own.capture_bytes = bytes;
	pthread_mutex_unlock(&w->mutex);
}

static void remember_trunks(struct watch *w, const char *name)
{
	int fd = artifacts_take_trunks(w->artifacts);

	if (fd < 0)
		return;
	history_add_trunks(w->history, name, folder_time_s(name), fd);
	close(fd);
}

/* One look is for all that are due. */
static void look_again(struct watch *w, uint64_t now_ns)
{
	bool due = false;

	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *job = &w->jobs[i];

		if (!job->writer || !job->look_ns || now_ns < job->look_ns)
			continue;
		job->look_ns = 0;
		due = true;
	}
	if (due && w->collector) {
		look_at_all(w);
		collector_take_switches(w->collector);
	}
}

void jobs_look(struct watch *w, uint64_t now_ns)
{
	const char *name;
	int err;

	look_again(w, now_ns);
	while (artifacts_look(w->artifacts, now_ns, &name, &err)) {
		finished_artifacts(w, name, err);
		remember_trunks(w, name);
		control_done(w->control, name, err);
		w->kept_ns = 0;
	}
	if (w->kept_ns && now_ns - w->kept_ns < KEEP_EVERY_NS)
		return;
	w->kept_ns = now_ns;
	keep(w);
	save_state(w);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/history.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/privileges.h"
#include "base/text.h"
#include "store/history.h"
#include "store/store.h"
#include "watch/minutes.h"

/* After something failed. */
#define AGAIN_S 15
/* At the end, for what is still to be written. */
#define END_S 5
/* Behind whatever is urgent. */
#define NICE 10
/* What a capture's trunks may take: some ten lines. */
#define TRUNKS_BYTES 32768
#define TRUNKS_LINES 50

enum entry_kind { ENTRY_MINUTE, ENTRY_DECISION, ENTRY_TRUNKS };

/* What is to be written; its texts are its own. */
struct entry {
	struct entry *next;
	enum entry_kind kind;
	struct history_minute minute;
	struct history_decision decision;
	struct history_trunk *trunks;
	size_t trunks_cnt;
	char **texts;
	size_t texts_cnt;
};

struct history {
	struct minutes *minutes;
	pthread_t thread;

	pthread_mutex_t mutex;
	pthread_cond_t changed, ended;
	/* With the mutex held. */
	struct history_setup setup;
	struct entry *first, **last;
	size_t waiting, lost; /* lost: minutes */
	struct past *past;    /* or NULL; replaced as a whole */
	bool stop, done, left;

	/* The thread's own. */
	int dir;
	struct history_file *file;
	int failed; /* why it cannot be written; told once */
	int64_t past_hour;
};

/* --- entries --------------------------------------------------------------------------------- */

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->texts_cnt; i++)
		free(e->texts[i]);
	free(e->texts);
	free(e->minute.rows);
	free(e->trunks);
	free(e);
}

static struct entry *entry_new(enum entry_kind kind, size_t texts)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->kind = kind;
	e->texts = calloc(texts + 1, sizeof(*e->texts));
	if (e->texts)
		return e;
	free(e);
	return NULL;
}

/* A copy that lives as long as the entry; NULL without memory. */
static const char *keep(struct entry *e, const char *text)
{
	char *copy = strdup(text ? text : "");

	if (copy)
		e->texts[e->texts_cnt++] = copy;
	return copy;
}

/* The oldest minute goes; decisions stay, which are few. */
static void make_room(struct history *h)
{
	struct entry **at = &h->first, *e;

	/* The first one may be being written. */
	if (*at)
		at = &(*at)->next;
	while (*at && (*at)->kind != ENTRY_MINUTE)
		at = &(*at)->next;
	if (!*at)
		return;
	e = *at;
	*at = e->next;
	if (!*at)
		h->last = at;
	entry_free(e);
	h->waiting--;
	h->lost++;
}

static void put(struct history *h, struct entry *e)
{
	if (!e) {
		log_warn("history: out of memory");
		return;
	}
	pthread_mutex_lock(&h->mutex);
	if (h->waiting >= HISTORY_WAITING)
		make_room(h);
	if (!h->setup.bytes_max || h->waiting > 2 * HISTORY_WAITING) {
		entry_free(e);
	} else {
		*h->last = e;
		h->last = &e->next;
		h->waiting++;
	}
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->mutex);
}

static struct entry *entry_of_minute(const struct history_minute *minute)
{
	struct entry *e = entry_new(ENTRY_MINUTE, 2 * minute->rows_cnt);

	if (!e)
		return NULL;
	e->minute = *minute;
	e->minute.rows = calloc(minute->rows_cnt + 1, sizeof(*e->minute.rows));
	for (size_t i = 0; e->minute.rows && i < minute->rows_cnt; i++) {
		struct history_row *row = &e->minute.rows[i];

		*row = minute->rows[i];
		if (!row->name)
			continue;
		row->name = keep(e, row->name);
		row->place = keep(e, row->place);
		if (!row->name || !row->place) {
			entry_free(e);
			return NULL;
		}
	}
	if (e->minute.rows)
		return e;
	entry_free(e);
	return NULL;
}

void history_add_decision(struct history *h, const struct history_decision *decision)
{
	struct entry *e = h ? entry_new(ENTRY_DECISION, 4) : NULL;
	struct history_decision *d;

	if (!h)
		return;
	if (e) {
		d = &e->decision;
		*d = *decision;
		d->process = keep(e, decision->process);
		d->reason = keep(e, decision->reason);
		d->trunk = keep(e, decision->trunk);
		d->capture = keep(e, decision->capture);
		if (!d->process || !d->reason || !d->trunk || !d->capture) {
			entry_free(e);
			e = NULL;
		}
	}
	put(h, e);
}

/* --- trunks ---------------------------------------------------------------------------------- */

static int parse_number(char **line, double most, double *ret_number)
{
	char *text = strsep(line, "\t");

	return text && *line && !text_parse_double(text, 0, most, ret_number) ? 0 : -EINVAL;
}

int history_parse_trunk(char *line, struct history_trunk *ret_trunk)
{
	struct history_trunk t = {.capture = ""};

	if (parse_number(&line, 1e9, &t.seconds) || parse_number(&line, 1e12, &t.people) ||
	    parse_number(&line, 1, &t.share))
		return -EINVAL;
	t.process = strsep(&line, "\t");
	t.path = line;
	if (!t.path || !*t.process || !*t.path)
		return -EINVAL;
	*ret_trunk = t;
	return 0;
}

static int add_trunk(struct entry *e, char *line, const char *capture, int64_t time_s)
{
	struct history_trunk *t = &e->trunks[e->trunks_cnt];

	if (history_parse_trunk(line, t))
		return 0;
	t->time_s = time_s;
	t->capture = capture;
	t->process = keep(e, t->process);
	t->path = keep(e, t->path);
	if (!t->process || !t->path)
		return -ENOMEM;
	e->trunks_cnt++;
	return 0;
}

void history_add_trunks(struct history *h, const char *capture, int64_t time_s, int fd)
{
	_cleanup_free_ char *text = calloc(1, TRUNKS_BYTES + 1);
	struct entry *e = text ? entry_new(ENTRY_TRUNKS, 2 * TRUNKS_LINES + 1) : NULL;
	const char *name = e ? keep(e, capture) : NULL;
	char *rest = text, *line;
	int err = name ? 0 : -ENOMEM;

	if (e)
		e->trunks = calloc(TRUNKS_LINES, sizeof(*e->trunks));
	if (!e || !e->trunks || !h || io_read_at(fd, text, TRUNKS_BYTES, 0) <= 0) {
		entry_free(e);
		return;
	}
	while (!err && e->trunks_cnt < TRUNKS_LINES && (line = strsep(&rest, "\n")))
		err = add_trunk(e, line, name, time_s);
	if (err || !e->trunks_cnt)
		entry_free(e);
	else
		put(h, e);
}

/* --- minutes --------------------------------------------------------------------------------- */

void history_slice(struct history *h, const struct model *m, uint32_t slice)
{
	struct history_minute minute;

	if (!h || !h->setup.bytes_max)
		return;
	if (minutes_slice(h->minutes, m, slice))
		log_warn("history: a second is missing in part: out of memory");
	while (minutes_take(h->minutes, false, &minute))
		put(h, entry_of_minute(&minute));
}

void history_judge(struct history *h, uint32_t slice, uint32_t process,
		   const struct verdict_input *input, const struct verdict_result *result)
{
	if (h && h->setup.bytes_max)
		minutes_judge(h->minutes, slice, process, input, result);
}

void history_judged(struct history *h)
{
	if (h)
		minutes_judged(h->minutes);
}

bool history_usual(struct history *h, const char *name, const char *place,
		   struct past_usual *ret_usual)
{
	bool known;

	*ret_usual = (struct past_usual){0};
	if (!h)
		return false;
	pthread_mutex_lock(&h->mutex);
	known = h->past && past_usual(h->past, name, place, ret_usual);
	pthread_mutex_unlock(&h->mutex);
	return known;
}

bool history_speed(struct history *h, const char *name, const char *place, double rate,
		   struct past_speed *ret_speed)
{
	bool known;

	*ret_speed = (struct past_speed){0};
	if (!h)
		return false;
	pthread_mutex_lock(&h->mutex);
	known = h->past && past_speed(h->past, name, place, rate, ret_speed);
	pthread_mutex_unlock(&h->mutex);
	return known;
}

/* --- the thread ------------------------------------------------------------------------------ */

static int worse(uint64_t a, uint64_t b)
{
	return verdict_compare((enum verdict)a, (enum verdict)b);
}

static struct history_options options_of(struct history *h)
{
	struct history_options options = {.worse = worse};

	pthread_mutex_lock(&h->mutex);
	options.bytes_max = h->setup.bytes_max;
	options.days_max = h->setup.days_max;
	pthread_mutex_unlock(&h->mutex);
	return options;
}

static const char *words(int err)
{
	switch (-err) {
	case EPROTO:
		return "written by a newer hotrun; left alone";
	case EPERM:
		return "not a file of the recorder's; left alone";
	case EACCES:
	case EROFS:
		return "cannot be written (read-only, or no permission)";
	case ENOSPC:
		return "no space left (disk, quota or ulimit -f)";
	case EBUSY:
		return "somebody holds it";
	case EBADMSG:
		return "damaged";
	default:
		return strerror(-err);
	}
}

/* Said once, until it works again or fails otherwise. */
static void note(struct history *h, int err)
{
	size_t lost;

	if (err && err != h->failed)
		log_warn("history: %s; recording goes on without it", words(err));
	if (!err && h->failed) {
		pthread_mutex_lock(&h->mutex);
		lost = h->lost;
		h->lost = 0;
		pthread_mutex_unlock(&h->mutex);
		log_info("history: written again; %zu minutes are missing", lost);
	}
	h->failed = err;
}

static int open_file(struct history *h)
{
	struct history_options options = options_of(h);
	bool aside = false;
	int err;

	if (h->file) {
		history_file_set(h->file, &options);
		return 0;
	}
	err = history_file_open(h->dir, &options, &aside, &h->file);
	if (aside)
		log_warn("history: damaged; moved to " HISTORY_DAMAGED " and begun anew");
	return err;
}

static int write_entry(struct history *h, const struct entry *e)
{
	switch (e->kind) {
	case ENTRY_MINUTE:
		return history_file_write(h->file, &e->minute, 1);
	case ENTRY_DECISION:
		return history_file_decide(h->file, &e->decision);
	default:
		return history_file_trunks(h->file, e->trunks, e->trunks_cnt);
	}
}

static int add_past_hour(void *ctx, int64_t time_s, uint32_t kind,
			 const struct history_figures *figures)
{
	return past_hour(ctx, time_s, kind, figures);
}

static int fill_past(struct history *h, struct past *past)
{
	_cleanup_free_ struct history_kind *kinds = NULL;
	size_t cnt = 0;
	int err = history_file_kinds(h->file, &kinds, &cnt);

	for (size_t i = 0; !err && i < cnt; i++)
		err = past_kind(past, &kinds[i]);
	return err ? err
		   : history_file_rows(h->file, HISTORY_HOURS, 0, INT64_MAX, HISTORY_ANY,
				       add_past_hour, past);
}

/* What is usual at this hour; the former one stays where it cannot be read. */
static void read_past(struct history *h)
{
	int64_t now_s = (int64_t)time(NULL);
	struct past *past, *former;

	if (now_s / HISTORY_HOUR_S == h->past_hour)
		return;
	h->past_hour = now_s / HISTORY_HOUR_S;
	past = past_new(now_s);
	if (!past || fill_past(h, past)) {
		past_free(past);
		return;
	}
	past_ready(past);
	pthread_mutex_lock(&h->mutex);
	former = h->past;
	h->past = past;
	pthread_mutex_unlock(&h->mutex);
	past_free(former);
}

static int work(struct history *h, const struct entry *e)
{
	int err = open_file(h);

	if (!err && e)
		err = write_entry(h, e);
	if (err == -EBADMSG && h->file) {
		/* Opened anew, it is moved aside; the entry comes again. */
		history_file_close(h->file);
		h->file = NULL;
		err = open_file(h);
		if (!err && e)
			err = write_entry(h, e);
	}
	if (!err)
		read_past(h);
	return err;
}

/* The mutex is held. */
static void wait_for_work(struct history *h, bool failed)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += AGAIN_S;
	/* What failed comes again after a while, and not with each entry. */
	while (!h->stop && (failed || !h->first))
		if (pthread_cond_timedwait(&h->changed, &h->mutex, &until))
			break;
}

static void drop_first(struct history *h)
{
	struct entry *e = h->first;

	h->first = e->next;
	if (!h->first)
		h->last = &h->first;
	h->waiting--;
	entry_free(e);
}

static void history_clear(struct history *h)
{
	while (h->first)
		drop_first(h);
	history_file_close(h->file);
	minutes_free(h->minutes);
	past_free(h->past);
	cleanup_close(&h->dir);
	pthread_cond_destroy(&h->changed);
	pthread_cond_destroy(&h->ended);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}

static void *run(void *ctx)
{
	struct history *h = ctx;
	bool left, enabled, end = false;
	struct entry *e;
	int err = privileges_keep(0);

	if (err)
		log_warn("history: capabilities: %s", strerror(-err));
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	while (!end) {
		pthread_mutex_lock(&h->mutex);
		e = h->first;
		enabled = h->setup.bytes_max != 0;
		pthread_mutex_unlock(&h->mutex);
		err = enabled ? work(h, e) : 0;
		if (enabled)
			note(h, err);
		pthread_mutex_lock(&h->mutex);
		if (!err && e)
			drop_first(h);
		/* At the end what failed is tried once more. */
		end = h->stop && (err || !h->first);
		if (!end && (err || !h->first))
			wait_for_work(h, err != 0);
		pthread_mutex_unlock(&h->mutex);
	}
	history_file_close(h->file);
	h->file = NULL;
	pthread_mutex_lock(&h->mutex);
	h->done = true;
	left = h->left;
	pthread_cond_signal(&h->ended);
	pthread_mutex_unlock(&h->mutex);
	if (left)
		history_clear(h);
	return NULL;
}

/* --- begin and end --------------------------------------------------------------------------- */

static int start(struct history *h)
{
	pthread_condattr_t monotonic;
	pthread_attr_t small;
	int err;

	pthread_mutex_init(&h->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&h->changed, &monotonic);
	pthread_cond_init(&h->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_attr_init(&small);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&small, 256 << 10);
	err = pthread_create(&h->thread, &small, run, h);
	pthread_attr_destroy(&small);
	return -err;
}

struct history *history_new(int dir, const struct history_setup *setup)
{
	struct history *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return NULL;
	h->setup = *setup;
	h->last = &h->first;
	h->past_hour = -1;
	h->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	h->minutes = minutes_new();
	err = h->dir < 0 ? -errno : h->minutes ? start(h) : -ENOMEM;
	if (!err)
		return h;
	minutes_free(h->minutes);
	cleanup_close(&h->dir);
	free(h);
	errno = -err;
	return NULL;
}

void history_set(struct history *h, const struct history_setup *setup)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->mutex);
	h->setup = *setup;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->mutex);
}

void history_free(struct history *h)
{
	struct history_minute minute;
	struct timespec until;
	bool done;

	if (!h)
		return;
	while (minutes_take(h->minutes, true, &minute))
		put(h, entry_of_minute(&minute));
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_S;
	pthread_mutex_lock(&h->mutex);
	h->stop = true;
	pthread_cond_signal(&h->changed);
	while (!h->done && !pthread_cond_timedwait(&h->ended, &h->mutex, &until))
		;
	done = h->done;
	/* A disk that hangs: the thread ends when it can. */
	h->left = !done;
	pthread_mutex_unlock(&h->mutex);
	if (!done)
		log_warn("history: its disk hangs; the last minutes may be lost");
	else
		history_clear(h);
}

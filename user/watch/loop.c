/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/loop.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "kernel/host.h"
#include "kernel/rights.h"
#include "watch/notify.h"
#include "watch/private.h"

#define SLICE_NS     1000000000ull
#define TURN_NS	     500000000ull /* how long a signal may have to wait */
#define RETRY_NS     60000000000ull
#define ARTIFACTS_NS 10000000000ull /* at the end, for the artifacts of the last captures */
/* Rows of the slices in memory: 10,000 busy threads for a minute are 60 MB. */
#define RING_BYTES (64ull << 20)
/* Of the ring of single switches, where it is asked for: of each CPU, and of all. */
#define SWITCHES_CPU_BYTES (8u << 20)
#define SWITCHES_BYTES	   (64u << 20)

/* --- signals --------------------------------------------------------------------------------- */

static int take_signals(struct watch *w)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0 ? -errno : 0;
}

static void trigger_by_signal(struct watch *w)
{
	char name[FOLDER_NAME_BYTES], why[512];

	const struct job_options options = {.by = FOLDER_TRIGGER,
					    .before_ns = w->config.before_ns,
					    .after_ns = w->config.after_ns};

	if (jobs_begin(w, &options, name, why, sizeof(why)))
		log_warn("SIGUSR1: no capture: %s", why);
}

/* So many at a time: who sends them without end must not keep the loop here. */
#define SIGNALS_MAX 16

static void read_signals(struct watch *w)
{
	struct signalfd_siginfo info;

	for (int i = 0; i < SIGNALS_MAX; i++) {
		if (read(w->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
			break;
		if (info.ssi_signo == SIGHUP)
			w->reload = true;
		else if (info.ssi_signo == SIGUSR1)
			w->asked = true;
		else
			w->stop = true;
	}
	if (w->asked)
		trigger_by_signal(w);
	w->asked = false;
}

/* --- configuration --------------------------------------------------------------------------- */

static struct ring_options ring_options(const struct watch *w)
{
	return (struct ring_options){.keep_ns = w->config.ring_ns, .bytes_max = RING_BYTES};
}

static struct series_options series_options(const struct watch *w)
{
	return (struct series_options){.top = w->config.series, .selection = &w->config.selection};
}

static struct names_file_limits file_limits(const struct watch_config *c)
{
	return (struct names_file_limits){c->file_cpu_ns, c->file_time_ns, c->file_memory_bytes};
}

static void apply(struct watch *w)
{
	struct names_file_limits file = file_limits(&w->config);
	struct ring_options ring = ring_options(w);
	struct series_options series = series_options(w);
	struct history_setup history = {w->config.history_bytes, w->config.history_days};

	ring_set(w->ring, &ring);
	history_set(w->history, &history);
	series_set(w->series, &series);
	budget_follow_config(w);
	if (w->collector)
		collector_set_bound(w->collector, w->config.memory_bytes, &file);
	w->kept_ns = 0;
}

/* What is wrong is told, and the former configuration stays. */
static void reload(struct watch *w)
{
	struct watch_config config, former = w->config;
	char why[512];

	w->reload = false;
	notify("RELOADING=1");
	if (w->options.configure(w->options.ctx, &config, why, sizeof(why))) {
		log_error("%s; the former configuration stays", why);
		pthread_mutex_lock(&w->mutex);
		w->own.reloads_refused++;
		pthread_mutex_unlock(&w->mutex);
	} else {
		pthread_mutex_lock(&w->mutex);
		w->config = config;
		apply(w);
		w->own.reloads++;
		pthread_mutex_unlock(&w->mutex);
		watch_config_clear(&former);
		log_info("configuration read again");
	}
	notify("READY=1");
}

/* --- the host -------------------------------------------------------------------------------- */

static void detach(struct watch *w)
{
	budget_detach(w);
	collector_free(w->collector);
	w->collector = NULL;
	/* What follows may be at another rate, or lack something. */
	ring_clear(w->ring);
}

static size_t switches_bytes(void)
{
	size_t bytes = (size_t)sysconf(_SC_NPROCESSORS_ONLN) * SWITCHES_CPU_BYTES;

	return bytes < SWITCHES_BYTES ? bytes : SWITCHES_BYTES;
}

static int attach(struct watch *w, char *why, size_t why_bytes)
{
	struct collector_options options = w->options.collector;
	uint64_t began_ns = budget_own_ns(w);
	int err;

	options.sample_hz = budget_full_hz(w);
	options.gear = budget_gear(w);
	options.follow_most = budget_follow_most(w);
	options.bytes_max = w->config.memory_bytes;
	options.file_limits = file_limits(&w->config);
	options.stacks.is_calm = true;
	options.switches_bytes = switches_bytes();
	err = collector_new(&options, why, why_bytes, &w->collector);
	if (!err) {
		budget_attach(w);
		rights_loaded(RIGHTS_RELOAD | w->options.rights);
		err = collector_start(w->collector, why, why_bytes);
	}
	if (err)
		detach(w);
	w->start_cpu_ns += budget_own_ns(w) - began_ns;
	return err;
}

/* A host that cannot be observed now may be later: rights, lockdown and memory change. */
static void try_attach(struct watch *w, uint64_t now_ns)
{
	char why[1024] = "";

	if (now_ns < w->attach_ns)
		return;
	w->attach_ns = now_ns + RETRY_NS;
	if (attach(w, why, sizeof(why))) {
		if (strcmp(why, w->why) != 0)
			log_error("%s; trying again every %llu s", why, RETRY_NS / SLICE_NS);
		page_not_ready(w, why);
		return;
	}
	collector_announce(w->collector, "watching");
	page_not_ready(w, NULL);
}

static void lose(struct watch *w, const char *why)
{
	log_error("%s; trying again every %llu s", why, RETRY_NS / SLICE_NS);
	jobs_end(w);
	detach(w);
	w->attach_ns = clock_now_ns() + RETRY_NS;
	page_not_ready(w, why);
}

/* The model has grown with processes and stacks of long ago: a new one is begun. */
static void renew(struct watch *w)
{
	char why[1024] = "";

	if (ring_retire(w->ring, collector_model(w->collector)))
		log_warn("ring: no memory for the last seconds; it begins anew");
	jobs_leave(w);
	pthread_mutex_lock(&w->mutex);
	w->own.renewals++;
	pthread_mutex_unlock(&w->mutex);
	if (collector_renew(w->collector, why, sizeof(why)))
		lose(w, why);
	/* Large tables lay below small rows that stayed: what they held is given back. */
	malloc_trim(0);
}

/* The next slice, by what the governor says. */
static void begin_slice(struct watch *w)
{
	char why[1024] = "";
	int err = budget_step(w, why, sizeof(why));

	if (err < 0)
		lose(w, why);
	else if (!err && collector_begin_slice(w->collector))
		lose(w, "out of memory");
}

static bool speed_of(void *ctx, const char *name, const char *place, double rate,
		     struct past_speed *ret_speed)
{
	return history_speed(ctx, name, place, rate, ret_speed);
}

static void end_slice(struct watch *w)
{
	collector_end_slice(w->collector);
	if (slower_slice(&w->slower, collector_model(w->collector), speed_of, w->history))
		log_warn("no memory: who is slower than usual is not known in this second");
	page_slice(w);
	automatic_slice(w);
	jobs_slice(w);
	ring_slice(w->ring, collector_model(w->collector));
	if (collector_is_large(w->collector))
		renew(w);
	else
		begin_slice(w);
}

/* --- turns ----------------------------------------------------------------------------------- */

static void wait_for_turn(struct watch *w)
{
	int caller = w->control ? control_fd(w->control) : -1;
	struct pollfd fds[] = {{w->signals, POLLIN, 0}, {caller, POLLIN, 0}};

	if (w->collector)
		collector_pause(w->collector, TURN_NS, caller);
	else
		poll(fds, 2, (int)(TURN_NS / 1000000));
}

static void feed_watchdog(struct watch *w, uint64_t now_ns)
{
	uint64_t every_ns = notify_interval_ns();

	if (!every_ns || now_ns - w->told_ns < every_ns)
		return;
	notify("WATCHDOG=1");
	w->told_ns = now_ns;
}

static void turn(struct watch *w)
{
	uint64_t now_ns;

	wait_for_turn(w);
	now_ns = clock_now_ns();
	read_signals(w);
	home_follow(w, now_ns);
	if (w->control)
		control_look(w->control, now_ns);
	if (w->reload)
		reload(w);
	if (!w->collector)
		try_attach(w, now_ns);
	else if (now_ns - collector_slice_start_ns(w->collector) >= SLICE_NS)
		end_slice(w);
	else
		collector_drain(w->collector);
	if (w->control)
		jobs_look(w, clock_now_ns());
	finished_look(w, clock_now_ns());
	feed_watchdog(w, now_ns);
	pthread_mutex_lock(&w->mutex);
	w->beat_ns = clock_now_ns();
	pthread_mutex_unlock(&w->mutex);
}

/* What was captured is kept; artifacts have a moment to be finished. */
static void stop(struct watch *w)
{
	uint64_t end_ns = clock_now_ns() + ARTIFACTS_NS;

	notify("STOPPING=1");
	if (w->collector) {
		collector_stop(w->collector);
		collector_end_slice(w->collector);
		jobs_slice(w);
		jobs_end(w);
	}
	while (w->control && (artifacts_pending(w->artifacts) || hook_pending(w->hook)) &&
	       clock_now_ns() < end_ns) {
		jobs_look(w, clock_now_ns());
		finished_look(w, clock_now_ns());
		poll(NULL, 0, 50);
	}
	w->state.clean = true;
	save_state(w);
}

/* --- start ----------------------------------------------------------------------------------- */

static int open_rooms(struct watch *w, char *why, size_t why_bytes)
{
	struct ring_options ring = ring_options(w);
	struct series_options series = series_options(w);
	struct governor_options governor = {.requests = w->options.collector.requests};

	snprintf(why, why_bytes, "out of memory");
	w->ring = ring_new(&ring);
	w->series = series_new(&series);
	w->hook = hook_new(HOOK_LIMIT_NS);
	if (!w->ring || !w->series || !w->hook)
		return -ENOMEM;
	governor_init(&w->governor, &governor, GOVERNOR_ALL);
	budget_follow_config(w);
	return 0;
}

static int open_all(struct watch *w, char *why, size_t why_bytes)
{
	int err = w->options.configure(w->options.ctx, &w->config, why, why_bytes);

	if (!err)
		err = take_signals(w);
	if (!err)
		err = open_rooms(w, why, why_bytes);
	if (!err)
		err = home_open(w, why, why_bytes);
	if (!err)
		err = page_open(w, why, why_bytes);
	if (!err)
		home_take_over(w);
	return err;
}

static void close_all(struct watch *w)
{
	http_free(w->http); /* its thread reads what follows */
	jobs_drop(w);
	home_close(w);
	if (w->ring)
		detach(w);
	ring_free(w->ring);
	series_free(w->series);
	hook_free(w->hook);
	watch_config_clear(&w->config);
	cleanup_close(&w->signals);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}

int watch_run(const struct watch_options *options, char *why, size_t why_bytes)
{
	struct watch *w = calloc(1, sizeof(*w));
	int err;

	snprintf(why, why_bytes, "out of memory");
	if (!w)
		return -ENOMEM;
	memory_map_tables();
	w->options = *options;
	w->dir = w->lock_fd = w->signals = -1;
	w->start_ns = w->beat_ns = clock_now_ns();
	pthread_mutex_init(&w->mutex, NULL);
	rights_begin(RIGHTS_RELOAD | options->rights);
	err = open_all(w, why, why_bytes);
	if (!err) {
		notify("READY=1");
		while (!w->stop)
			turn(w);
		stop(w);
	}
	close_all(w);
	return err;
}

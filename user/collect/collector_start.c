/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A collector starts, with baselines and with what is to be known before the first sample; it
 * stops; and it begins anew, with another model. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/blocked_looks.h"
#include "collect/collector_parts.h"
#include "collect/unwind_feed.h"
#include "collect/wait_names.h"

/* Tables of who is busy then may take that long before the first sample, names of code that may be
 * replaced soon so long, and rows of compiled code; and who is busy. */
#define START_TABLES_NS 300000000ull
#define START_NAMES_NS	1500000000ull
#define START_CODE_NS	200000000ull
#define START_HUNG_NS	1000000000ull
#define START_IDLE_NS	100000000ull
#define START_BUSY_NS	1000000ull
/* A model beyond one of these is large: together some 400 MB at the most. */
#define LARGE_PROCESSES 100000u
#define LARGE_THREADS	100000u /* more than twice those at the start */
#define LARGE_STACKS	200000u
#define LARGE_FRAMES	10000000u
#define LARGE_LOCATIONS 1000000u
#define LARGE_STRINGS	(64u << 20)

/* Whether a thread wanted a CPU since the accounts were read last, and will be sampled. */
static bool is_busy(const struct collector *c, const struct model_thread *t)
{
	const struct model_process *p = &c->rooms.model->processes[t->process];
	bool is_selected =
		(!c->options.tgid_cnt && !c->options.cgroup) || (p->flags & PROCESS_SELECTED);

	return is_selected && !(p->flags & PROCESS_KERNEL) && p->mapping_cnt &&
	       (t->ran_before_ns >= START_BUSY_NS || t->state == 'R');
}

/* Who is busy gets its tables before the first sample is taken, as far as that time goes. */
static void prepare_tables(struct collector *c, uint64_t ns)
{
	struct model *m = c->rooms.model;

	if (!c->rooms.feed || c->options.stacks.is_calm)
		return;
	books_read_accounts(&c->books, true);
	for (size_t i = 0; i < m->threads_cnt; i++)
		if (is_busy(c, &m->threads[i]))
			unwind_feed_prepare(c->rooms.feed, m->threads[i].process);
	wait_names_tables(c->rooms.feed, c->rooms.model, c->rooms.names, NULL, 0,
			  clock_now_ns() + ns);
}

/* What of the code of running .NET processes may be replaced soon is known before it is sampled.
 * Not waited for is who does not answer, nor what cannot be asked for now. */
static void prepare_names(struct collector *c)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + START_NAMES_NS, came_ns = now_ns;
	uint64_t answers = names_answers(c->rooms.names), patience_ns;

	while (c->options.samples && now_ns < end_ns &&
	       names_read(c->rooms.names, c->rooms.model)) {
		patience_ns = names_is_reading(c->rooms.names) ? START_HUNG_NS : START_IDLE_NS;
		now_ns = clock_now_ns();
		if (names_answers(c->rooms.names) != answers)
			came_ns = now_ns;
		else if (now_ns - came_ns >= patience_ns)
			break;
		answers = names_answers(c->rooms.names);
		wait_names_moment(c->rooms.names);
	}
}

static void mark_processes(struct collector *c)
{
	struct model *m = c->rooms.model;

	for (size_t i = 0; i < m->processes_cnt; i++) {
		if (m->processes[i].tgid == (uint32_t)getpid())
			m->processes[i].flags |= PROCESS_SELF;
		for (size_t k = 0; k < c->options.tgid_cnt; k++)
			if (m->processes[i].tgid == c->options.tgids[k])
				m->processes[i].flags |= PROCESS_SELECTED;
	}
}

/* OFF_* of model.h. */
static uint32_t kernel_off(const struct collector *c)
{
	const struct feature_set *f = session_features(c->rooms.session);

	return (feature_is_on(f, FEATURE_COUNTERS) ? 0 : OFF_ACCOUNTS | OFF_SWITCHES | OFF_OWN) |
	       (session_counts_waits(c->rooms.session) ? 0 : OFF_ACCOUNTS) |
	       (feature_is_on(f, FEATURE_CGROUPS) ? 0 : OFF_GROUPS) |
	       (feature_is_on(f, FEATURE_RUN_QUEUES) ? 0 : OFF_QUEUES) |
	       (c->rooms.feed ? 0 : OFF_TABLES) |
	       (feature_is_on(f, FEATURE_REQUESTS) ? 0 : OFF_REQUESTS) |
	       (c->options.blocked && feature_is_on(f, FEATURE_BLOCKED) ? 0 : OFF_STANDS);
}

/* Of what grows with every process, thread and stack. */
static size_t known_bytes(const struct collector *c)
{
	return model_bytes(c->rooms.model) + ingest_bytes(c->rooms.ingest);
}

static int take_features(struct collector *c)
{
	struct feature_set features;

	collector_features(c, &features);
	c->rooms.model->host.off |= kernel_off(c);
	return model_take_features(c->rooms.model, &features);
}

int collector_start(struct collector *c, char *why, size_t why_bytes)
{
	int err;

	if (c->options.samples)
		c->rooms.model->kernel_text = names_kernel_text(c->rooms.names);
	books_read_accounts(&c->books, true);
	if (c->options.facts || c->options.signals)
		process_facts_read_all(&c->facts);
	mark_processes(c);
	cgroup_select_refresh(&c->cgroups, c->rooms.session, c->rooms.model);
	cgroup_watch_open(&c->groups, c->rooms.model);
	cgroup_watch_refresh(&c->groups, c->rooms.model);
	records_drain(&c->records);
	prepare_tables(c, START_TABLES_NS);
	names_tail(c->rooms.names, c->rooms.model, 0);
	prepare_names(c);
	/* By now it is known where compiled code lies. */
	prepare_tables(c, START_CODE_NS);

	err = take_features(c);
	if (err) {
		snprintf(why, why_bytes, "out of memory");
		return err;
	}
	c->listeners.due_ns = 0; /* this model knows of none */
	listeners_find(&c->listeners);
	request_take(&c->requests, true);
	c->start_ns = c->slice_start_ns = c->naming.tailed_ns = c->naming.maps_read_ns =
		books_read(&c->books, true);
	books_read_pressure(&c->books);
	books_read_losses(&c->books);
	ingest_begin(c->rooms.ingest, c->start_ns);
	c->threads_at_start = c->rooms.model->threads_cnt;
	c->bytes_at_start = known_bytes(c);
	c->rooms.model->host.start_ns = c->start_ns;
	model_forget_slice(c->rooms.model);
	err = session_start(c->rooms.session, why, why_bytes);
	if (err)
		return err;
	err = collector_begin_slice(c);
	if (err)
		snprintf(why, why_bytes, "out of memory");
	return err;
}

void collector_stop(struct collector *c)
{
	if (c->options.blocked && c->options.samples)
		collector_look_at_end(c);
	session_stop(c->rooms.session);
	c->rooms.stopped = true;
}

/* After the side-band was drained. */
static int reopen_session(struct collector *c, char *why, size_t why_bytes)
{
	c->bpf_ns += session_cost_ns(c->rooms.session);
	unwind_feed_free(c->rooms.feed);
	c->rooms.feed = NULL;
	session_free(c->rooms.session);
	c->rooms.session = NULL;
	books_forget_session(&c->books);
	return collector_open_session(c, why, why_bytes);
}

/* reopen: with the programs loaded anew, as the options are now. */
static int begin_anew(struct collector *c, bool reopen, char *why, size_t why_bytes)
{
	int err;

	/* What is on its way belongs to the old model, which holds the stacks that were sent
	 * once. */
	session_stop(c->rooms.session);
	records_drain(&c->records);
	if (c->rooms.feed)
		unwind_feed_clear(c->rooms.feed, c->rooms.model);
	if (c->rooms.looks)
		blocked_looks_forget(c->rooms.looks);
	collector_close_rooms(c);
	books_forget_names(&c->books);
	naming_forget(&c->naming);
	wait_choice_forget(&c->waits);
	records_forget(&c->records);
	err = collector_open_rooms(c);
	if (err) {
		snprintf(why, why_bytes, "out of memory");
		return err;
	}
	if (reopen)
		err = reopen_session(c, why, why_bytes);
	return err ?: collector_start(c, why, why_bytes);
}

int collector_renew(struct collector *c, char *why, size_t why_bytes)
{
	return begin_anew(c, false, why, why_bytes);
}

int collector_change(struct collector *c, const struct collector_parts *parts, char *why,
		     size_t why_bytes)
{
	c->options.sample_hz = parts->sample_hz;
	c->options.requests = parts->requests;
	c->options.gear = c->next_gear;
	return begin_anew(c, true, why, why_bytes);
}

bool collector_is_large(const struct collector *c)
{
	const struct model *m = c->rooms.model;

	if (c->options.bytes_max) {
		size_t bytes = known_bytes(c);

		return bytes > c->options.bytes_max && bytes > 2 * c->bytes_at_start;
	}
	return m->processes_cnt > LARGE_PROCESSES ||
	       m->threads_cnt > LARGE_THREADS + 2 * c->threads_at_start ||
	       m->stacks_cnt > LARGE_STACKS || m->frames_cnt > LARGE_FRAMES ||
	       m->locations_cnt > LARGE_LOCATIONS || m->strings_bytes > LARGE_STRINGS;
}

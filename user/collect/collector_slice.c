/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A slice: what comes into it, its end, and the begin of the next one in its gear. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/blocked_looks.h"
#include "collect/collector_parts.h"
#include "collect/stack_tables.h"
#include "collect/unwind_feed.h"

void collector_drain(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	records_drain(&c->records);
	naming_follow_maps(&c->naming);
	/* Soon, since short processes take their files' names with them. */
	stack_tables_note_samples(&c->rooms, c->naming.named);
	naming_name_new(&c->naming);
	stack_tables_work(&c->rooms);
	c->drained_ns = now_ns;
	books_follow_cpus(&c->books);
}

/* Names are needed of who is not sampled, too: of those that have lived for a slice. */
static void take_service_signals(struct collector *c)
{
	const struct model *m = c->rooms.model;

	if (!c->options.signals)
		return;
	for (uint32_t i = 0; i < m->processes_cnt; i++)
		if (!m->processes[i].exit_ns && m->processes[i].born_ns < c->slice_start_ns)
			process_facts_want(&c->facts, i);
	c->options.take_service_signals(c->options.signals, c->rooms.model);
}

void collector_end_slice(struct collector *c)
{
	struct model *m = c->rooms.model;
	struct model_slice *slice;
	uint64_t end_ns, pressure_ns;

	ingest_set_boot_offset(c->rooms.ingest, host_boot_offset_ns());
	records_drain(&c->records);
	request_take(&c->requests, false);
	listeners_find(&c->listeners);
	end_ns = books_read(&c->books, c->rooms.stopped);
	/* What came meanwhile is in the books of this slice, and a capture may end with it. */
	records_drain(&c->records);
	switch_keep_end_slice(&c->switches, end_ns);
	pressure_ns = books_read_pressure(&c->books);
	books_read_losses(&c->books);
	cgroup_select_refresh(&c->cgroups, c->rooms.session, m);
	cgroup_watch_refresh(&c->groups, m);
	naming_follow_maps(&c->naming);
	ingest_read_lost(c->rooms.ingest);
	naming_tail(&c->naming);
	if (c->rooms.looks)
		blocked_looks_end_slice(c->rooms.looks, end_ns - c->slice_start_ns);
	notices_tell_hanging_look(&c->notices);
	wait_choice_hung(&c->waits);
	stack_tables_note_samples(&c->rooms, c->naming.named);
	wait_choice_next(&c->waits);
	naming_name_slice(&c->naming);
	stack_tables_work(&c->rooms);
	if (c->rooms.feed)
		unwind_feed_tidy(c->rooms.feed, m);
	if (c->rooms.stopped)
		naming_settle(&c->naming);
	notices_tell_costly(&c->notices);
	take_service_signals(c);
	ingest_slice_end(c->rooms.ingest);
	notices_tell_ticks(&c->notices);

	slice = &m->slices[m->slices_cnt - 1];
	slice->end_ns = end_ns; /* naming may take long on a slow host */
	request_take_choose_share(&c->requests,
				  end_ns > slice->start_ns ? end_ns - slice->start_ns : 0);
	slice->pressure_ns = pressure_ns;
	m->host.end_ns = slice->end_ns;
	c->slice_start_ns = slice->end_ns;
}

/* Within a slice that has begun just now, which is told as one of the new gear. */
static void change_gear(struct collector *c)
{
	const struct collector_gear next = c->next_gear;
	bool turns = next.quiet != c->options.gear.quiet;
	int err = 0;

	if (turns) {
		books_end_gear(&c->books);
		err = session_set_gear(c->rooms.session, next.quiet);
	}
	if (turns && !err) {
		c->options.gear.quiet = next.quiet;
		books_begin_gear(&c->books);
	}
	if (!err && next.sample_every != c->options.gear.sample_every) {
		/* Those that are on their way count as ticks of this rate. */
		records_drain(&c->records);
		err = session_set_rate(c->rooms.session, next.sample_every);
		if (!err)
			c->options.gear.sample_every = next.sample_every;
	}
	if (err)
		log_warn("the gear stays as it is: %s", strerror(-err));
	c->next_gear = c->options.gear;
}

int collector_begin_slice(struct collector *c)
{
	struct model_slice slice = {
		.start_ns = c->slice_start_ns,
		.wall_offset_ns = host_wall_offset_ns(),
		.sample_every = c->options.gear.sample_every,
		.quiet = c->options.gear.quiet,
	};
	int err;

	process_facts_begin_slice(&c->facts);
	naming_begin_slice(&c->naming);
	err = model_slice_add(c->rooms.model, &slice);
	if (err)
		return err;
	if (c->next_gear.quiet != slice.quiet || c->next_gear.sample_every != slice.sample_every) {
		change_gear(c);
		model_slice_gear(c->rooms.model, c->options.gear.quiet,
				 c->options.gear.sample_every);
	}
	ingest_set_every(c->rooms.ingest, c->options.gear.sample_every);
	if (c->rooms.looks)
		blocked_looks_begin_slice(
			c->rooms.looks,
			c->options.blocked && !c->options.gear.quiet &&
				feature_is_on(session_features(c->rooms.session), FEATURE_BLOCKED));
	return 0;
}

int collector_fresh_slice(struct collector *c)
{
	model_forget_slice(c->rooms.model);
	model_keep_slices(c->rooms.model, (uint32_t)c->rooms.model->slices_cnt, UINT32_MAX);
	c->rooms.model->host.start_ns = c->slice_start_ns;
	return collector_begin_slice(c);
}

void collector_set_gear(struct collector *c, const struct collector_gear *gear)
{
	c->next_gear = (struct collector_gear){gear->quiet, gear->sample_every ?: 1};
	/* Where there is one mode alone, it is that. */
	if (!feature_is_on(session_features(c->rooms.session), FEATURE_FULL_MODE))
		c->next_gear.quiet = true;
	else if (!session_can_be_quiet(c->rooms.session))
		c->next_gear.quiet = false;
}

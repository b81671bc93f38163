/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/figures.h"

#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "model/model.h"
#include "model/requests.h"
#include "model/sched.h"
#include "model/share.h"
#include "output/label.h"

static const struct value none = {.kind = VALUE_NONE};

/* --- the scheduler ---------------------------------------------------------------------------- */

static struct value mean_of(const struct subject *s, uint64_t ns)
{
	return value_real(sched_mean(ns, s->elapsed_ns));
}

static struct value rate_of(const struct subject *s, uint64_t count)
{
	return value_real(sched_mean(count, s->elapsed_ns) * 1e9);
}

static struct value wanted(const struct subject *s)
{
	return mean_of(s, sched_wanted_ns(&s->sched->sched));
}

static struct value behind_others(const struct subject *s)
{
	uint64_t waited_ns = s->sched->sched.waited_ns, own_ns = s->sched->sched.behind_own_ns;

	return mean_of(s, waited_ns > own_ns ? waited_ns - own_ns : 0);
}

static struct value progress(const struct subject *s)
{
	/* A share of what rounds to nothing says nothing. */
	if (sched_mean(sched_wanted_ns(&s->sched->sched), s->elapsed_ns) < 0.005)
		return none;
	return value_real(sched_progress(&s->sched->sched));
}

static struct value slice(const struct subject *s)
{
	return value_count(sched_slice_ns(&s->sched->sched));
}

static struct value delay(const struct subject *s, double q)
{
	return sched_delay_cnt(s->sched) ? value_count(sched_delay_ns(s->sched, q)) : none;
}

static struct value delay_p50(const struct subject *s)
{
	return delay(s, 0.5);
}

static struct value delay_p99(const struct subject *s)
{
	return delay(s, 0.99);
}

/* Of what is seen at switches alone: over the time in which they were looked at. */
static struct value over_seen(const struct subject *s, double mean)
{
	double seen = s->m ? model_full_share(s->m) : 1;

	return seen > 0 ? value_real(mean / seen) : none;
}

static struct value delays(const struct subject *s)
{
	return over_seen(s, sched_mean(sched_delay_cnt(s->sched), s->elapsed_ns) * 1e9);
}

static struct value uninterruptible(const struct subject *s)
{
	return over_seen(s, sched_mean(s->sched->sched.uninterruptible_ns, s->elapsed_ns));
}

static struct value switches(const struct subject *s)
{
	return rate_of(s, s->sched->sched.voluntary + s->sched->sched.involuntary);
}

#define SCHED(member) FIELD_OF(sched, struct sched_sum, member)

const struct figure figure_wanted = {"wanted_threads", "wanted", AS_THREADS, .value = wanted};
const struct figure figure_running = {"running_threads", "running", AS_THREADS,
				      SCHED(sched.on_cpu_ns)};
const struct figure figure_waiting = {"waiting_threads", "waiting", AS_THREADS,
				      SCHED(sched.waited_ns)};
const struct figure figure_behind_others = {"behind_others_threads", "others", AS_THREADS,
					    .off = OFF_OWN, .value = behind_others};
const struct figure figure_behind_own = {"behind_own_threads", "own", AS_THREADS, .off = OFF_OWN,
					 SCHED(sched.behind_own_ns)};
const struct figure figure_throttled = {"throttled_threads", "throttled",
					AS_THREADS,	     true,
					.off = OFF_GROUPS,   SCHED(sched.throttled_ns)};
const struct figure figure_progress = {"progress_share", "progress", AS_SHARE, .value = progress};
const struct figure figure_uninterruptible = {"uninterruptible_threads", "in D", AS_THREADS,
					      .off = OFF_SWITCHES, .value = uninterruptible};
const struct figure figure_slice = {"slice_ns", "slice", AS_TIME, true, .value = slice};
const struct figure figure_delay_p50 = {"delay_p50_ns", "p50", AS_TIME, .off = OFF_SWITCHES,
					.value = delay_p50};
const struct figure figure_delay_p99 = {"delay_p99_ns", "p99", AS_TIME, .off = OFF_SWITCHES,
					.value = delay_p99};
const struct figure figure_delay_max = {
	"delay_max_ns", "max", AS_TIME, true, .off = OFF_SWITCHES, SCHED(delay_max_ns)};
const struct figure figure_delays = {"delays_per_s", "waits/s",		  AS_RATE,
				     true,	     .off = OFF_SWITCHES, .value = delays};
const struct figure figure_switches = {"switches_per_s", "switch/s", AS_RATE, true,
				       .value = switches};
const struct figure figure_voluntary = {"voluntary_per_s", "vol/s", AS_RATE, true,
					SCHED(sched.voluntary)};
const struct figure figure_involuntary = {"involuntary_per_s", "invol/s", AS_RATE, true,
					  SCHED(sched.involuntary)};
const struct figure figure_migrations = {"migrations_per_s", "migr/s", AS_RATE, true,
					 SCHED(sched.migrations)};

/* --- requests --------------------------------------------------------------------------------- */

static struct value time_of(const struct subject *s, double q)
{
	return s->requests->served.answered ? value_count(requests_time_ns(s->requests, q)) : none;
}

static struct value time_p50(const struct subject *s)
{
	return time_of(s, 0.5);
}

static struct value time_p99(const struct subject *s)
{
	return time_of(s, 0.99);
}

static struct value time_max(const struct subject *s)
{
	return time_of(s, 1);
}

static struct value slow(const struct subject *s)
{
	return s->requests && requests_judged(s->requests)
		       ? value_real(requests_slow_share(s->requests))
		       : none;
}

static struct value score(const struct subject *s)
{
	return requests_judged(s->requests) ? value_real(requests_score(s->requests)) : none;
}

static void queue(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct requests_sum *sum = s->requests;
	size_t half = columns / 2;

	if (!sum->queued_max && !sum->backlog)
		strcpy(text, "-");
	else
		snprintf(text, CELL_BYTES, "%s/%s", number_short(sum->queued_max, half).text,
			 sum->backlog ? number_short(sum->backlog, half).text : "?");
}

#define SERVED(member) FIELD_OF(requests, struct requests_sum, member)

const struct figure figure_requests = {"requests_per_s", "req/s", AS_RATE, true,
				       SERVED(served.begun)};
const struct figure figure_answers = {"answers_per_s", "answers/s", AS_RATE, true,
				      SERVED(served.answered)};
const struct figure figure_time_p50 = {"time_p50_ns", "p50", AS_TIME, .value = time_p50};
const struct figure figure_time_p99 = {"time_p99_ns", "p99", AS_TIME, .value = time_p99};
const struct figure figure_time_max = {"time_max_ns", "max", AS_TIME, .value = time_max};
const struct figure figure_slow = {"slow_share", "slow", AS_SHARE, .off = OFF_REQUESTS,
				   .value = slow};
const struct figure figure_score = {"score_ratio", "score", AS_RATIO, .value = score};
const struct figure figure_open = {"open_requests", "open", AS_COUNT, true, SERVED(open)};
const struct figure figure_oldest = {"oldest_ns", "oldest", AS_TIME, true, SERVED(oldest_max_ns)};
const struct figure figure_stuck = {"stuck_requests",	 "stuck",	   AS_COUNT, true,
				    .off = OFF_REQUESTS, SERVED(stuck_max)};
const struct figure figure_queue = {NULL, "queue", .text = queue};
const struct figure figure_refused = {"refused_connections", "refused", AS_COUNT, true,
				      SERVED(served.refused)};

/* --- who -------------------------------------------------------------------------------------- */

static struct value pid(const struct subject *s)
{
	if (!s->process || s->cnt > 1)
		return (struct value){.kind = VALUE_BLANK};
	return value_count(s->process->tgid);
}

static void process(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	label_process(text, s->process, columns);
}

const struct figure figure_pid = {"pid", "pid", AS_ID, .value = pid};
const struct figure figure_process = {"process", "process", .text = process};
const struct figure figure_tid = {"tid", "tid", AS_ID, FIELD_OF(thread, struct model_thread, tid)};

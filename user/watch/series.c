/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "judge/role.h"
#include "watch/series_private.h"
#include "model/sched_figures.h"

#define SECOND 1e9
/* A service that uses no CPU is to be seen, too. */
#define BUSY_SERVES   0.1
#define BUSY_DEGRADED 1.0
/* Rows of processes that did nothing are looked at for new names once in so many slices. */
#define PASSES	  8
#define NEARLY_NS 1000000000ull
/* Ports of their own that all processes have beyond one each. */
#define PORTS_MORE 16

static const char other_labels[] = "process=\"other\"";

/* --- the book -------------------------------------------------------------------------------- */

static size_t bounded(size_t top)
{
	return top < 1 ? 1 : top > SERIES_MAX ? SERIES_MAX : top;
}

static void set_tables(struct series *s, size_t top, struct metrics_process *rows,
		       struct series_place *places)
{
	s->top = top;
	s->rows = rows;
	s->places = places;
	s->figures.processes = rows;
	s->figures.processes_max = top;
}

struct series *series_new(const struct series_options *options)
{
	size_t top = bounded(options->top);
	struct series *s;

	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->options = *options;
	s->kinds = calloc(SERIES_KINDS, sizeof(*s->kinds));
	s->waiting = calloc(SERIES_KINDS, sizeof(*s->waiting));
	set_tables(s, top, calloc(top + 1, sizeof(*s->rows)), calloc(top + 1, sizeof(*s->places)));
	if (!s->kinds || !s->waiting || !s->rows || !s->places) {
		series_free(s);
		errno = ENOMEM;
		return NULL;
	}
	s->rows[0].labels = other_labels;
	return s;
}

static double busy_of(const struct series *s, uint32_t place)
{
	for (size_t i = 0; i < s->kinds_cnt; i++)
		if (s->kinds[i].place == place)
			return s->kinds[i].busy;
	return 0;
}

/* Places are given from the front and only ever change hands: there are no gaps. */
static size_t held(const struct series *s)
{
	size_t cnt = 0;

	while (cnt < s->top && s->places[cnt + 1].hash)
		cnt++;
	return cnt;
}

/* Takes places away until there are no more than top. */
static void shrink(struct series *s, size_t top)
{
	for (size_t left = held(s); left > top; left--) {
		uint32_t least = 0;
		double least_busy = 0;

		for (uint32_t i = 1; i <= s->top; i++) {
			double its = s->places[i].hash ? busy_of(s, i) : 0;

			if (s->places[i].hash && (!least || its < least_busy)) {
				least = i;
				least_busy = its;
			}
		}
		series_leave(s, least);
	}
}

int series_set(struct series *s, const struct series_options *options)
{
	size_t top = bounded(options->top), cnt = 0;
	_cleanup_free_ struct metrics_process *rows = calloc(top + 1, sizeof(*rows));
	_cleanup_free_ struct series_place *places = calloc(top + 1, sizeof(*places));
	_cleanup_free_ uint32_t *moved = calloc(s->top + 1, sizeof(*moved));

	if (!rows || !places || !moved)
		return -ENOMEM;
	shrink(s, top);
	rows[0] = s->rows[0];
	places[0] = s->places[0];
	for (uint32_t i = 1; i <= s->top; i++) {
		if (!s->places[i].hash)
			continue;
		moved[i] = (uint32_t)++cnt;
		rows[cnt] = s->rows[i];
		places[cnt] = s->places[i];
	}
	for (size_t i = 0; i < s->kinds_cnt; i++)
		s->kinds[i].place = moved[s->kinds[i].place];
	free(s->rows);
	free(s->places);
	set_tables(s, top, take_ptr(&rows), take_ptr(&places));
	s->places_changes++;
	s->figures.processes_cnt = s->figures.processes_cnt ? cnt + 1 : 0;
	s->options = *options;
	if (s->processes_cnt)
		memset(s->processes, 0, s->processes_cnt * sizeof(*s->processes));
	return 0;
}

void series_free(struct series *s)
{
	if (!s)
		return;
	for (uint32_t i = 1; s->rows && i <= s->top; i++)
		free((char *)s->rows[i].labels);
	free(s->rows);
	free(s->places);
	free(s->kinds);
	free(s->waiting);
	free(s->processes);
	free(s->alive);
	free(s->is_alive);
	hash_clear(&s->kinds_index);
	free(s);
}

const struct metrics_figures *series_metrics(const struct series *s)
{
	return &s->figures;
}

size_t series_bytes(const struct series *s)
{
	return sizeof(*s) + (s->top + 1) * (sizeof(*s->rows) + sizeof(*s->places)) +
	       SERIES_KINDS * (sizeof(*s->kinds) + sizeof(*s->waiting)) +
	       s->kinds_index.cap * sizeof(*s->kinds_index.slots) +
	       s->processes_cap * sizeof(*s->processes) + s->alive_cap * sizeof(*s->alive) +
	       s->threads_cap;
}

/* --- the model ------------------------------------------------------------------------------- */

/* Another model may lie at the address of one that was freed; a recording of its own begins at a
 * time of its own, and tables of the same model never shrink. */
static void meet_model(struct series *s, const struct model *m)
{
	if (s->m == m && s->model_start_ns == m->host.start_ns &&
	    s->processes_cnt <= m->processes_cnt && s->threads_cnt <= m->threads_cnt)
		return;
	s->m = m;
	s->model_start_ns = m->host.start_ns;
	/* A model that had grown large leaves no large tables behind. */
	free(s->processes);
	free(s->alive);
	free(s->is_alive);
	s->processes = NULL;
	s->alive = NULL;
	s->is_alive = NULL;
	s->processes_cnt = s->processes_cap = 0;
	s->alive_cnt = s->alive_cap = 0;
	s->threads_cnt = s->threads_cap = 0;
}

static int add_alive(struct series *s, uint32_t thread)
{
	if (GROW(s->alive, s->alive_cnt, s->alive_cap))
		return -ENOMEM;
	s->alive[s->alive_cnt++] = thread;
	s->is_alive[thread] = true;
	return 0;
}

/* Rows that are new. */
static int follow_model(struct series *s)
{
	const struct model *m = s->m;

	while (s->processes_cnt < m->processes_cnt) {
		if (GROW(s->processes, s->processes_cnt, s->processes_cap))
			return -ENOMEM;
		s->processes[s->processes_cnt++] = (struct series_row){.seen = false};
	}
	while (s->threads_cnt < m->threads_cnt) {
		uint32_t thread = (uint32_t)s->threads_cnt;

		if (GROW(s->is_alive, s->threads_cnt, s->threads_cap))
			return -ENOMEM;
		s->is_alive[s->threads_cnt++] = false;
		if (!m->threads[thread].exit_ns && add_alive(s, thread))
			return -ENOMEM;
	}
	return 0;
}

/* --- who is busy ----------------------------------------------------------------------------- */

static int weigh_accounts(struct series *s, uint32_t slice, uint64_t now_ns)
{
	const struct model *m = s->m;
	size_t first, end;
	int err = 0;

	SLICE_ROWS(m->accounts, m->accounts_cnt, slice, first, end);
	for (size_t i = first; i < end && !err; i++) {
		const struct sched_figures *did = &m->accounts[i].sched;
		uint32_t thread = m->accounts[i].thread;

		if (!s->is_alive[thread] && !m->threads[thread].exit_ns)
			err = add_alive(s, thread);
		if (!err)
			err = series_busy(
				s, m->threads[thread].process,
				(double)(did->on_cpu_ns + did->waited_ns + did->throttled_ns) /
					SECOND,
				now_ns);
	}
	return err;
}

static int weigh(struct series *s, uint32_t slice, const struct verdicts *v, uint64_t now_ns)
{
	const struct model *m = s->m;
	int err = weigh_accounts(s, slice, now_ns);
	size_t first, end;

	SLICE_ROWS(m->services, m->services_cnt, slice, first, end);
	for (size_t i = first; i < end && !err; i++)
		err = series_busy(s, m->endpoints[m->services[i].endpoint].process, BUSY_SERVES,
				  now_ns);
	for (size_t i = 0; v && i < v->rows_cnt && !err; i++)
		if (v->rows[i].process < s->processes_cnt && verdicts_result(&v->rows[i])->hurt)
			err = series_busy(s, v->rows[i].process, BUSY_DEGRADED, now_ns);
	return err;
}

/* --- figures of the scheduler ---------------------------------------------------------------- */

static struct metrics_process *figures_of(struct series *s, uint32_t process)
{
	return &s->rows[series_place_of(s, series_row(s, process))];
}

static void add_sched(struct metrics_sched *sum, const struct sched_figures *did, bool own_known)
{
	struct sched_figures by = *did;

	if (!own_known)
		by.behind_own_ns = 0;
	else if (by.behind_own_ns > by.waited_ns)
		by.behind_own_ns = by.waited_ns;
	sched_figures_add(&sum->sum, &by);
	sched_figures_add(&sum->last, &by);
	sum->apart_ns += own_known ? by.waited_ns : 0;
}

static void count_accounts(struct series *s, uint32_t slice)
{
	const struct model *m = s->m;
	bool own_known = !(model_slice_off(m, &m->slices[slice]) & OFF_OWN);
	size_t first, end;

	s->figures.host.sched.last = (struct sched_figures){0};
	for (size_t i = 0; i <= s->top; i++)
		s->rows[i].sched.last = (struct sched_figures){0};
	SLICE_ROWS(m->accounts, m->accounts_cnt, slice, first, end);
	for (size_t i = first; i < end; i++) {
		const struct model_thread *t = &m->threads[m->accounts[i].thread];
		struct metrics_process *figures = figures_of(s, t->process);
		const struct sched_figures *did = &m->accounts[i].sched;
		enum role role = role_of(t->comm, t->tid == m->processes[t->process].tgid);

		add_sched(&figures->sched, did, own_known);
		add_sched(&s->figures.host.sched, did, own_known);
		figures->cpu_ns[role] += did->on_cpu_ns;
	}
	SLICE_ROWS(m->delays, m->delays_cnt, slice, first, end);
	for (size_t i = first; i < end; i++) {
		uint32_t process = m->threads[m->delays[i].thread].process;
		uint32_t bucket = metrics_delay_bucket(m->delays[i].slot);

		figures_of(s, process)->sched.delays[bucket] += m->delays[i].count;
		s->figures.host.sched.delays[bucket] += m->delays[i].count;
	}
}

static void count_samples(struct series *s, const struct model_slice *slice)
{
	const struct model *m = s->m;

	/* They come by CPU: nearly in the order of their times. */
	for (size_t i = m->samples_cnt; i-- && m->samples[i].time_ns + NEARLY_NS > slice->start_ns;)
		if (m->samples[i].time_ns >= slice->start_ns &&
		    m->samples[i].time_ns < slice->end_ns && m->samples[i].kind == SAMPLE_ON_CPU)
			figures_of(s, m->threads[m->samples[i].thread].process)->samples +=
				model_weight(&m->samples[i]);
}

/* Threads and processes that are there now, and which kinds live. */
static void count_alive(struct series *s, uint64_t now_ns)
{
	const struct model *m = s->m;
	size_t kept = 0;

	for (size_t i = 0; i < s->alive_cnt; i++) {
		const struct model_thread *t = &m->threads[s->alive[i]];

		if (t->exit_ns) {
			s->is_alive[s->alive[i]] = false;
			continue;
		}
		s->processes[t->process].threads++;
		s->alive[kept++] = s->alive[i];
	}
	s->alive_cnt = kept;
	for (size_t i = 0; i <= s->top; i++)
		s->rows[i].threads = s->rows[i].processes = 0;
	for (size_t i = 0; i < s->processes_cnt; i++) {
		struct series_row *row = &s->processes[i];
		uint32_t place;

		row->alive = row->threads != 0;
		if (!row->alive)
			continue;
		if (!row->seen || i % PASSES == s->pass)
			series_row(s, (uint32_t)i);
		place = series_place_of(s, row);
		s->rows[place].threads += row->threads;
		s->rows[place].processes++;
		s->places[place].alive_ns = now_ns;
		row->threads = 0;
	}
	s->pass = (s->pass + 1) % PASSES;
}

/* --- requests -------------------------------------------------------------------------------- */

/* The row of that port; the first one where there is no room for one more. */
static struct metrics_port *port_of(struct series *s, struct metrics_process *figures,
				    uint16_t port)
{
	struct metrics_port *found = &figures->ports[0];

	for (uint32_t i = 1; figures != s->rows && i < METRICS_PORTS; i++) {
		struct metrics_port *p = &figures->ports[i];

		if (p->used && p->port == port)
			return p;
		if (!p->used && port && s->ports_cnt < s->top + PORTS_MORE) {
			s->ports_cnt++;
			p->port = port;
			found = p;
			break;
		}
	}
	found->used = true;
	return found;
}

static struct metrics_port *endpoint_port(struct series *s, uint32_t endpoint)
{
	const struct model_endpoint *e = &s->m->endpoints[endpoint];

	return port_of(s, figures_of(s, e->process), e->port);
}

/* What stands is told anew by each slice; an endpoint where nothing stands has no row. */
static void forget_standing(struct series *s)
{
	for (size_t i = 0; i <= s->top; i++)
		for (uint32_t k = 0; k < METRICS_PORTS; k++)
			requests_sum_restart(&s->rows[i].ports[k].sum);
}

static void count_requests(struct series *s, uint32_t slice)
{
	const struct model *m = s->m;
	size_t first, end;

	forget_standing(s);
	SLICE_ROWS(m->services, m->services_cnt, slice, first, end);
	for (size_t i = first; i < end; i++) {
		const struct model_service *did = &m->services[i];

		requests_sum_add(&endpoint_port(s, did->endpoint)->sum, m, did, true);
	}
	SLICE_ROWS(m->responses, m->responses_cnt, slice, first, end);
	for (size_t i = first; i < end; i++)
		endpoint_port(s, m->responses[i].endpoint)
			->times[metrics_time_bucket(m->responses[i].slot)] += m->responses[i].count;
}

/* --- verdicts -------------------------------------------------------------------------------- */

/* A minute after the last judgement nothing is known any more. */
static void age_states(struct series *s, uint64_t now_ns)
{
	if (now_ns - s->host_judged_ns < SERIES_VERDICT_NS)
		return;
	s->figures.host.state.judged = false;
	for (size_t i = 0; i <= s->top; i++)
		s->rows[i].state.judged = false;
}

static void judge(struct series *s, const struct verdicts *v, uint64_t now_ns)
{
	struct metrics_host *host = &s->figures.host;

	if (!v || v->missing) {
		age_states(s, now_ns);
		return;
	}
	s->host_judged_ns = now_ns;
	host->judged = v->judged;
	host->hurt = v->hurt;
	host->state.judged = true;
	host->state.verdict = verdicts_result(&v->host)->verdict;
	host->state.hurt = verdicts_result(&v->host)->hurt;
	for (size_t i = 0; i <= s->top; i++)
		s->rows[i].state =
			(struct metrics_state){.judged = true, .verdict = VERDICT_HEALTHY};
	for (size_t i = 0; i < v->rows_cnt; i++) {
		const struct verdict_result *r = verdicts_result(&v->rows[i]);
		struct metrics_state *state;

		if (v->rows[i].process >= s->processes_cnt)
			continue;
		state = &figures_of(s, v->rows[i].process)->state;
		if (r->hurt > state->hurt ||
		    (r->hurt == state->hurt && verdict_compare(r->verdict, state->verdict) < 0))
			state->verdict = r->verdict;
		state->hurt |= r->hurt;
	}
}

/* --- a slice --------------------------------------------------------------------------------- */

static void count_host(struct series *s, uint32_t slice)
{
	struct metrics_host *host = &s->figures.host;
	const struct model *m = s->m;
	size_t first, end;

	host->cpus = m->host.cpus_online;
	host->pressure_ns += m->slices[slice].pressure_ns;
	SLICE_ROWS(m->cpus, m->cpus_cnt, slice, first, end);
	for (size_t i = first; i < end; i++) {
		host->busy_ns += m->cpus[i].accounted_ns;
		host->idle_ns += m->cpus[i].idle_ns;
		host->unaccounted_ns += m->cpus[i].unaccounted_ns;
		host->steal_ns += m->cpus[i].steal_ns;
	}
	SLICE_ROWS(m->losses, m->losses_cnt, slice, first, end);
	for (size_t i = first; i < end; i++)
		if (m->losses[i].cause < LOSS_CAUSE_CNT)
			s->figures.losses[m->losses[i].cause] += m->losses[i].count;
}

int series_slice(struct series *s, const struct model *m, uint32_t slice,
		 const struct verdicts *verdicts)
{
	const struct model_slice *row = &m->slices[slice];
	int err;

	meet_model(s, m);
	s->figures.slices++;
	s->figures.slice_ns = row->end_ns - row->start_ns;
	s->figures.observed_ns += s->figures.slice_ns;
	s->figures.off = model_slice_off(m, row);
	s->figures.one_followed_of = row->one_followed_of;
	s->figures.sockets_age_ns = row->sockets_age_ns;
	count_host(s, slice);
	err = follow_model(s);
	if (err)
		return err;
	err = weigh(s, slice, verdicts, row->end_ns);
	if (!err)
		err = series_seat(s, row->end_ns);
	/* Whoever has no place for want of memory counts with the others. */
	count_accounts(s, slice);
	count_samples(s, row);
	count_requests(s, slice);
	count_alive(s, row->end_ns);
	if (!err)
		err = series_limits(s, slice);
	judge(s, verdicts, row->end_ns);
	s->figures.processes_cnt = held(s) + 1;
	s->last_ns = row->end_ns;
	return err;
}

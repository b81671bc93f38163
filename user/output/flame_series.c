/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of the data block: what happened second by second on the host, in processes, at ports. */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/requests.h"
#include "output/flame_internal.h"

/* Processes that have a row a second, those with most samples first: an hour has 3,600 of each. */
#define PROCESSES_IN_TIME 64u

struct slice_sum {
	uint64_t elapsed_ns, idle_ns, steal_ns, waited_ns, throttled_ns, lost;
};

static bool loses_samples(uint32_t cause)
{
	return cause == LOSS_SAMPLE_RING_FULL || cause == LOSS_SCRATCH ||
	       cause == LOSS_TICKS_MISSED;
}

static void sum_slices(const struct model *m, struct slice_sum *sums)
{
	for (size_t i = 0; i < m->cpus_cnt; i++) {
		struct slice_sum *sum = &sums[m->cpus[i].slice];

		sum->elapsed_ns += m->cpus[i].elapsed_ns;
		sum->idle_ns += m->cpus[i].idle_ns;
		sum->steal_ns += m->cpus[i].steal_ns;
	}
	for (size_t i = 0; i < m->accounts_cnt; i++) {
		sums[m->accounts[i].slice].waited_ns += m->accounts[i].sched.waited_ns;
		sums[m->accounts[i].slice].throttled_ns += m->accounts[i].sched.throttled_ns;
	}
	for (size_t i = 0; i < m->losses_cnt; i++)
		if (loses_samples(m->losses[i].cause) && m->losses[i].slice < m->slices_cnt)
			sums[m->losses[i].slice].lost += m->losses[i].count;
}

static int put_slices(struct flame_data *d)
{
	const struct model *m = d->m;
	_cleanup_free_ struct slice_sum *sums = calloc(m->slices_cnt + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	sum_slices(m, sums);
	for (size_t i = 0; i < m->slices_cnt; i++) {
		const struct model_slice *s = &m->slices[i];
		uint64_t start =
			s->start_ns > m->host.start_ns ? s->start_ns - m->host.start_ns : 0;

		FLAME_RISE(d, SLICE_START, start);
		FLAME_RISE(d, SLICE_LENGTH, s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0);
		FLAME_RISE(d, SLICE_ELAPSED, sums[i].elapsed_ns);
		FLAME_PUT(d, SLICE_IDLE, sums[i].idle_ns);
		FLAME_PUT(d, SLICE_STEAL, sums[i].steal_ns);
		FLAME_PUT(d, SLICE_WAITED, sums[i].waited_ns);
		FLAME_PUT(d, SLICE_THROTTLED, sums[i].throttled_ns);
		FLAME_PUT(d, SLICE_EVERY, s->sample_every ?: 1);
		FLAME_PUT(d, SLICE_QUIET, s->quiet);
		FLAME_PUT(d, SLICE_LOST, sums[i].lost);
	}
	return 0;
}

/* --- processes ------------------------------------------------------------------------------- */

struct ran {
	uint64_t on_cpu_ns, waited_ns, throttled_ns;
};

/* Writes and empties the sums of a slice. */
static void put_ran(struct flame_data *d, uint32_t slice, struct ran *ran)
{
	for (uint32_t p = 0; p < PROCESSES_IN_TIME; p++) {
		const struct ran *r = &ran[p];

		if (r->on_cpu_ns + r->waited_ns + r->throttled_ns >= 1000) {
			FLAME_RISE(d, ACCOUNT_SLICE, slice);
			FLAME_PUT(d, ACCOUNT_PROCESS, p);
			FLAME_PUT(d, ACCOUNT_ON_CPU, r->on_cpu_ns / 1000);
			FLAME_PUT(d, ACCOUNT_WAITED, r->waited_ns / 1000);
			FLAME_PUT(d, ACCOUNT_THROTTLED, r->throttled_ns / 1000);
		}
		ran[p] = (struct ran){0};
	}
}

/* Rows of accounts are in the order of their slices. */
static void put_accounts(struct flame_data *d)
{
	struct ran ran[PROCESSES_IN_TIME] = {0};
	const struct model *m = d->m;
	uint32_t slice = 0;

	for (size_t i = 0; i < m->accounts_cnt; i++) {
		const struct model_account *a = &m->accounts[i];
		uint32_t process = d->process_number[m->threads[a->thread].process];

		if (a->slice != slice)
			put_ran(d, slice, ran);
		slice = a->slice;
		if (process >= PROCESSES_IN_TIME)
			continue;
		ran[process].on_cpu_ns += a->sched.on_cpu_ns;
		ran[process].waited_ns += a->sched.waited_ns;
		ran[process].throttled_ns += a->sched.throttled_ns;
	}
	put_ran(d, slice, ran);
}

/* Number of a process that has a row a second, and one; 0 = it is none of them. */
static uint32_t number_of(const struct flame_data *d, uint32_t process)
{
	if (process == MODEL_NONE || d->process_number[process] >= PROCESSES_IN_TIME)
		return 0;
	return d->process_number[process] + 1;
}

/* By waiter, then runner. */
typedef uint64_t waits[PROCESSES_IN_TIME + 1][PROCESSES_IN_TIME + 1];

/* Writes and empties the sums of a slice. */
static void put_waits(struct flame_data *d, uint32_t slice, waits sums)
{
	for (uint32_t waiter = 0; waiter <= PROCESSES_IN_TIME; waiter++)
		for (uint32_t runner = 0; runner <= PROCESSES_IN_TIME; runner++) {
			if (!sums[waiter][runner])
				continue;
			FLAME_RISE(d, CONTENTION_SLICE, slice);
			FLAME_PUT(d, CONTENTION_RUNNER, runner);
			FLAME_PUT(d, CONTENTION_WAITER, waiter);
			FLAME_PUT(d, CONTENTION_WEIGHT, sums[waiter][runner]);
			sums[waiter][runner] = 0;
		}
}

/* As accounts are. */
static void put_contention(struct flame_data *d)
{
	const struct model *m = d->m;
	waits sums = {0};
	uint32_t slice = 0;

	for (size_t i = 0; i < m->contentions_cnt; i++) {
		const struct model_contention *c = &m->contentions[i];

		if (c->slice != slice)
			put_waits(d, slice, sums);
		slice = c->slice;
		sums[number_of(d, c->waiter)][number_of(d, c->runner)] += c->weight;
	}
	put_waits(d, slice, sums);
}

/* --- ports ----------------------------------------------------------------------------------- */

static void put_services(struct flame_data *d)
{
	const struct model *m = d->m;

	for (size_t i = 0; i < m->services_cnt; i++) {
		const struct model_service *s = &m->services[i];

		FLAME_RISE(d, SERVICE_SLICE, s->slice);
		FLAME_PUT(d, SERVICE_ENDPOINT, s->endpoint);
		FLAME_PUT(d, SERVICE_ANSWERED, s->served.answered);
		FLAME_PUT(d, SERVICE_SLOW, s->served.slow);
		FLAME_PUT(d, SERVICE_ABANDONED, s->served.abandoned);
		FLAME_PUT(d, SERVICE_REFUSED, s->served.refused);
		FLAME_PUT(d, SERVICE_TIME, s->served.time_ns / 1000);
		FLAME_PUT(d, SERVICE_LONGEST, s->time_max_ns / 1000);
		FLAME_PUT(d, SERVICE_OPEN, s->open);
		FLAME_PUT(d, SERVICE_LATE, s->late);
		FLAME_PUT(d, SERVICE_STUCK, s->stuck);
	}
	for (size_t i = 0; i < m->responses_cnt; i++) {
		const struct model_response *r = &m->responses[i];

		FLAME_RISE(d, RESPONSE_SLICE, r->slice);
		FLAME_PUT(d, RESPONSE_ENDPOINT, r->endpoint);
		FLAME_PUT(d, RESPONSE_SLOT, r->slot);
		FLAME_PUT(d, RESPONSE_ANSWERS, r->count);
	}
}

void flame_put_endpoints(struct flame_data *d)
{
	const struct model *m = d->m;
	struct json *j = &d->json;
	char protocols[REQUESTS_PROTOCOLS_BYTES];

	json_array(j, "endpoints");
	for (size_t i = 0; i < m->endpoints_cnt; i++) {
		const struct model_endpoint *e = &m->endpoints[i];
		const struct model_process *p = &m->processes[e->process];
		uint32_t number = d->process_number[e->process];

		requests_protocols_text(protocols, e->protocols);
		json_object(j, NULL);
		if (number == MODEL_NONE)
			json_null(j, "process");
		else
			json_count(j, "process", number);
		json_count(j, "pid", p->tgid);
		json_string(j, "name", *p->name ? p->name : p->comm);
		json_string(j, "address", e->address);
		json_count(j, "port", e->port);
		json_string(j, "protocols", protocols);
		json_count(j, "slowNs", e->slow_ns);
		json_end(j);
	}
	json_end(j);
	json_array(j, "responseSlotsNs");
	for (uint32_t slot = 0; slot <= RESPONSE_SLOTS; slot++)
		json_count(j, NULL, requests_slot_ns(slot));
	json_end(j);
}

int flame_series(struct flame_data *d)
{
	put_accounts(d);
	put_contention(d);
	put_services(d);
	return put_slices(d);
}

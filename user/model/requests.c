/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/requests.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/sched.h"

/* Requests whose data came in pieces blur the figures from this part of all on: a tenth. */
#define BLUR_JOINED_PART 10
/* So do sends beyond the first of an answer, from this many for each; two or three are headers, body and
 * end of a plain one. */
#define BLUR_PUSHED_TIMES 4

/* --- sums ------------------------------------------------------------------------------------ */

static uint32_t add_u32(uint32_t a, uint32_t b)
{
	uint32_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT32_MAX : sum;
}

static void raise_u32(uint32_t *to, uint32_t by)
{
	if (by > *to)
		*to = by;
}

static void raise_u64(uint64_t *to, uint64_t by)
{
	if (by > *to)
		*to = by;
}

/* What stands at the end of one slice, of all endpoints of a sum. */
struct stand {
	uint32_t slice;
	uint32_t stuck, queued;
};

/* Slices come in their order: where another one comes, the one before is whole. */
static void add_service(struct requests_sum *sum, struct stand *stand,
			const struct model_service *service, bool last)
{
	if (stand->slice != service->slice)
		*stand = (struct stand){.slice = service->slice};
	stand->stuck = add_u32(stand->stuck, service->stuck);
	stand->queued = add_u32(stand->queued, service->queued);
	raise_u32(&sum->stuck_max, stand->stuck);
	raise_u32(&sum->queued_max, stand->queued);
	raise_u64(&sum->oldest_max_ns, service->oldest_ns);
	raise_u64(&sum->time_max_ns, service->time_max_ns);
	model_served_add(&sum->served, &service->served);
	if (!last)
		return;
	sum->in_progress = add_u32(sum->in_progress, service->in_progress);
	sum->late = add_u32(sum->late, service->late);
	sum->stuck = add_u32(sum->stuck, service->stuck);
	sum->queued = add_u32(sum->queued, service->queued);
	sum->backlog = add_u32(sum->backlog, service->backlog);
	raise_u64(&sum->oldest_ns, service->oldest_ns);
}

static int add_services(struct requests *r)
{
	const struct model *m = r->m;
	_cleanup_free_ struct stand *processes = calloc(m->processes_cnt + 1, sizeof(*processes));
	_cleanup_free_ struct stand *endpoints = calloc(m->endpoints_cnt + 1, sizeof(*endpoints));
	_cleanup_free_ bool *seen = calloc(m->endpoints_cnt + 1, sizeof(*seen));
	struct stand host = {0};

	if (!processes || !endpoints || !seen)
		return -ENOMEM;
	for (size_t i = 0; i < m->services_cnt; i++) {
		const struct model_service *s = &m->services[i];
		const struct model_endpoint *e = &m->endpoints[s->endpoint];
		struct requests_sum *sums[] = {&r->endpoints[s->endpoint],
					       &r->processes[e->process], &r->host};
		struct stand *stands[] = {&endpoints[s->endpoint], &processes[e->process], &host};

		for (int k = 0; k < 3; k++) {
			add_service(sums[k], stands[k], s, s->slice + 1 == m->slices_cnt);
			sums[k]->protocols |= e->protocols;
			sums[k]->endpoints += !seen[s->endpoint];
		}
		seen[s->endpoint] = true;
	}
	return 0;
}

static void add_responses(struct requests *r)
{
	const struct model *m = r->m;

	for (size_t i = 0; i < m->responses_cnt; i++) {
		const struct model_response *row = &m->responses[i];

		r->endpoints[row->endpoint].times[row->slot] += row->count;
		r->processes[m->endpoints[row->endpoint].process].times[row->slot] += row->count;
		r->host.times[row->slot] += row->count;
	}
}

struct requests *requests_new(const struct model *m)
{
	struct requests *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->m = m;
	r->elapsed_ns = sched_elapsed_ns(m);
	r->processes = calloc(m->processes_cnt + 1, sizeof(*r->processes));
	r->endpoints = calloc(m->endpoints_cnt + 1, sizeof(*r->endpoints));
	if (!r->processes || !r->endpoints || add_services(r)) {
		requests_free(r);
		errno = ENOMEM;
		return NULL;
	}
	add_responses(r);
	return r;
}

void requests_free(struct requests *r)
{
	if (!r)
		return;
	free(r->processes);
	free(r->endpoints);
	free(r);
}

/* --- figures --------------------------------------------------------------------------------- */

uint64_t requests_slot_ns(uint32_t slot)
{
	uint32_t power;

	if (slot >= RESPONSE_SLOTS)
		slot = RESPONSE_SLOTS - 1;
	if (slot < 4)
		return slot * 1000ull;
	power = slot / 4 + 1;
	return ((4ull + slot % 4) << (power - 2)) * 1000;
}

uint64_t requests_time_ns(const struct requests_sum *sum, double share)
{
	double count = 0, rank, passed = 0, low, high, ns;
	uint32_t slot = 0, last = 0;

	for (uint32_t i = 0; i < RESPONSE_SLOTS; i++) {
		count += (double)sum->times[i];
		if (sum->times[i])
			last = i;
	}
	if (count <= 0)
		return 0;
	if (share >= 1)
		return sum->time_max_ns;
	rank = share * count;
	while (slot < last && passed + (double)sum->times[slot] < rank)
		passed += (double)sum->times[slot++];
	low = (double)requests_slot_ns(slot);
	high = (double)(slot + 1 < RESPONSE_SLOTS ? requests_slot_ns(slot + 1) : sum->time_max_ns);
	if (slot == last && high > (double)sum->time_max_ns)
		high = (double)sum->time_max_ns;
	if (high < low)
		high = low;
	ns = sum->times[slot] ? low + (high - low) * (rank - passed) / (double)sum->times[slot]
			      : low;
	if (ns < low)
		ns = low;
	return ns < (double)sum->time_max_ns ? (uint64_t)ns : sum->time_max_ns;
}

uint64_t requests_judged(const struct requests_sum *sum)
{
	return sum->served.answered + sum->late;
}

/* Counters of one answer may be read on both sides of a look: a share stays one. */
static double share_of_judged(const struct requests_sum *sum, double part)
{
	uint64_t judged = requests_judged(sum);

	if (!judged)
		return 0;
	part /= (double)judged;
	return part < 0 ? 0 : part > 1 ? 1 : part;
}

double requests_slow_share(const struct requests_sum *sum)
{
	return share_of_judged(sum, (double)sum->served.slow + sum->late);
}

double requests_score(const struct requests_sum *sum)
{
	const struct model_served *s = &sum->served;
	double tolerating = s->slow > s->very_slow ? (double)(s->slow - s->very_slow) : 0;

	if (!requests_judged(sum))
		return 1;
	return share_of_judged(sum, (double)s->answered - (double)s->slow + tolerating / 2);
}

const char *requests_blur(const struct requests_sum *sum)
{
	const struct model_served *s = &sum->served;

	if (sum->protocols & PROTOCOL_HTTP2)
		return "HTTP/2: a connection carries many requests at a time; what counts is "
		       "bursts of them";
	if (sum->protocols & PROTOCOL_TLS)
		return "TLS: handshakes count as requests, and HTTP/2 inside is not seen";
	if (s->joined > s->begun / BLUR_JOINED_PART)
		return "data arrived while a request was unanswered (bodies in pieces, "
		       "pipelining): "
		       "several requests may count as one";
	if (s->pushed / BLUR_PUSHED_TIMES > s->answered)
		return "most sends follow an earlier one (long answers, WebSocket, streams): only "
		       "the "
		       "first byte after data counts as an answer";
	return NULL;
}

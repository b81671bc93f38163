/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/requests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "model/sched.h"
#include "model/share.h"

/* Requests whose data came in pieces blur the figures from this part of all on: a tenth. */
#define BLUR_JOINED_PART 10
/* So do sends beyond the first of an answer, from this many for each; two or three are headers,
 * body and end of a plain one. */
#define BLUR_PUSHED_TIMES 4
/* What somebody waits for on purpose takes that long at least. */
#define TIMED_LEAST_NS 1000000000ull

/* --- sums ------------------------------------------------------------------------------------ */

static void raise_u64(uint64_t *to, uint64_t by)
{
	if (by > *to)
		*to = by;
}

static uint64_t slice_length_ns(const struct model *m, uint32_t slice)
{
	const struct model_slice *s = &m->slices[slice];

	return slice < m->slices_cnt && s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0;
}

/* Slices come in their order: where another one comes, the one before is whole. */
static void add_worst(struct requests_sum *sum, const struct model_service *service)
{
	if (sum->slice != service->slice)
		sum->slice_stuck = sum->slice_queued = 0;
	sum->slice = service->slice;
	sum->slice_stuck += service->stuck;
	sum->slice_queued += service->queued;
	raise_u64(&sum->stuck_max, sum->slice_stuck);
	raise_u64(&sum->queued_max, sum->slice_queued);
	raise_u64(&sum->oldest_max_ns, service->oldest_ns);
	raise_u64(&sum->time_max_ns, service->time_max_ns);
}

/* Within a slice each request that was seen to end stands for as many: one, and so many more. */
static double unseen_for_each(const struct model_served *s)
{
	double ended = (double)s->answered + (double)s->abandoned, unseen = (double)s->unseen;

	return unseen < ended ? unseen / (ended - unseen) : 0;
}

static void add_spread(struct requests_sum *sum, const struct model_served *s, bool plain)
{
	double each = s->unseen ? unseen_for_each(s) : 0, answered = (double)s->answered;

	if (each <= 0)
		return;
	sum->unseen += (uint64_t)llround(answered * each / (1 + each));
	sum->spread += answered * each;
	if (plain)
		sum->plain_spread += (answered + (double)s->abandoned) * each;
}

void requests_sum_add(struct requests_sum *sum, const struct model *m,
		      const struct model_service *service, bool stands)
{
	uint64_t slice_ns = slice_length_ns(m, service->slice);
	uint8_t protocols = m->endpoints[service->endpoint].protocols;

	sum->protocols |= protocols;
	model_served_add(&sum->served, &service->served);
	add_spread(sum, &service->served, requests_is_plain(protocols));
	if (requests_is_plain(protocols)) {
		sum->plain_answered += service->served.answered;
		sum->plain_abandoned += service->served.abandoned;
	}
	if (service->backlog && service->queued >= service->backlog / 2)
		sum->full_refused += service->served.refused;
	sum->open_ns += service->open * slice_ns;
	sum->late_ns += service->late * slice_ns;
	add_worst(sum, service);
	if (!stands)
		return;
	sum->open += service->open;
	sum->late += service->late;
	sum->stuck += service->stuck;
	sum->queued += service->queued;
	sum->backlog += service->backlog;
	sum->unsure += service->unsure;
	sum->incomplete += service->incomplete;
	raise_u64(&sum->oldest_ns, service->oldest_ns);
}

void requests_sum_restart(struct requests_sum *sum)
{
	sum->open = sum->late = sum->stuck = sum->queued = sum->backlog = 0;
	sum->unsure = sum->incomplete = sum->oldest_ns = 0;
}

static void add_response(struct requests_sum *sum, const struct model_response *response)
{
	if (sum->times)
		sum->times[response->slot] += response->count;
}

static bool same_port(const void *owner, uint32_t row, const void *key)
{
	const struct requests_port *p = &((const struct requests *)owner)->ports[row];
	const struct model_endpoint *e = key;

	return p->process == e->process && p->port == e->port;
}

/* What the rows are added to while the sums are made. */
struct building {
	uint32_t *port_of; /* by endpoint: row of ports, MODEL_NONE = not seen yet */
	struct hash_index index;
};

static void building_clear(struct building *b)
{
	free(b->port_of);
	hash_clear(&b->index);
}

/* Finds or adds the port of an endpoint that has a service. 0 or -ENOMEM. */
static int meet_endpoint(struct requests *r, struct building *b, uint32_t endpoint)
{
	const struct model_endpoint *e = &r->m->endpoints[endpoint];
	uint64_t hash = hash_pair(e->process, e->port);
	uint32_t row;
	struct requests_port *p;

	if (b->port_of[endpoint] != MODEL_NONE)
		return 0;
	row = hash_find(&b->index, hash, same_port, r, e);
	if (row == HASH_NONE) {
		row = (uint32_t)r->ports_cnt;
		if (hash_add(&b->index, hash, row))
			return -ENOMEM;
		r->ports[r->ports_cnt++] = (struct requests_port){
			.process = e->process,
			.port = e->port,
			.address = e->address,
			.slow_ns = e->slow_ns,
			.sum.times = r->port_times[row],
		};
	}
	p = &r->ports[row];
	if (strcmp(p->address, e->address) != 0)
		p->address = "";
	if (p->slow_ns != e->slow_ns)
		p->slow_ns = 0;
	b->port_of[endpoint] = row;
	p->sum.endpoints++;
	r->endpoints[endpoint].times = r->endpoint_times[endpoint];
	r->endpoints[endpoint].endpoints++;
	r->processes[e->process].times = r->process_times[e->process];
	r->processes[e->process].endpoints++;
	r->host.times = r->host_times;
	r->host.endpoints++;
	return 0;
}

static int add_services(struct requests *r, struct building *b)
{
	const struct model *m = r->m;

	for (size_t i = 0; i < m->services_cnt; i++) {
		const struct model_service *s = &m->services[i];
		bool stands = s->slice + 1 == m->slices_cnt;
		int err = meet_endpoint(r, b, s->endpoint);

		if (err)
			return err;
		requests_sum_add(&r->endpoints[s->endpoint], m, s, stands);
		requests_sum_add(&r->processes[m->endpoints[s->endpoint].process], m, s, stands);
		requests_sum_add(&r->ports[b->port_of[s->endpoint]].sum, m, s, stands);
		requests_sum_add(&r->host, m, s, stands);
	}
	return 0;
}

static void add_responses(struct requests *r, const struct building *b)
{
	const struct model *m = r->m;

	for (size_t i = 0; i < m->responses_cnt; i++) {
		const struct model_response *row = &m->responses[i];

		/* Without a row of services it has no port: no such response is ours. */
		if (b->port_of[row->endpoint] == MODEL_NONE)
			continue;
		add_response(&r->endpoints[row->endpoint], row);
		add_response(&r->processes[m->endpoints[row->endpoint].process], row);
		add_response(&r->ports[b->port_of[row->endpoint]].sum, row);
		add_response(&r->host, row);
	}
}

static int add_all(struct requests *r)
{
	const struct model *m = r->m;
	_cleanup_(building_clear) struct building b = {
		.port_of = calloc(m->endpoints_cnt + 1, sizeof(*b.port_of)),
	};
	int err;

	if (!b.port_of)
		return -ENOMEM;
	for (size_t i = 0; i < m->endpoints_cnt; i++)
		b.port_of[i] = MODEL_NONE;
	err = add_services(r, &b);
	if (!err)
		add_responses(r, &b);
	return err;
}

static int make_sums(struct requests *r)
{
	size_t processes = r->m->processes_cnt + 1, endpoints = r->m->endpoints_cnt + 1;

	r->processes = calloc(processes, sizeof(*r->processes));
	r->process_times = calloc(processes, sizeof(*r->process_times));
	r->endpoints = calloc(endpoints, sizeof(*r->endpoints));
	r->endpoint_times = calloc(endpoints, sizeof(*r->endpoint_times));
	r->ports = calloc(endpoints, sizeof(*r->ports));
	r->port_times = calloc(endpoints, sizeof(*r->port_times));
	return r->processes && r->process_times && r->endpoints && r->endpoint_times && r->ports &&
			       r->port_times
		       ? 0
		       : -ENOMEM;
}

struct requests *requests_new(const struct model *m)
{
	struct requests *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->m = m;
	r->elapsed_ns = sched_elapsed_ns(m);
	if (make_sums(r) || add_all(r)) {
		requests_free(r);
		errno = ENOMEM;
		return NULL;
	}
	return r;
}

void requests_free(struct requests *r)
{
	if (!r)
		return;
	free(r->processes);
	free(r->process_times);
	free(r->endpoints);
	free(r->endpoint_times);
	free(r->ports);
	free(r->port_times);
	free(r);
}

int requests_compare_ports(const void *a, const void *b)
{
	const struct requests_port *pa = a, *pb = b;

	if (pa->sum.stuck_max != pb->sum.stuck_max)
		return pa->sum.stuck_max < pb->sum.stuck_max ? 1 : -1;
	if (pa->sum.served.begun != pb->sum.served.begun)
		return pa->sum.served.begun < pb->sum.served.begun ? 1 : -1;
	if (pa->process != pb->process)
		return pa->process > pb->process ? 1 : -1;
	return COMPARE(pa->port, pb->port);
}

/* --- slices ---------------------------------------------------------------------------------- */

/* How one slice of a process went: the larger, the worse, the first figure first. */
struct fared {
	uint32_t slice;
	bool any;
	uint64_t stuck, bad, longest_ns;
};

static bool is_worse(const struct fared *a, const struct fared *b)
{
	if (a->stuck != b->stuck)
		return a->stuck > b->stuck;
	if (a->bad != b->bad)
		return a->bad > b->bad;
	return a->longest_ns > b->longest_ns;
}

static bool is_of(const struct model *m, uint32_t endpoint, uint32_t process)
{
	return process == MODEL_NONE || m->endpoints[endpoint].process == process;
}

static void add_fared(struct fared *f, const struct model_service *s)
{
	f->slice = s->slice;
	f->any = true;
	f->stuck += s->stuck;
	f->bad += s->served.slow + s->late + s->served.refused;
	raise_u64(&f->longest_ns, s->time_max_ns);
	raise_u64(&f->longest_ns, s->oldest_ns);
}

/* Puts the worst of all into worst, the worst first. Returns how many. */
static size_t pick_worst(const struct fared *all, size_t all_cnt, size_t most, struct fared *worst)
{
	size_t cnt = 0;

	for (size_t i = 0; i < all_cnt; i++) {
		size_t at = cnt < most ? cnt : most;

		if (!all[i].any)
			continue;
		while (at && is_worse(&all[i], &worst[at - 1])) {
			if (at < most)
				worst[at] = worst[at - 1];
			at--;
		}
		if (at == most)
			continue;
		worst[at] = all[i];
		cnt += cnt < most;
	}
	return cnt;
}

static int compare_slices(const void *a, const void *b)
{
	const struct requests_slice *ra = a, *rb = b;

	return COMPARE(ra->slice, rb->slice);
}

static struct requests_slice *slice_find(struct requests_slice *rows, size_t cnt, uint32_t slice)
{
	struct requests_slice key = {.slice = slice};

	return cnt ? bsearch(&key, rows, cnt, sizeof(*rows), compare_slices) : NULL;
}

static void fill_slices(const struct model *m, uint32_t process, struct requests_slice *rows,
			size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		rows[i].sum.times = rows[i].times;
	for (size_t i = 0; i < m->services_cnt; i++) {
		const struct model_service *s = &m->services[i];
		struct requests_slice *row = slice_find(rows, cnt, s->slice);

		if (row && is_of(m, s->endpoint, process))
			requests_sum_add(&row->sum, m, s, true);
	}
	for (size_t i = 0; i < m->responses_cnt; i++) {
		const struct model_response *response = &m->responses[i];
		struct requests_slice *row = slice_find(rows, cnt, response->slice);

		if (row && is_of(m, response->endpoint, process))
			add_response(&row->sum, response);
	}
}

int requests_worst_slices(const struct model *m, uint32_t process, size_t most,
			  struct requests_slice *ret_rows, size_t *ret_cnt, size_t *ret_all)
{
	_cleanup_free_ struct fared *all = calloc(m->slices_cnt + 1, sizeof(*all));
	struct fared worst[REQUESTS_SLICES_MAX];
	size_t cnt, all_cnt = 0;

	if (!all)
		return -ENOMEM;
	if (most > REQUESTS_SLICES_MAX)
		most = REQUESTS_SLICES_MAX;
	for (size_t i = 0; i < m->services_cnt; i++)
		if (is_of(m, m->services[i].endpoint, process))
			add_fared(&all[m->services[i].slice], &m->services[i]);
	for (size_t i = 0; i < m->slices_cnt; i++)
		all_cnt += all[i].any;
	cnt = pick_worst(all, m->slices_cnt, most, worst);
	for (size_t i = 0; i < cnt; i++)
		ret_rows[i] = (struct requests_slice){.slice = worst[i].slice};
	qsort(ret_rows, cnt, sizeof(*ret_rows), compare_slices);
	fill_slices(m, process, ret_rows, cnt);
	*ret_cnt = cnt;
	*ret_all = all_cnt;
	return 0;
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

	for (uint32_t i = 0; sum->times && i < RESPONSE_SLOTS; i++) {
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
	return share_of_judged(sum, (double)sum->served.slow + (double)sum->late);
}

/* So many, each chosen by itself, would tell as much. */
static double telling(double scaled, double spread)
{
	return scaled * scaled / spread / REQUESTS_ALIKE;
}

/* The range of a share of what was scaled. */
static void scaled_range(double share, double scaled, double spread, double *ret_low,
			 double *ret_high)
{
	double whole = fmin(floor(telling(scaled, spread)), 1e15);

	share_range((uint64_t)llround(share * whole), (uint64_t)whole, ret_low, ret_high);
	/* Of few the nearest whole number may be far off. */
	*ret_low = fmin(*ret_low, share);
	*ret_high = fmax(*ret_high, share);
}

void requests_slow_range(const struct requests_sum *sum, double *ret_low, double *ret_high)
{
	double answered = (double)sum->served.answered, low, high;

	*ret_low = *ret_high = requests_slow_share(sum);
	if (sum->spread <= 0 || answered <= 0)
		return;
	scaled_range(fmin((double)sum->served.slow / answered, 1), answered, sum->spread, &low,
		     &high);
	*ret_low = share_of_judged(sum, low * answered + (double)sum->late);
	*ret_high = share_of_judged(sum, high * answered + (double)sum->late);
}

double requests_plain_abandoned_least(const struct requests_sum *sum)
{
	double ended = (double)sum->plain_answered + (double)sum->plain_abandoned, low, high;

	if (ended <= 0)
		return 0;
	low = (double)sum->plain_abandoned / ended;
	if (sum->plain_spread > 0)
		scaled_range(low, ended, sum->plain_spread, &low, &high);
	return low;
}

double requests_score(const struct requests_sum *sum)
{
	const struct model_served *s = &sum->served;
	double tolerating = s->slow > s->very_slow ? (double)(s->slow - s->very_slow) : 0;

	if (!requests_judged(sum))
		return 1;
	return share_of_judged(sum, (double)s->answered - (double)s->slow + tolerating / 2);
}

bool requests_is_plain(uint8_t protocols)
{
	return protocols == PROTOCOL_HTTP1;
}

double requests_unanswered_share(const struct requests_sum *sum)
{
	uint64_t ended = sum->served.answered + sum->served.abandoned;

	if (!ended || !requests_is_plain(sum->protocols))
		return 0;
	return (double)sum->served.abandoned / (double)ended;
}

void requests_protocols_text(char text[static REQUESTS_PROTOCOLS_BYTES], uint8_t protocols)
{
	text[0] = '\0';
#define APPEND(bit, name)                   \
	if (protocols & (bit)) {            \
		if (text[0])                \
			strcat(text, ", "); \
		strcat(text, name);         \
	}
	REQUESTS_PROTOCOLS(APPEND)
#undef APPEND
}

bool requests_is_foreign(const struct requests_sum *sum)
{
	return sum->protocols == PROTOCOL_OTHER;
}

bool requests_are_timed(const struct requests_sum *sum)
{
	uint64_t slow = sum->served.slow, all = 0, most = 0, before = 0;

	/* A time may lie on the bound between two slots. The last one has no upper bound. */
	for (uint32_t i = 0; sum->times && i + 1 < RESPONSE_SLOTS; i++) {
		if (requests_slot_ns(i + 1) <= TIMED_LEAST_NS)
			continue;
		raise_u64(&most, before + sum->times[i]);
		before = sum->times[i];
		all += before;
	}
	/* Where T is longer than that, these are not the slow ones. */
	return slow && all <= slow && most >= slow - slow / 10;
}

const char *requests_blur(const struct requests_sum *sum)
{
	const struct model_served *s = &sum->served;

	if (sum->protocols & PROTOCOL_HTTP2)
		return "HTTP/2: a connection carries many requests at a time; what counts is "
		       "bursts of them";
	if (sum->protocols & PROTOCOL_TLS)
		return "TLS: handshakes count as requests, and HTTP/2 inside is not seen";
	if (sum->protocols & PROTOCOL_WEBSOCKET)
		return "WebSocket: only the handshake and what comes before it are requests, "
		       "messages "
		       "are not";
	if (requests_is_foreign(sum) && (s->slow || sum->stuck_max))
		return "neither HTTP nor TLS: answers that take long may do so by design "
		       "(blocking commands, subscriptions)";
	if (s->joined > s->begun / BLUR_JOINED_PART)
		return "data arrived while a request was unanswered (bodies in pieces, "
		       "pipelining): "
		       "several requests may count as one";
	if (s->pushed / BLUR_PUSHED_TIMES > s->answered)
		return "most sends follow an earlier one (long answers, streams): only "
		       "the "
		       "first byte after data counts as an answer";
	return NULL;
}

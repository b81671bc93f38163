/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/request_take.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/collector.h"

/* Its counters go on while it is copied: each is whole, and of about this moment. */
static bool copy_endpoint(const struct endpoint *row, struct endpoint *ret_copy)
{
	/* Written last: with it, the rest is there. */
	if (!__atomic_load_n(&row->listener, __ATOMIC_ACQUIRE))
		return false;
	memcpy(ret_copy, row, sizeof(*row));
	return true;
}

/* Who serves is to have a name although it uses no CPU: one that hangs. */
static void name_servers(struct request_take *r)
{
	const struct model *m = r->rooms->model;

	for (size_t i = m->services_cnt; r->rooms->options->facts && i-- > 0;) {
		if (m->services[i].slice + 1 < m->slices_cnt)
			return; /* of earlier slices */
		process_facts_want(r->facts, m->endpoints[m->services[i].endpoint].process);
	}
}

/* Which part of the connections the slice tells of. */
static void note_share(struct request_take *r)
{
	struct model_slice *slice;

	if (!r->rooms->model->slices_cnt)
		return;
	slice = &r->rooms->model->slices[r->rooms->model->slices_cnt - 1];
	slice->one_followed_of = 1u << follow_most_shift(&r->follow);
	slice->followed = session_connections_followed(r->rooms->session);
}

void request_take_set_shares(struct request_take *r)
{
	for (unsigned int i = 0; i < FOLLOW_BUCKETS; i++)
		session_follow_share(r->rooms->session, i, r->follow.buckets[i].shift);
}

void request_take_choose_share(struct request_take *r, uint64_t elapsed_ns)
{
	struct follow_seen seen[FOLLOW_BUCKETS];

	session_take_followed(r->rooms->session, seen);
	r->follow.most = r->rooms->options->follow_most;
	follow_next(&r->follow, seen, elapsed_ns);
	request_take_set_shares(r);
}

void request_take(struct request_take *r, bool first)
{
	/* A recording ends with what stands then. */
	bool due = first || r->rooms->stopped || session_sockets_due(r->rooms->session);
	const struct endpoint *rows = NULL;
	struct endpoint row;
	uint32_t cnt;
	int err = 0;

	if (model_off(r->rooms->model) & OFF_REQUESTS)
		return;
	ingest_requests_begin(r->rooms->ingest, clock_now_ns());
	cnt = session_endpoints(r->rooms->session, &rows);
	for (uint32_t i = 0; i < cnt; i++)
		if (copy_endpoint(&rows[i], &row))
			ingest_endpoint(r->rooms->ingest, i, &row);
	if (due)
		err = session_read_sockets(r->rooms->session, r->ops);
	if (err)
		model_loss_add(r->rooms->model, LOSS_ITERATOR, 1);
	/* A name is missing then, and not the count. */
	if (session_read_refused(r->rooms->session, r->ops))
		log_debug("requests: who was refused an endpoint is not known");
	ingest_requests_end(r->rooms->ingest, due && !err);
	note_share(r);
	name_servers(r);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector asks the session about requests, once a slice. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/collector_private.h"

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
static void name_servers(struct collector *c)
{
	const struct model *m = c->model;

	for (size_t i = m->services_cnt; c->options.facts && i-- > 0;) {
		if (m->services[i].slice + 1 < m->slices_cnt)
			return; /* of earlier slices */
		collector_name_process(c, m->endpoints[m->services[i].endpoint].process);
	}
}

void collector_read_requests(struct collector *c)
{
	const struct endpoint *rows = NULL;
	struct endpoint row;
	uint32_t cnt;
	int err;

	if (c->model->host.off & OFF_REQUESTS)
		return;
	ingest_requests_begin(c->ingest, clock_now_ns());
	cnt = session_endpoints(c->session, &rows);
	for (uint32_t i = 0; i < cnt; i++)
		if (copy_endpoint(&rows[i], &row))
			ingest_endpoint(c->ingest, i, &row);
	err = session_read_sockets(c->session, &c->ops);
	if (err)
		model_loss_add(c->model, LOSS_ITERATOR, 1);
	/* A name is missing then, and not the count. */
	if (session_read_refused(c->session, &c->ops))
		log_debug("requests: who was refused an endpoint is not known");
	ingest_requests_end(c->ingest, !err);
	name_servers(c);
}

bool collector_sees_requests(const struct collector *c)
{
	return c->options.requests && !session_requests_why(c->session);
}

void collector_warn_of_namespaces(const struct collector *c)
{
	uint32_t seen, all;

	if (!collector_sees_requests(c))
		return;
	session_namespaces(c->session, &seen, &all);
	if (seen < all)
		log_warn("requests: %u of %u network namespaces could not be entered; there, "
			 "connections that waited to be accepted before are not seen",
			 all - seen, all);
}

void collector_requests_text(const struct collector *c, char *text, size_t bytes)
{
	const char *why = session_requests_why(c->session);

	if (!c->options.requests)
		snprintf(text, bytes, "requests off");
	else
		snprintf(text, bytes, "requests%s%s", why ? " off: " : "", why ? why : "");
}

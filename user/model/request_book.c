/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/request_book.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "base/rise.h"
#include "model/requests.h"

/* --- endpoints ------------------------------------------------------------------------------- */

/* What this slice gathers for a row of the model's endpoints, or NULL. */
static struct model_service *service_of(struct request_book *book, uint32_t endpoint)
{
	while (book->services_cnt <= endpoint) {
		if (GROW(book->services, book->services_cnt, book->services_cap))
			return NULL;
		book->services[book->services_cnt] =
			(struct model_service){.endpoint = (uint32_t)book->services_cnt};
		book->services_cnt++;
	}
	return &book->services[endpoint];
}

/* The row of the model, which is added if its process may have one more; MODEL_NONE = it may
 * not. */
static uint32_t endpoint_get(struct request_book *book, struct model *m,
			     const struct model_endpoint *endpoint)
{
	uint32_t row = model_endpoint_find(m, endpoint->process, endpoint->listener);

	if (row != MODEL_NONE)
		return row;
	book->shares.most = MODEL_MAX_ENDPOINTS;
	book->shares.most_of_cgroup = ENDPOINTS_OF_CGROUP;
	book->shares.most_of_process = ENDPOINTS_OF_PROCESS;
	if (!fair_take(&book->shares, m, endpoint->process))
		return MODEL_NONE;
	row = model_endpoint_get(m, endpoint);
	return row;
}

static struct request_listener *listener_get(struct request_book *book, uint64_t cookie);
static uint32_t listener_find(const struct request_book *book, uint64_t cookie);

/* Of any process that serves through it, or MODEL_NONE. */
static uint32_t of_same_socket(const struct request_book *book, uint64_t cookie)
{
	uint32_t listener = listener_find(book, cookie);

	return listener == HASH_NONE ? MODEL_NONE : book->listeners[listener].endpoint;
}

static uint32_t add_endpoint(struct request_book *book, struct model *m, uint32_t process,
			     const struct endpoint *e)
{
	char address[INET6_ADDRSTRLEN] = "";
	struct model_endpoint row = {
		.process = process,
		.listener = e->listener,
		.address = address,
		.port = e->port,
		.netns = e->netns,
	};
	uint32_t endpoint;

	if (e->family == AF_INET || e->family == AF_INET6)
		inet_ntop(e->family, e->address, address, sizeof(address));
	endpoint = endpoint_get(book, m, &row);
	if (endpoint == MODEL_NONE)
		return of_same_socket(book, e->listener);
	/* It may have been known by a socket alone. */
	if (m->endpoints[endpoint].slow_ns != e->slow_ns ||
	    (m->endpoints[endpoint].protocols | e->protocols) != m->endpoints[endpoint].protocols) {
		m->endpoints[endpoint].slow_ns = e->slow_ns;
		m->endpoints[endpoint].protocols |= e->protocols;
		m->endpoints[endpoint].dirty = true;
	}
	if (address[0] && !m->endpoints[endpoint].address[0]) {
		m->endpoints[endpoint].address = model_str(m, address);
		m->endpoints[endpoint].dirty = true;
	}
	return endpoint;
}

static struct endpoint *seen_of(struct request_book *book, uint32_t row)
{
	while (book->seen_cnt <= row) {
		if (GROW(book->seen, book->seen_cnt, book->seen_cap))
			return NULL;
		book->seen[book->seen_cnt++] = (struct endpoint){0};
	}
	return &book->seen[row];
}

static bool same_owner(const struct endpoint *a, const struct endpoint *b)
{
	return a->listener == b->listener && a->turn == b->turn && a->tgid == b->tgid &&
	       a->process_start_ns == b->process_start_ns;
}

/* What the counters begin at, where the row is new or was taken over; then who it is about, and
 * T. */
static void meet(struct endpoint *was, const struct endpoint *e, bool count)
{
	const size_t head_bytes = offsetof(struct endpoint, connections);

	if (!same_owner(was, e))
		*was = count ? (struct endpoint){0} : *e;
	memcpy(was, e, head_bytes);
}

bool request_book_is_same(const struct request_book *book, uint32_t row, const struct endpoint *e)
{
	return row < book->seen_cnt && !memcmp(&book->seen[row], e, sizeof(*e));
}

static void add_served(struct model_served *sum, const struct endpoint *is, struct endpoint *was)
{
	sum->connections += rise_since(is->connections, (uint64_t *)&was->connections);
	sum->begun += rise_since(is->begun, (uint64_t *)&was->begun);
	sum->answered += rise_since(is->answered, (uint64_t *)&was->answered);
	sum->abandoned += rise_since(is->abandoned, (uint64_t *)&was->abandoned);
	sum->slow += rise_since(is->slow, (uint64_t *)&was->slow);
	sum->very_slow += rise_since(is->very_slow, (uint64_t *)&was->very_slow);
	sum->time_ns += rise_since(is->time_ns, (uint64_t *)&was->time_ns);
	sum->joined += rise_since(is->joined, (uint64_t *)&was->joined);
	sum->pushed += rise_since(is->pushed, (uint64_t *)&was->pushed);
	sum->received_bytes += rise_since(is->received_bytes, (uint64_t *)&was->received_bytes);
	sum->sent_bytes += rise_since(is->sent_bytes, (uint64_t *)&was->sent_bytes);
	sum->unseen += rise_since(is->unseen, (uint64_t *)&was->unseen);
}

/* Rows of the histogram; returns the last slot that rose, or RESPONSE_SLOTS. 0 or -ENOMEM. */
static int add_responses(struct model *m, uint32_t endpoint, bool count, const struct endpoint *is,
			 struct endpoint *was, uint32_t *ret_last)
{
	struct model_response row = {
		.slice = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0,
		.endpoint = endpoint,
	};

	*ret_last = RESPONSE_SLOTS;
	for (uint32_t slot = 0; slot < RESPONSE_SLOTS; slot++) {
		/* The kernel counts modulo 2^32; no slice sees half of that, so it fell. */
		uint32_t by = is->times[slot] - was->times[slot];

		if (!by || by > INT32_MAX)
			continue;
		was->times[slot] = is->times[slot];
		*ret_last = slot;
		row.slot = (uint8_t)slot;
		row.count = by;
		if (count && model_response_add(m, &row))
			return -ENOMEM;
	}
	return 0;
}

/* The longest of the slice: exact where it is the longest ever, else the end of its slot. */
static uint64_t longest_ns(const struct endpoint *is, uint64_t was_ns, uint32_t last)
{
	uint64_t end_ns;

	if (last == RESPONSE_SLOTS)
		return 0;
	if (is->time_max_ns > was_ns || last == RESPONSE_SLOTS - 1)
		return is->time_max_ns;
	end_ns = requests_slot_ns(last + 1);
	return end_ns < is->time_max_ns ? end_ns : is->time_max_ns;
}

int request_book_endpoint(struct request_book *book, struct model *m, uint32_t row,
			  uint32_t process, const struct endpoint *e, bool count)
{
	struct request_listener *listener;
	struct model_service *service;
	uint32_t endpoint, last;
	struct endpoint *was;
	uint64_t was_max_ns;
	int err;

	if (row >= ENDPOINTS_MAX)
		return -E2BIG;
	was = seen_of(book, row);
	if (!was)
		return -ENOMEM;
	if (process == MODEL_NONE) {
		if (!count)
			meet(was, e, count);
		return 0;
	}
	endpoint = add_endpoint(book, m, process, e);
	if (endpoint == MODEL_NONE) {
		*was = *e; /* lost once, not at each look */
		return -E2BIG;
	}
	service = service_of(book, endpoint);
	if (!service)
		return -ENOMEM;
	meet(was, e, count);
	listener = listener_get(book, e->listener);
	if (listener && listener->endpoint == MODEL_NONE)
		listener->endpoint = endpoint;
	was_max_ns = was->time_max_ns;
	add_served(&service->served, e, was);
	err = add_responses(m, endpoint, count, e, was, &last);
	if (e->time_max_ns > was_max_ns)
		was->time_max_ns = e->time_max_ns;
	if (longest_ns(e, was_max_ns, last) > service->time_max_ns)
		service->time_max_ns = longest_ns(e, was_max_ns, last);
	return err;
}

/* --- sockets --------------------------------------------------------------------------------- */

static bool same_cookie(const void *owner, uint32_t row, const void *key)
{
	return ((const struct request_book *)owner)->listeners[row].cookie ==
	       *(const uint64_t *)key;
}

static uint32_t listener_find(const struct request_book *book, uint64_t cookie)
{
	return hash_find(&book->listener_index, hash_u64(cookie), same_cookie, book, &cookie);
}

/* Adds it; NULL beyond the bound or without memory. */
static struct request_listener *listener_get(struct request_book *book, uint64_t cookie)
{
	uint32_t row = listener_find(book, cookie);

	if (row == HASH_NONE) {
		row = (uint32_t)book->listeners_cnt;
		if (row >= REQUEST_BOOK_LISTENERS ||
		    GROW(book->listeners, book->listeners_cnt, book->listeners_cap) ||
		    hash_add(&book->listener_index, hash_u64(cookie), row))
			return NULL;
		book->listeners[book->listeners_cnt++] = (struct request_listener){
			.cookie = cookie,
			.endpoint = MODEL_NONE,
			.refused_known = book->sockets_read,
		};
	}
	book->listeners[row].look = book->look;
	return &book->listeners[row];
}

/* Forgets those that are gone, so that who opens and closes for ever does not fill the table. */
static int prune_listeners(struct request_book *book)
{
	size_t kept = 0;

	for (size_t i = 0; i < book->listeners_cnt; i++)
		if (book->listeners[i].look == book->look)
			book->listeners[kept++] = book->listeners[i];
	if (kept == book->listeners_cnt)
		return 0;
	book->listeners_cnt = kept;
	hash_clear(&book->listener_index);
	for (size_t i = 0; i < kept; i++)
		if (hash_add(&book->listener_index, hash_u64(book->listeners[i].cookie),
			     (uint32_t)i))
			return -ENOMEM;
	return 0;
}

/* Row of the model for a socket: its own process's, else any of the same listening socket, else
 * with add a new one. */
static uint32_t endpoint_of(struct request_book *book, struct model *m, uint32_t process,
			    const struct event_socket *socket, bool add)
{
	uint32_t row = process == MODEL_NONE ? MODEL_NONE
					     : model_endpoint_find(m, process, socket->listener);
	struct model_endpoint fresh = {
		.process = process,
		.listener = socket->listener,
		.address = "",
		.port = socket->port,
		.netns = socket->netns,
		.slow_ns = REQUESTS_SLOW_NS,
	};

	if (row == MODEL_NONE)
		row = of_same_socket(book, socket->listener);
	if (row == MODEL_NONE && process != MODEL_NONE && add)
		row = endpoint_get(book, m, &fresh);
	return row;
}

static int take_listening(struct request_book *book, struct model *m, uint32_t process,
			  const struct event_socket *socket)
{
	struct request_listener *listener = listener_get(book, socket->listener);
	struct model_service *service;
	uint32_t refused, endpoint;

	if (!listener)
		return -E2BIG;
	refused = listener->refused_known && socket->refused > listener->refused
			  ? socket->refused - listener->refused
			  : 0;
	listener->refused = socket->refused;
	listener->refused_known = true;
	/* Most sockets listen for nobody: no row for them. */
	endpoint = endpoint_of(book, m, process, socket, refused || socket->queued);
	if (endpoint == MODEL_NONE)
		return process != MODEL_NONE && (refused || socket->queued) ? -E2BIG : 0;
	if (listener->endpoint == MODEL_NONE)
		listener->endpoint = endpoint;
	service = service_of(book, endpoint);
	if (!service)
		return -ENOMEM;
	service->served.refused += refused;
	service->queued = socket->queued;
	service->backlog = socket->backlog;
	return 0;
}

static int take_unanswered(struct request_book *book, struct model *m, uint32_t process,
			   const struct event_socket *socket)
{
	uint64_t age_ns = rise_of(book->now_ns, socket->begun_ns);
	uint32_t endpoint = endpoint_of(book, m, process, socket, true);
	struct model_service *service;

	if (endpoint == MODEL_NONE)
		return -E2BIG;
	service = service_of(book, endpoint);
	if (!service)
		return -ENOMEM;
	if (socket->flags & SOCKET_INCOMPLETE) {
		service->incomplete++;
		return 0;
	}
	if (socket->flags & SOCKET_UNSURE) {
		service->unsure++;
		return 0;
	}
	service->open++;
	service->late += age_ns > m->endpoints[endpoint].slow_ns;
	service->stuck += age_ns > STUCK_NS;
	if (age_ns > service->oldest_ns)
		service->oldest_ns = age_ns;
	return 0;
}

int request_book_socket(struct request_book *book, struct model *m, uint32_t process,
			const struct event_socket *socket)
{
	if (!socket->listener)
		return -EBADMSG;
	if (socket->flags & SOCKET_LISTENS)
		return take_listening(book, m, process, socket);
	return socket->begun_ns ? take_unanswered(book, m, process, socket) : -EBADMSG;
}

/* --- a look ---------------------------------------------------------------------------------- */

void request_book_begin(struct request_book *book, uint64_t now_ns)
{
	book->now_ns = now_ns;
	book->look++;
}

static bool is_something(const struct model_service *service)
{
	const uint64_t *figures = (const uint64_t *)&service->served;
	uint64_t any = service->open | service->queued | service->unsure | service->incomplete;

	for (size_t i = 0; i < sizeof(service->served) / sizeof(uint64_t); i++)
		any |= figures[i];
	return any;
}

/* What stood unanswered and in queues. */
static void copy_standing(struct model_service *to, const struct model_service *from)
{
	to->open = from->open;
	to->late = from->late;
	to->stuck = from->stuck;
	to->oldest_ns = from->oldest_ns;
	to->queued = from->queued;
	to->backlog = from->backlog;
	to->unsure = from->unsure;
	to->incomplete = from->incomplete;
}

/* Keeps what this look told of sockets, or has what the one before told. 0 or -ENOMEM. */
static int keep_standing(struct request_book *book, bool sockets)
{
	while (book->standing_cnt < book->services_cnt) {
		if (GROW(book->standing, book->standing_cnt, book->standing_cap))
			return -ENOMEM;
		book->standing[book->standing_cnt++] = (struct model_service){0};
	}
	for (size_t i = 0; i < book->services_cnt; i++) {
		if (sockets)
			copy_standing(&book->standing[i], &book->services[i]);
		else
			copy_standing(&book->services[i], &book->standing[i]);
	}
	if (sockets)
		book->sockets_ns = book->now_ns;
	return 0;
}

int request_book_end(struct request_book *book, struct model *m, bool count, bool sockets)
{
	uint32_t slice = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0;
	int err = keep_standing(book, sockets);

	for (size_t i = 0; i < book->services_cnt; i++) {
		struct model_service *service = &book->services[i];

		service->slice = slice;
		if (!err && count && is_something(service))
			err = model_service_add(m, service);
		*service = (struct model_service){.endpoint = (uint32_t)i};
	}
	if (count && m->slices_cnt)
		m->slices[slice].sockets_age_ns = rise_of(book->now_ns, book->sockets_ns);
	if (sockets) {
		book->sockets_read = true;
		if (prune_listeners(book))
			err = -ENOMEM;
	}
	return err;
}

void request_book_clear(struct request_book *book)
{
	free(book->seen);
	free(book->services);
	free(book->standing);
	free(book->listeners);
	fair_clear(&book->shares);
	hash_clear(&book->listener_index);
	*book = (struct request_book){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of requests in a model; see model.h. */
#include <errno.h>
#include <linux/types.h>

#include "base/grow.h"
#include "bpf/events.h"
#include "model/model.h"

_Static_assert(MODEL_MAX_ENDPOINTS == ENDPOINTS_MAX, "a row for each of the kernel's");

static bool same_endpoint(const void *owner, uint32_t row, const void *key)
{
	const struct model_endpoint *e = &((const struct model *)owner)->endpoints[row], *k = key;

	return e->listener == k->listener && e->process == k->process;
}

uint32_t model_endpoint_find(const struct model *m, uint32_t process, uint64_t listener)
{
	struct model_endpoint key = {.process = process, .listener = listener};

	return hash_find(&m->endpoint_index, hash_pair(listener, process), same_endpoint, m, &key);
}

uint32_t model_endpoint_get(struct model *m, const struct model_endpoint *endpoint)
{
	uint32_t row = model_endpoint_find(m, endpoint->process, endpoint->listener);
	struct model_endpoint copy = *endpoint;

	if (row != MODEL_NONE)
		return row;
	row = (uint32_t)m->endpoints_cnt;
	if (row >= MODEL_MAX_ENDPOINTS || GROW(m->endpoints, m->endpoints_cnt, m->endpoints_cap) ||
	    hash_add(&m->endpoint_index, hash_pair(copy.listener, copy.process), row)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return MODEL_NONE;
	}
	copy.address = model_str(m, endpoint->address);
	copy.dirty = true;
	m->endpoints[m->endpoints_cnt++] = copy;
	return row;
}

void model_served_add(struct model_served *sum, const struct model_served *by)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)by;

	_Static_assert(sizeof(*sum) % sizeof(uint64_t) == 0, "a row of counters");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

int model_service_add(struct model *m, const struct model_service *service)
{
	if (GROW(m->services, m->services_cnt, m->services_cap))
		return -ENOMEM;
	m->services[m->services_cnt++] = *service;
	return 0;
}

int model_response_add(struct model *m, const struct model_response *response)
{
	if (GROW(m->responses, m->responses_cnt, m->responses_cap))
		return -ENOMEM;
	m->responses[m->responses_cnt++] = *response;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/switch_ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hotrun.skel.h"

#include "base/clock.h"
#include "kernel/bpf_start.h"
#include "kernel/features.h"
#include "kernel/own_mappings.h"

#define ROWS_LEAST	1024u
#define CPU_BYTES_LEAST (1u << 20)
/* So many rows of a full ring, one in a few, are left out. */
#define MARGIN 16u

struct switch_ring {
	struct hotrun_bpf *bpf;
	uint32_t cpus;
	const struct switch_row *rows;	 /* of all CPUs, shared with the kernel */
	const struct switch_head *heads; /* the same */
	size_t rows_bytes, heads_bytes;
	uint64_t since_ns;
};

/* Of one CPU, a power of two. */
static uint32_t rows_for(const struct switch_ring_options *options, uint32_t online)
{
	uint64_t wanted = options->window_ns / 1000000 * SWITCH_RING_RATE / 1000;
	uint64_t bytes = (options->bytes_max ?: SWITCH_RING_BYTES) / online, most;
	uint32_t rows = ROWS_LEAST;

	if (!options->bytes_max && bytes < CPU_BYTES_LEAST)
		bytes = CPU_BYTES_LEAST;
	most = bytes / sizeof(struct switch_row);
	while (rows < wanted && rows * 2ull <= most)
		rows *= 2;
	return rows;
}

/* Each CPU on line gets its part of the rows. */
static int give_rings(struct switch_ring *r, const struct switch_ring_options *options,
		      uint32_t rows)
{
	struct switch_head head = {.rows = rows};

	for (uint32_t cpu = 0; cpu < r->cpus; cpu++) {
		int err;

		if (!options->online[cpu])
			continue;
		err = bpf_map__update_elem(r->bpf->maps.switch_heads, &cpu, sizeof(cpu), &head,
					   sizeof(head), BPF_ANY);
		if (err)
			return err;
		head.place += rows;
	}
	return 0;
}

static const void *map_shared(const struct bpf_map *map, size_t *ret_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *at;

	bytes = (bytes + page - 1) / page * page;
	at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
	if (at == MAP_FAILED)
		return NULL;
	*ret_bytes = bytes;
	return at;
}

struct loading {
	struct switch_ring *ring;
	uint32_t rows, online;
};

static int configure(void *ctx, struct hotrun_bpf *bpf)
{
	const struct loading *l = ctx;

	l->ring->bpf = bpf;
	bpf_map__set_max_entries(bpf->maps.switch_rows, l->rows * l->online);
	bpf_map__set_max_entries(bpf->maps.switch_heads, l->ring->cpus);
	return 0;
}

static int load(struct switch_ring *r, const struct switch_ring_options *options, char *why,
		size_t why_bytes)
{
	struct feature_set features = {0};
	struct loading l = {.ring = r};
	int err;

	for (uint32_t cpu = 0; cpu < r->cpus; cpu++)
		l.online += options->online[cpu];
	if (!l.online)
		return explain(-ENODEV, "context-switch ring", why, why_bytes);
	l.rows = rows_for(options, l.online);
	feature_ask(&features, FEATURE_BIT(FEATURE_SWITCHES));
	err = features_load(&features, configure, &l, why, why_bytes, &r->bpf);
	if (err) {
		r->bpf = NULL;
		return err;
	}
	if (!feature_is_on(&features, FEATURE_SWITCHES)) {
		snprintf(why, why_bytes, "%s", features.why[FEATURE_SWITCHES]);
		return -EPERM;
	}
	err = give_rings(r, options, l.rows);
	return err ? explain(err, "context-switch ring", why, why_bytes) : 0;
}

static int begin(struct switch_ring *r, char *why, size_t why_bytes)
{
	int err;

	r->rows = map_shared(r->bpf->maps.switch_rows, &r->rows_bytes);
	r->heads = map_shared(r->bpf->maps.switch_heads, &r->heads_bytes);
	if (!r->rows || !r->heads)
		return explain(-errno, "context-switch ring", why, why_bytes);
	err = hotrun_bpf__attach(r->bpf);
	r->since_ns = clock_now_ns();
	if (!err)
		err = own_mappings_withhold();
	return err ? explain(err, "attaching the context-switch ring", why, why_bytes) : 0;
}

int switch_ring_new(const struct switch_ring_options *options, char *why, size_t why_bytes,
		    struct switch_ring **ret_ring)
{
	struct switch_ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return explain(-ENOMEM, "context-switch ring", why, why_bytes);
	r->cpus = options->cpus_possible;
	err = load(r, options, why, why_bytes);
	if (!err)
		err = begin(r, why, why_bytes);
	if (err) {
		switch_ring_free(r);
		return err;
	}
	*ret_ring = r;
	return 0;
}

void switch_ring_free(struct switch_ring *r)
{
	if (!r)
		return;
	if (r->rows)
		munmap((void *)r->rows, r->rows_bytes);
	if (r->heads)
		munmap((void *)r->heads, r->heads_bytes);
	hotrun_bpf__destroy(r->bpf);
	free(r);
}

bool switch_ring_row(const struct switch_ring *r, uint32_t cpu, uint64_t n,
		     struct switch_row *ret_row)
{
	const struct switch_head *head = &r->heads[cpu];
	const struct switch_row *row = &r->rows[head->place + (n & (head->rows - 1))];
	uint32_t before = __atomic_load_n(&row->number, __ATOMIC_ACQUIRE);

	*ret_row = *(const volatile struct switch_row *)row;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return before == (uint32_t)n &&
	       __atomic_load_n(&row->number, __ATOMIC_RELAXED) == (uint32_t)n;
}

void switch_ring_look(const struct switch_ring *r, uint32_t cpu, struct switch_reading *ret_reading)
{
	const struct switch_head *head = &r->heads[cpu];
	uint64_t written = __atomic_load_n(&head->written, __ATOMIC_ACQUIRE);
	struct switch_row row;

	*ret_reading = (struct switch_reading){1, written, r->since_ns, false};
	if (!head->rows || written < head->rows)
		return;
	ret_reading->is_full = true;
	ret_reading->first = written - head->rows + 2 + head->rows / MARGIN;
	if (switch_ring_row(r, cpu, ret_reading->first, &row))
		ret_reading->since_ns = row.time_ns;
	else /* it was read too late */
		ret_reading->since_ns = clock_now_ns();
}

uint64_t switch_ring_lost(const struct switch_ring *r)
{
	uint64_t lost = 0;

	for (uint32_t cpu = 0; cpu < r->cpus; cpu++)
		lost += r->heads[cpu].lost;
	return lost;
}

size_t switch_ring_bytes(const struct switch_ring *r)
{
	return r->rows_bytes + r->heads_bytes;
}

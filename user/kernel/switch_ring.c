/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/switch_ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hotrun.skel.h"

#include "base/clock.h"
#include "kernel/bpf_start.h"
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

#define PROGRAMS 7

static void programs_of(struct hotrun_bpf *bpf, struct bpf_program *programs[PROGRAMS])
{
	programs[0] = bpf->progs.note_switch;
	programs[1] = bpf->progs.note_waking;
	programs[2] = bpf->progs.note_birth;
	programs[3] = bpf->progs.note_irq_entry;
	programs[4] = bpf->progs.note_irq_exit;
	programs[5] = bpf->progs.note_softirq_entry;
	programs[6] = bpf->progs.note_softirq_exit;
}

static bool is_own(struct hotrun_bpf *bpf, const struct bpf_program *program)
{
	struct bpf_program *programs[PROGRAMS];

	programs_of(bpf, programs);
	for (size_t i = 0; i < PROGRAMS; i++)
		if (programs[i] == program)
			return true;
	return false;
}

void switch_ring_omit(struct hotrun_bpf *bpf)
{
	struct bpf_program *programs[PROGRAMS];

	programs_of(bpf, programs);
	for (size_t i = 0; i < PROGRAMS; i++)
		bpf_program__set_autoload(programs[i], false);
	bpf_map__set_autocreate(bpf->maps.switch_rows, false);
	bpf_map__set_autocreate(bpf->maps.switch_heads, false);
}

static void choose(struct switch_ring *r)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program(program, r->bpf->obj)
		bpf_program__set_autoload(program, is_own(r->bpf, program));
	bpf_object__for_each_map(map, r->bpf->obj) bpf_map__set_autocreate(
		map, bpf_map__is_internal(map) || map == r->bpf->maps.switch_rows ||
			     map == r->bpf->maps.switch_heads);
}

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

static int load(struct switch_ring *r, const struct switch_ring_options *options)
{
	uint32_t online = 0, rows;
	int err;

	for (uint32_t cpu = 0; cpu < r->cpus; cpu++)
		online += options->online[cpu];
	if (!online)
		return -ENODEV;
	rows = rows_for(options, online);
	r->bpf = hotrun_bpf__open();
	if (!r->bpf)
		return -errno;
	choose(r);
	bpf_map__set_max_entries(r->bpf->maps.switch_rows, rows * online);
	bpf_map__set_max_entries(r->bpf->maps.switch_heads, r->cpus);
	err = hotrun_bpf__load(r->bpf);
	return err ?: give_rings(r, options, rows);
}

static int begin(struct switch_ring *r)
{
	int err;

	r->rows = map_shared(r->bpf->maps.switch_rows, &r->rows_bytes);
	r->heads = map_shared(r->bpf->maps.switch_heads, &r->heads_bytes);
	if (!r->rows || !r->heads)
		return -errno;
	err = hotrun_bpf__attach(r->bpf);
	r->since_ns = clock_now_ns();
	return err ?: own_mappings_withhold();
}

int switch_ring_new(const struct switch_ring_options *options, char *why, size_t why_bytes,
		    struct switch_ring **ret_ring)
{
	struct switch_ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return explain(-ENOMEM, "switches", why, why_bytes);
	r->cpus = options->cpus_possible;
	err = load(r, options);
	if (err) {
		err = explain_load(err, why, why_bytes);
	} else {
		err = begin(r);
		if (err)
			explain(err, "keeping single switches", why, why_bytes);
	}
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Input: the bytes of a capture file. What is read back must be whole in itself. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/contention.h"
#include "model/requests.h"
#include "model/resolve.h"
#include "model/sched.h"
#include "model/window.h"
#include "store/store.h"

static void must(int holds)
{
	if (!holds)
		abort();
}

static void check_references(const struct model *m)
{
	for (size_t i = 0; i < m->threads_cnt; i++)
		must(m->threads[i].process < m->processes_cnt);
	for (size_t i = 0; i < m->processes_cnt; i++)
		for (size_t k = 0; k < m->processes[i].mapping_cnt; k++)
			must(m->processes[i].mappings[k].module < m->modules_cnt);
	for (size_t i = 0; i < m->locations_cnt; i++) {
		must(m->locations[i].symbol < m->symbols_cnt);
		must(m->locations[i].older == MODEL_NONE || m->locations[i].older < i);
	}
	for (size_t i = 0; i < m->accounts_cnt; i++)
		must(m->accounts[i].slice < m->slices_cnt &&
		     m->accounts[i].thread < m->threads_cnt &&
		     (m->accounts[i].cgroup == MODEL_NONE ||
		      m->accounts[i].cgroup < m->cgroups_cnt));
	must(model_cgroups_sound(m));
	for (size_t i = 0; i < m->services_cnt; i++)
		must(m->services[i].slice < m->slices_cnt &&
		     m->services[i].endpoint < m->endpoints_cnt);
	for (size_t i = 0; i < m->responses_cnt; i++)
		must(m->responses[i].slice < m->slices_cnt &&
		     m->responses[i].endpoint < m->endpoints_cnt);
	for (size_t i = 0; i < m->endpoints_cnt; i++)
		must(m->endpoints[i].process < m->processes_cnt);
	for (size_t i = 0; i < m->slices_cnt; i++)
		must(m->slices[i].end_ns >= m->slices[i].start_ns);
}

static void resolve_all(struct model *m)
{
	static struct resolve_frame frames[RESOLVE_MAX_FRAMES];

	for (size_t i = 0; i < m->samples_cnt; i++) {
		size_t n = resolve_sample(m, &m->samples[i], frames);

		must(n > 0 && n <= RESOLVE_MAX_FRAMES);
		for (size_t k = 0; k < n; k++)
			must(frames[k].symbol < m->symbols_cnt);
	}
}

static void sum_requests(const struct model *m)
{
	struct requests_slice rows[4];
	struct requests *r = requests_new(m);
	size_t cnt, all;

	must(r && r->ports_cnt <= m->endpoints_cnt);
	for (size_t i = 0; i < r->ports_cnt; i++) {
		const struct requests_sum *sum = &r->ports[i].sum;

		must(requests_time_ns(sum, 0.99) <= sum->time_max_ns);
		must(requests_slow_share(sum) >= 0 && requests_slow_share(sum) <= 1);
		must(requests_score(sum) >= 0 && requests_score(sum) <= 1);
	}
	must(!requests_worst_slices(m, MODEL_NONE, 4, rows, &cnt, &all) && cnt <= all);
	requests_free(r);
}

/* The figures of waiting, over whatever rows the file has, whole and cut to a part. */
static void sum_all(struct model *m)
{
	struct contention *c = contention_new(m);
	struct sched *s = sched_new(m);
	struct window w;

	must(s && c && c->pairs_cnt <= m->contentions_cnt);
	for (uint32_t i = 0; i < m->processes_cnt && i < 100; i++) {
		must(sched_delay_ns(&s->processes[i], 0.99) <= s->processes[i].delay_max_ns);
		must(!m->host.cpus_online || sched_available(m, i).mask <= m->host.cpus_online);
	}
	sched_free(s);
	contention_free(c);
	if (!window_worst(m, 1000000000, &w))
		must(!window_cut(m, &w) && m->slices_cnt == w.last - w.first + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model *m = NULL;
	char path[64];
	int fd;

	/* In memory: a run writes millions of files. */
	snprintf(path, sizeof(path), "/dev/shm/hotrun-fuzz-%d", (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	if (!store_read(path, &m)) {
		check_references(m);
		resolve_all(m);
		sum_requests(m);
		sum_all(m);
	}
	model_free(m);
	unlink(path);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the probe that loads the programs; see probe.h. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/looker.h"
#include "kernel/probe.h"
#include "kernel/session.h"
#include "kernel/switch_ring.h"
#include "kernel/unwind_maps.h"

/* Threads at once; 64 CPUs are done in 20 ms, 1,024 in a third of a second. */
#define SPINNERS_MAX 64
/* A spinner that another thread keeps from its CPU gives up. */
#define SPIN_DEADLINE_NS 100000000ull

struct spinner {
	uint32_t cpu;
	uint64_t ran_ns; /* 0 = could not be put there */
	pthread_t thread;
	bool started;
};

struct tick_probe {
	struct session *session;
	bool *online;	 /* HOST_MAX_CPUS */
	uint64_t *ticks; /* by CPU */
	uint32_t cpus;
};

static void *spin(void *arg)
{
	struct spinner *s = arg;
	size_t bytes = CPU_ALLOC_SIZE(HOST_MAX_CPUS);
	_cleanup_free_ cpu_set_t *set = CPU_ALLOC(HOST_MAX_CPUS);
	uint64_t end_ns = clock_now_ns() + SPIN_DEADLINE_NS, start_ns;

	if (!set)
		return NULL;
	CPU_ZERO_S(bytes, set);
	CPU_SET_S(s->cpu, bytes, set);
	if (sched_setaffinity(0, bytes, set))
		return NULL;
	start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	do
		s->ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	while (s->ran_ns < PROBE_SPIN_NS && clock_now_ns() < end_ns);
	return NULL;
}

static uint64_t ticks_of(const struct tick_probe *p, uint32_t cpu)
{
	struct cpu_clock clock;
	uint64_t now_ns;

	if (session_read_cpu(p->session, cpu, &clock, &now_ns))
		return 0;
	return clock.ticks_taken + clock.ticks_idle;
}

/* What the spinners saw, once they are done. */
static void take_spinners(struct tick_probe *p, struct spinner *spinners, uint32_t cnt,
			  struct host_facts *f)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (spinners[i].started)
			pthread_join(spinners[i].thread, NULL);
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t cpu = spinners[i].cpu;
		uint64_t ticks = ticks_of(p, cpu) - p->ticks[cpu];

		if (spinners[i].ran_ns >= PROBE_SPIN_NS) {
			f->ticks_expected += spinners[i].ran_ns * PROBE_HZ / 1000000000u;
			f->ticks_taken += ticks;
		}
		if (ticks) {
			f->cpus_ticking++;
		} else if (spinners[i].ran_ns >= PROBE_SPIN_NS) {
			if (!f->cpus_silent++)
				f->first_silent = cpu;
		}
	}
}

static void count_ticks(struct tick_probe *p, struct host_facts *f)
{
	struct spinner spinners[SPINNERS_MAX];
	uint32_t cnt = 0;

	nanosleep(&(struct timespec){.tv_nsec = PROBE_WINDOW_NS}, NULL);
	for (uint32_t cpu = 0; cpu < p->cpus; cpu++) {
		p->ticks[cpu] = ticks_of(p, cpu);
		if (!p->online[cpu])
			continue;
		if (p->ticks[cpu]) {
			f->cpus_ticking++;
			continue;
		}
		/* An idle CPU gets no tick: it is given something to do. */
		spinners[cnt] = (struct spinner){.cpu = cpu};
		spinners[cnt].started =
			!pthread_create(&spinners[cnt].thread, NULL, spin, &spinners[cnt]);
		if (++cnt == SPINNERS_MAX) {
			take_spinners(p, spinners, cnt, f);
			cnt = 0;
		}
	}
	take_spinners(p, spinners, cnt, f);
}

static void probe_ticks(struct session *session, const struct host *host, struct host_facts *f)
{
	_cleanup_free_ bool *online = calloc(HOST_MAX_CPUS, sizeof(*online));
	_cleanup_free_ uint64_t *ticks = calloc(host->cpus_possible, sizeof(*ticks));
	struct tick_probe p = {
		.session = session, .online = online, .ticks = ticks, .cpus = host->cpus_possible};

	if (!online || !ticks)
		return;
	f->ticks_tried = true;
	f->ticks_error = session_start(session, f->session_why, sizeof(f->session_why));
	if (f->ticks_error)
		return;
	host_online_cpus(online);
	count_ticks(&p, f);
	session_stop(session);
}

/* What is loaded beside a session, in objects of their own. */
static void probe_others(const struct host *host, struct host_facts *f)
{
	_cleanup_free_ bool *online = calloc(HOST_MAX_CPUS, sizeof(*online));
	struct switch_ring_options ring_options = {
		.cpus_possible = host->cpus_possible, .online = online, .bytes_max = 1};
	struct looker_options looker_options = {0};
	struct switch_ring *ring = NULL;
	struct looker *looker = NULL;
	char why[FEATURE_WHY_BYTES];

	feature_ask(&f->features, FEATURE_BIT(FEATURE_SWITCHES) | FEATURE_BIT(FEATURE_SNAPSHOT));
	if (!online)
		return;
	host_online_cpus(online);
	if (switch_ring_new(&ring_options, why, sizeof(why), &ring))
		feature_switch_off(&f->features, FEATURE_SWITCHES, FEATURE_REFUSED, "%s", why);
	switch_ring_free(ring);
	if (looker_new(&looker_options, why, sizeof(why), &looker))
		feature_switch_off(&f->features, FEATURE_SNAPSHOT, FEATURE_REFUSED, "%s", why);
	looker_free(looker);
}

void probe_session(const struct host *host, struct host_facts *facts)
{
	uint32_t self = (uint32_t)getpid();
	/* Of others no stack is wanted. */
	struct session_options options = {.sample_hz = PROBE_HZ,
					  .cpus_possible = host->cpus_possible,
					  .max_stack = host->max_stack,
					  .tgids = &self,
					  .tgid_cnt = 1,
					  .tables = true,
					  .stands = true,
					  .requests = true,
					  .wakers = true,
					  .unwind_bytes = UNWIND_MAPS_LEAST};
	uint64_t start_ns = clock_now_ns();
	struct session *session;

	if (host_check(host, facts->session_why, sizeof(facts->session_why)))
		return;
	facts->session_tried = true;
	facts->session_error =
		session_new(&options, facts->session_why, sizeof(facts->session_why), &session);
	facts->session_ns = clock_now_ns() - start_ns;
	if (facts->session_error)
		return;
	facts->map_bytes = session_map_bytes(session);
	probe_ticks(session, host, facts);
	facts->features = *session_features(session);
	session_free(session);
	probe_others(host, facts);
}

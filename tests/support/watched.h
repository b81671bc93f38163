/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_WATCHED_H
#define HOTRUN_TESTS_WATCHED_H
/*
 * A host as the resident recorder has it, by hand: 2 CPUs, a service in a pod with requests, a
 * process beside it, a thread of the kernel. For tests of series, of the metrics page and of what
 * scrapes it.
 */
#include "model/model.h"
#include "output/metrics.h"
#include "watch/series.h"

struct watched {
	struct model *m;
	uint32_t shop, batch;				     /* processes */
	uint32_t shop_main, shop_worker, batch_main, kernel; /* threads */
	uint32_t endpoint;
	uint32_t group; /* the shop's cgroup */
};

/* The host with what it runs, without a slice. model_free(w.m). */
struct watched watched_host(void);
/*
 * One more slice of a second. The shop: main 0.1 s, worker 0.5 s, waited 0.25 s (0.05 s behind its
 * own), throttled 0.02 s, 100 run delays of 3 ms, 10 requests of 5 ms and one of 600 ms, 2 in
 * progress; its CPU limit stopped it in 4 of 10 periods. The batch: 0.3 s, waited 0.1 s. The
 * kernel's thread: 0.05 s. One sample each; a sample lost.
 */
void watched_slice(struct watched *w);
/* What a recorder would say of itself. */
struct metrics_own watched_own(void);
/* The page, owned by the caller. */
char *watched_page(const struct series *s, const struct metrics_own *own);
#endif

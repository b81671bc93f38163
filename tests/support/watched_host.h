/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_WATCHED_HOST_H
#define HOTRUN_TESTS_WATCHED_HOST_H
/*
 * A host that a resident recorder watches, second after second, for tests of what keeps and cuts
 * its model. Some services with workers, one that waits, one that serves, short processes that come
 * and go, code that the JIT compiles anew. The same seconds make the same model. Failures end the
 * test.
 */
#include "model/model.h"

#define WATCHED_SECOND	 1000000000ull
#define WATCHED_START_NS (5000 * WATCHED_SECOND)

struct watched_host {
	struct model *m;
	uint32_t services; /* processes that are always there */
	uint32_t threads;  /* of each */
	uint64_t second;   /* the next one, since WATCHED_START_NS */
};

/* A collector's model that begins at that second: with baselines, without slices. */
struct watched_host watched_host_new(uint32_t services, uint32_t threads, uint64_t second);
/* A slice: begun, filled and closed, as the collector does it. */
void watched_host_slice(struct watched_host *host);
/* Its first half: begun and half filled. */
void watched_host_begin(struct watched_host *host);
void watched_host_end(struct watched_host *host);
#endif

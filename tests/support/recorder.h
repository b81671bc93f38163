/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_RECORDER_H
#define HOTRUN_TESTS_RECORDER_H
/*
 * The resident recorder by hand, as series see it: one model after the other, a slice a second, and
 * what was counted is forgotten. For tests of series; without memory it aborts.
 */
#include "judge/verdicts.h"
#include "model/model.h"
#include "watch/series.h"

struct recorder {
	struct model *m;
	struct series *s;
	uint64_t now_ns;
};

/* With an empty model; top: series of their own. recorder_free(). */
struct recorder recorder_of(size_t top);
void recorder_free(struct recorder *r);
/* An empty model in place of the one that was. */
void recorder_renew(struct recorder *r);
/* A process of that name with one thread, that begins now: the thread's row. */
uint32_t recorder_thread(struct recorder *r, const char *name, uint32_t tgid);
/* Both end now. */
void recorder_end(struct recorder *r, uint32_t thread);
/* The thread ran for so long in the slice that goes on. */
void recorder_ran(struct recorder *r, uint32_t thread, uint64_t ns);
/* The slice that goes on ends and is counted. v: or NULL. */
void recorder_close(struct recorder *r, const struct verdicts *v);
/* The figures of processes of that name and nothing else, or NULL. */
const struct metrics_process *recorder_find(const struct series *s, const char *name);
#endif

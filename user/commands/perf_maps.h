/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_PERF_MAPS_H
#define HOTRUN_COMMANDS_PERF_MAPS_H
/*
 * `record --enable-perf-maps`, and perf-maps of `hotrun watch`: has .NET processes write a perf map
 * for as long as the recording, or a capture, lasts. Runtimes are asked by a thread of its own, so
 * that one that does not answer holds up nobody; what was switched on is switched off at the end,
 * and nothing else. After a SIGKILL of hotrun maps stay on: `hotrun perfmap status` shows them.
 *
 *	perf_maps_new()		before there is anything else: it forks (opener/opener.h)
 *	perf_maps_look()	now and then, with what the recording knows by then
 *	perf_maps_end()		after the last names were read
 *
 * watch: perf_maps_look_for() when a capture begins, perf_maps_rest() when it is over.
 */
#include "model/model.h"

/* Processes that are asked at all, and in any one second: each takes some ms of a CPU. */
#define PERF_MAPS_MAX	 4096u
#define PERF_MAPS_SECOND 64u

struct perf_maps;

/* Forks a helper; the thread starts with the first process. Returns owned, or NULL with errno. */
struct perf_maps *perf_maps_new(void);

/* Takes in the .NET processes of the recording that are not known yet: the selected ones (-p), with
 * `sampled` only those that were sampled (--cgroup). Does not wait. */
void perf_maps_look(struct perf_maps *p, const struct model *m, bool sampled);

/*
 * Takes in those .NET processes of m that wanted() is true of, first (a row, MODEL_NONE = none)
 * before the others, at most max at a time; those that it has asked already are left alone. Names
 * and rows may be of another model each time. false: perf_maps_rest() is not over yet. Does not
 * wait.
 */
bool perf_maps_look_for(struct perf_maps *p, const struct model *m, uint32_t first, size_t max,
			bool (*wanted)(const void *ctx, const struct model_process *process),
			const void *ctx);
/* Has the thread switch off what was switched on, for at most PERF_MAPS_END_NS, log what came of
 * it, and forget whom it asked. Does not wait. */
void perf_maps_rest(struct perf_maps *p);

/* Switches off what was switched on, for at most PERF_MAPS_END_NS, logs what was done and what
 * failed, and frees. Takes NULL. */
#define PERF_MAPS_END_NS 10000000000ull
void perf_maps_end(struct perf_maps *p);
#endif

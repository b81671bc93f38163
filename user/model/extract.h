/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_EXTRACT_H
#define HOTRUN_MODEL_EXTRACT_H
/*
 * Copies some slices of a model, with all rows that they refer to, into a model of its own. Why: a
 * capture of the resident recorder begins in the past, in a model that goes on growing. Only what
 * the slices name comes along (processes with their living threads, stacks, locations, modules,
 * cgroups, endpoints; mappings of processes with samples), so a capture of half a minute is as
 * small as one that was recorded alone. Pure; no threads.
 *
 * x = extract_new();
 * extract_take(x, past, 0, past->slices_cnt - 1);   what was kept
 * extract_leave(x);
 * extract_take(x, live, 40, 59);                    and its successor: rows are found by identity
 * store_create(path, extract_model(x), &store); store_write_slice(); model_forget_slice()
 * each second: extract_take(x, live, newest, newest); store_write_slice(); model_forget_slice()
 */
#include "model/model.h"

struct extract;

/* Returns it owned and empty, or NULL with errno ENOMEM. */
struct extract *extract_new(void);
/*
 * Before the first slice: samples of processes that selects() is not true for keep no stacks and
 * get SAMPLE_FILTERED. It is asked when a process is met and when its facts changed. ctx is
 * borrowed until extract_free().
 */
void extract_select(struct extract *x,
		    bool (*selects)(const void *ctx, const struct model_process *p),
		    const void *ctx);
/* Host facts, for a capture that is to be created before its first slice. */
void extract_describe(struct extract *x, const struct model *from);
/*
 * Appends the slices from first to last (rows of from, both included; closed ones). Host facts are
 * those of the first model, start_ns that of the first slice ever taken, end_ns of the last;
 * host.off is what any of them lacked. Figures of threads are sums over the slices taken, their
 * longest run delay is bounded by their histogram. What changed in from since the last call about
 * rows taken before (names, facts, ends, mappings, new locations) is taken over, and marked dirty;
 * so are samples of slices taken before that came late. Rows of slices are in the order of slices,
 * as they are appended. 0; -ERANGE where from has no such slices; -ENOMEM, and then x is good for
 * extract_free() only. What is beyond a MODEL_MAX_* bound is counted as a loss.
 */
int extract_take(struct extract *x, const struct model *from, uint32_t first, uint32_t last);
/* from of the last call goes away: the next model is another one, even at the same address. */
void extract_leave(struct extract *x);
/* Bytes of it all: the model with its rows of slices, and what x remembers of from. Grows with
 * processes and threads that end, by about 1 KiB each. */
size_t extract_bytes(const struct extract *x);
/* Owned by x. The caller may model_forget_slice() what it has written. */
struct model *extract_model(struct extract *x);
/* Hands the model over and frees the rest. */
struct model *extract_finish(struct extract *x);
/* Takes NULL. */
void extract_free(struct extract *x);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_FLAME_H
#define HOTRUN_OUTPUT_FLAME_H
/*
 * The flame graph: one self-contained HTML page that needs no network. The view (page/, plain HTML,
 * CSS and JavaScript, embedded at build time) knows nothing of a capture but the data block, in
 * <script type="text/plain" id="data">: deflated bytes in base64 (pack.h), so that no string of a
 * target stands in the page as it is. The view makes text nodes of them, and a
 * Content-Security-Policy with a random nonce runs no other script.
 *
 * The block, version 2: the length of a JSON document in four bytes, lowest first; the document;
 * columns, one behind the other, in the order of its "columns" [[name, numbers, bytes]...]: numbers
 * as varints_put() of pack.h writes them, (rise) as varints_rise() does. A number of something is
 * its place in the named array, or columns, from 0. Times are since the start. The document:
 *	format "hotrun-flame", version 2
 *	host {name, kernel, machine, version, event, filter, command: strings; cpus; hz: samples a
 *	     second and CPU; startUnixMs: 0 = unknown; durationNs; complete: ended on purpose;
 *	     taken: why hotrun watch took it, where it did; switchesOff: where nobody looked}
 *	weight: "cpu" or "blocked", shown first; hasBlocked: blocked time was looked at, else
 *	     blockedOff: why not; idle: idle waits are among it
 *	samples: on-CPU, of all processes; blockedMs; cut: samples whose stack was cut (forest.h)
 *	first: process shown first, or null for all
 *	waitsOff, requestsOff: why these are not known, where they are not
 *	books {known: false = no account of the CPUs to check against; ticks expected by busy time,
 *	     taken, missed: 0 within counting noise; filtered; dropped: taken but not here;
 *	     lostPerMillion; samplesGap: too many for shares to hold; switchesGap: the same for CPU
 *	     time}, as judge/books.h has them
 *	rawNames, justMyCode: how the frames are to be read (model/frame_view.h)
 *	losses [{id, text, remedy, count, samples: whether each is a sample lost}], only those that
 *	     occurred
 *	reasons [{id, text, remedy}], by number of enum model_reason
 *	report: the text of hotrun report; verdicts: that of report --format json
 *	     (a document in a string), but for processes that are healthy, and those beyond 200
 *	processes [{pid, nsPid, name, comm, unit, container, pod, namespace, cgroup, workload:
 *	     strings, "" unknown (model/workload.h); dotnet; self: is hotrun; samples; blockedMs;
 *	     onCpuNs: exact, by context switches}], most samples first, those without any left out
 *	endpoints [{process: or null; pid, name, address, port, protocols, slowNs: T}]
 *	responseSlotsNs: lower bounds of the slots of the histogram, and the end of the last but one
 *	strings [...]: each once
 * Columns:
 *	node: merged stacks in preorder. up: how many levels it lies above a child of the node
 *	     before it; of the first one 0. symbol: number; of those at the top, of their process
 *	symbol: name, raw, module (rise but module): strings; kind: enum model_kind; reason: of its
 *	     missing name, 0 = named; application: 0 or 1; later: sampled frames that were named
 *	     later
 *	tier: symbol (rise); name: string; frames: sampled in that tier
 *	thread: process; tid; name, role: strings
 *	cpu: on-CPU samples by time. slot (rise): of FLAME_SLOT_NS; node: where it was; thread;
 *	     weight: ticks of host.hz that it stands for; waiters: threads that waited for its CPU
 *	     and 1, 0 = not known
 *	blocked: rows of where a thread stood, by time. slot (rise), node, thread; weight: ms
 *	slice: of about a second. startNs, lengthNs, elapsedNs (all CPUs') (rise); cpuFrom, cpuTo,
 *	     blockedFrom, blockedTo (rise): samples of slices a to b are those from cpuFrom[a] to
 *	     before cpuTo[b], as window_cut() has it; idleNs, stealNs of CPUs; waitedNs,
 *	     throttledNs of threads; sampleEvery: one tick of so many was a sample; quiet: nobody
 *	     looked at switches; lost: samples
 *	account: slice (rise), process, onCpuUs, waitedUs, throttledUs: of the 64 processes with
 *	     most samples
 *	contention: while runner ran, waiter waited. slice (rise); runner, waiter: of the same
 *	     processes and 1, 0 = others; weight: 1/1000 of a waiting thread, summed over samples
 *	service: what was served. slice (rise), endpoint, answered, slow, abandoned, refused,
 *	     timeUs: summed, longestUs; at the end of the slice open, late, stuck
 *	response: slice (rise), endpoint, slot, answers
 * Of a difference of two captures (diff_page.c) the block is one of these, too: processes are kinds
 * of them, each is a thread; what is before is in the first of two slices, what is after in the
 * second; siblings are in the order in which they are to be shown. It has as well
 *	diff {names of both; document: that of hotrun diff --format json, in a string, but names are
 *	     cut at 200 bytes, paths at 4 callers, with path_more for others; report: its text;
 *	     kinds [{per: what its figures are counted by; tick: what a tick of each side is of
 *	     them}]; ticksOf: ticks that a sample stands for, drift: of a figure, seconds: each of
 *	     both sides}
 * A reader refuses other versions. New fields do not raise the version; changed meanings do.
 */
#include <stdbool.h>
#include <stdio.h>

#include "model/model.h"

struct flame_options {
	uint32_t process; /* row shown first, MODEL_NONE = all */
	bool blocked;	  /* blocked time is shown first */
	bool idle;	  /* idle waits among it */
	bool addresses; /* keep unnamed functions of a native file apart; else they are one frame */
};

/* Of these are the places in time of samples: a second has 50. */
#define FLAME_SLOT_NS 20000000u

/* Writes the page. Returns 0, -ENOMEM, -E2BIG (more than 4 GB of names), -EIO when out has failed,
 * or what getrandom(2) says. Linear in the frames of the samples. Takes what m has of samples: it
 * is good for model_free() only. */
int flame_write(FILE *out, struct model *m, const struct flame_options *options);

/* Writes a data block to out: 0 or negative errno. */
typedef int (*flame_block_fn)(FILE *out, void *ctx);
/* The page around a block. The same errors, and those of write_block. */
int flame_write_page(FILE *out, flame_block_fn write_block, void *ctx);

/* Writes the data block alone, as it is before it is deflated. The same errors. */
int flame_write_data(FILE *out, struct model *m, const struct flame_options *options);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_FLAME_H
#define HOTRUN_OUTPUT_FLAME_H
/*
 * The flame graph: one self-contained HTML page that needs no network. The view (page/, plain HTML,
 * CSS and JavaScript, embedded at build time) knows nothing of a capture but the data block, one
 * JSON document in <script type="application/json" id="data">. Strings of targets are written with
 * text_put_json() only, so they can neither end that block nor become markup; the view makes text
 * nodes of them; and a Content-Security-Policy with a random nonce runs no other script.
 *
 * The data block, version 1. Rows are positions in the named array; samples are on-CPU samples.
 *	format "hotrun-flame", version 1
 *	host {name, kernel, machine, version, event, filter, command: strings; cpus; hz: samples a
 *	     second and CPU; startUnixMs: 0 = unknown; durationNs; complete: ended on purpose}
 *	blocked: true: wherever samples are told, they are milliseconds of blocked time (books and
 *	     losses are none then); idle: idle waits are among these
 *	samples: of all processes; cut: of these, whose stack was cut (bounds of forest.h)
 *	first: row of the process shown first, or null for all
 *	books {known: false = no account of the CPUs to check against; ticks expected by busy time,
 *	     taken, missed: 0 within counting noise; filtered; dropped: taken but not here;
 *	     lostPerMillion; samplesGap: too many for shares to hold; switchesGap: the same for CPU
 *	     time}, as judge/books.h has them
 *	rawNames, justMyCode: how the frames are to be read (model/frame_view.h)
 *	losses [{id, text, remedy, count, samples: whether each is a sample lost}], only those that
 *	     occurred
 *	reasons [{id, text, remedy}], by number of enum model_reason
 *	processes [{pid, nsPid, name, comm, unit, container: strings, "" unknown (of a
	     container its names: model/workload.h); dotnet; self: is
 *	     hotrun; samples; threads: distinct, sampled; onCpuNs: exact, by context switches;
 *	     nodes}], most samples first, those without samples left out
 *	nodes {symbol, depth, total, threads}: arrays of equal length, the merged stacks in
 *	     preorder, heaviest sibling first. depth 0 = root of a thread; total = samples through
 *	     that frame (its own are total less those of its children)
 *	symbols {name, raw, module: rows of strings; kind: enum model_kind; reason: of its missing
 *	     name, 0 = named; application: 0 or 1; later: sampled frames that were named later;
 *	     tiers: 0, or [[row of strings, sampled frames], ...]}: arrays of equal length
 *	strings [...]: each once
 * A reader refuses other versions. New fields do not raise the version; changed meanings do.
 */
#include <stdbool.h>
#include <stdio.h>

#include "model/model.h"

struct flame_options {
	uint32_t process; /* row shown first, MODEL_NONE = all */
	/* The samples of m are those of blocked_as_samples(); with idle waits. */
	bool blocked, idle;
	bool addresses; /* keep unnamed functions of a native file apart; else they are one frame */
};

/* Writes the page. Returns 0, -ENOMEM, -EIO when out has failed, or what getrandom(2) says. Linear
 * in the frames of the samples. Adds symbols of notes to m. */
int flame_write(FILE *out, struct model *m, const struct flame_options *options);

/* Writes the data block alone, as it stands in the page. Returns 0, -ENOMEM or -EIO. */
int flame_write_data(FILE *out, struct model *m, const struct flame_options *options);
#endif

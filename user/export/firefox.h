/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_FIREFOX_H
#define HOTRUN_EXPORT_FIREFOX_H
/*
 * A processed profile of the Firefox Profiler, version 63 (docs-developer/CHANGELOG-formats.md and
 * src/types/profile.ts in github.com/firefox-devtools/profiler; later ones read it): a track a
 * thread, heaviest process first; on the first track, that of the host, counters: CPUs in use,
 * threads that wait for one, waiting threads of a CPU as ticks found them, requests. Markers on the
 * first track of their process: verdicts, seconds with slow requests, throttling (timeline.h).
 *
 * Weights are samples, waiting threads, or ms of blocked time. Of CPU time each sample also has the
 * time it stands for, so that threads that hardly run look so.
 */
#include "export/options.h"

int firefox_write(FILE *out, struct model *m, const struct export_options *options);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_WATCH_MAPS_H
#define HOTRUN_COMMANDS_WATCH_MAPS_H
/*
 * `hotrun watch`, setting perf-maps: which .NET runtimes are asked for a perf map, and when. on-
 * capture: those of perf-maps-for, when a capture begins that is for somebody, until it is over;
 * always: as they start. No target is asked without both settings.
 */
#include "watch/config.h"
#include "model/model.h"

/* At a time for a capture: each runtime that is asked works for some milliseconds. */
#define WATCH_MAPS_MAX 64

struct watch_maps;

/* Before there is anything else: it forks. Returns owned, or NULL with errno. */
struct watch_maps *watch_maps_new(void);
/* watch_options.maps, with a struct watch_maps. */
void watch_maps_slice(void *ctx, const struct model *m, uint32_t process, bool capturing,
		      const struct watch_config *config);
/* Switches off what was switched on; waits as perf_maps_end(). Takes NULL. */
void watch_maps_free(struct watch_maps *w);
#endif

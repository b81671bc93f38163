/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/watch_maps.h"

#include <errno.h>
#include <stdlib.h>

#include "commands/perf_maps.h"

/* Slices between two looks for processes that are new. */
#define LOOK_EVERY 10

struct watch_maps {
	struct perf_maps *maps;
	bool on;	    /* somebody may have been asked */
	unsigned int waits; /* slices until the next look */
};

struct watch_maps *watch_maps_new(void)
{
	struct watch_maps *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->maps = perf_maps_new();
	if (!w->maps) {
		free(w);
		return NULL;
	}
	return w;
}

/* Without a rule nobody, which selection_has() takes for everybody. */
static bool is_allowed(const void *ctx, const struct model_process *process)
{
	const struct selection *allowed = ctx;

	return allowed->include_cnt && selection_has(allowed, process);
}

void watch_maps_slice(void *ctx, const struct model *m, uint32_t process, bool capturing,
		      const struct watch_config *config)
{
	bool always = config->perf_maps == WATCH_MAPS_ALWAYS;
	bool wanted = always || (config->perf_maps == WATCH_MAPS_ON_CAPTURE && capturing);
	struct watch_maps *w = ctx;

	if (!wanted) {
		if (w->on)
			perf_maps_rest(w->maps);
		w->on = false;
		w->waits = 0;
		return;
	}
	if (w->waits && process == MODEL_NONE) {
		w->waits--;
		return;
	}
	/* What was switched on before is still being switched off: with the next slice. */
	if (!perf_maps_look_for(w->maps, m, process, always ? PERF_MAPS_MAX : WATCH_MAPS_MAX,
				is_allowed, &config->perf_maps_for))
		return;
	w->on = true;
	w->waits = LOOK_EVERY;
}

void watch_maps_free(struct watch_maps *w)
{
	if (!w)
		return;
	perf_maps_end(w->maps);
	free(w);
}

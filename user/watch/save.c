/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the next run is to know of this one. */
#include <string.h>

#include "base/log.h"
#include "watch/private.h"

void save_state(struct watch *w)
{
	int err;

	w->state.level = w->governor.level;
	if (!w->control || (!w->unsaved && !memcmp(&w->state, &w->saved, sizeof(w->saved))))
		return;
	err = state_write(w->dir, &w->state);
	w->unsaved = err != 0;
	if (!err)
		w->saved = w->state;
	else
		log_debug("%s/state: %s", w->options.dir, strerror(-err));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that an earlier run left: any bytes. What is taken stays within its bounds. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "watch/governor.h"
#include "watch/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state state, before;
	int err;

	memset(&state, 0xa5, sizeof(state));
	before = state;
	err = state_parse((const char *)data, size, &state);
	if (err) {
		if ((err != -EINVAL && err != -EPROTO) || memcmp(&state, &before, sizeof(state)))
			abort();
		return 0;
	}
	for (int i = 0; i < STATE_STARTS; i++)
		if (state.starts_s[i] < 0 ||
		    (!state.starts_s[i] && i + 1 < STATE_STARTS && state.starts_s[i + 1]))
			abort();
	if (state.level >= GOVERNOR_LEVEL_CNT || state.trigger_s < 0)
		abort();
	for (int i = 0; i < POLICY_LIKES; i++)
		if (state.memory.likes[i].verdict >= VERDICT_CNT ||
		    state.memory.likes[i].taken_s < 0 || state.memory.likes[i].seen_s < 0)
			abort();
	if (state_start(&state, INT64_MAX) > 60)
		abort();
	return 0;
}

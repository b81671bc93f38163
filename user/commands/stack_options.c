/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/stack_options.h"

#include "base/text.h"
#include "bpf/events.h"
#include "commands/command.h"
#include "kernel/unwind_maps.h"

/* Of rows: 16 times what a host of 200 processes needs. */
#define UNWIND_BYTES_MAX (1ull << 30)

static int take_bytes(void *at, const struct command_option *option, const char *value)
{
	uint64_t bytes;

	if (text_parse_bytes(value, UNWIND_MAPS_LEAST, UNWIND_BYTES_MAX, &bytes))
		return option_refuse(option, value, "not an amount, 8M to 1G, like 64M");
	((struct collector_stacks *)at)->unwind_bytes = bytes;
	return EXIT_OK;
}

_Static_assert(UNWIND_MAPS_LEAST == 8u << 20, "told above");
_Static_assert(STACK_MAX_FRAMES == 2048, "told below");

const struct command_option stack_options[3] = {
	OPTION(0, "stacks", "HOW",
	       "how user stacks are walked: tables (default), by the unwind data of the files and "
	       "the code; or fp, along frame pointers alone",
	       option_second_word, OPTION_WORDS("tables", "fp"),
	       OPTION_IN(struct collector_stacks, by_fp)),
	OPTION(0, "stack-depth", "N",
	       "frames kept of one stack walked by tables, 256 to 2048 (default 512); of a deeper "
	       "one the middle is left out",
	       option_count, .min = 2 * STACK_ROOT_FRAMES, .max = STACK_MAX_FRAMES,
	       OPTION_IN(struct collector_stacks, frames)),
	OPTION(0, "unwind-memory", "BYTES", "of the tables, at the most, 8M to 1G (default 64M)",
	       take_bytes),
};

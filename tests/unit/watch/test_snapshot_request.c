/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a request for a snapshot. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "watch/control.h"
#include "watch/snapshot_request.h"

Test(snapshot_request, what_is_written_is_read)
{
	const struct snapshot_request all[] = {
		{.begun_ns = UINT64_MAX, .repeat = 1},
		{.begun_ns = 1,
		 .repeat = SNAPSHOT_REPEAT_MOST,
		 .lines = 7,
		 .width = 80,
		 .brief = true},
		{.repeat = 3, .lines = 1000000, .json = true},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct snapshot_request read = {0};
		char words[256];

		snapshot_request_write(&all[i], words, sizeof(words));
		cr_assert_eq(snapshot_request_read(words, &read), 0, "%s", words);
		cr_expect_eq(read.begun_ns, all[i].begun_ns);
		cr_expect_eq(read.repeat, all[i].repeat);
		cr_expect_eq(read.lines, all[i].lines);
		cr_expect_eq(read.width, all[i].width);
		cr_expect_eq(read.brief, all[i].brief);
		cr_expect_eq(read.json, all[i].json);
	}
}

Test(snapshot_request, what_is_none_is_refused)
{
	static const char *const lines[] = {
		"",
		"1 1 0 0",
		"1 1 0 0 text ",
		"1 1 0 0 text more",
		"1 1 0 0 xml",
		"1 0 0 0 text",
		"1 21 0 0 text",
		"1 1 1000001 0 text",
		"-1 1 0 0 text",
		"1  1 0 0 text",
		"18446744073709551616 1 0 0 text",
		" 1 1 0 0 text",
	};
	char much[1024];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct snapshot_request read = {.repeat = 9};

		cr_expect_eq(snapshot_request_read(lines[i], &read), -EINVAL, "%s", lines[i]);
		cr_expect_eq(read.repeat, 9);
	}
	memset(much, '1', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	cr_expect_eq(snapshot_request_read(much, &(struct snapshot_request){0}), -EINVAL);
}

Test(snapshot_request, the_control_socket_tells_it_apart)
{
	static const char line[] = "snapshot 1 1 0 0 text";
	uint64_t before, after;

	cr_expect_eq(control_parse(line, strlen(line), &before, &after), CONTROL_SNAPSHOT);
	cr_expect_eq(control_parse(line, strlen("snapshot "), &before, &after), CONTROL_BAD);
	cr_expect_eq(control_parse("snapshots 1", 11, &before, &after), CONTROL_BAD);
}

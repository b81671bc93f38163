/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/snapshot_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define WORDS	   5
#define LINE_BYTES 128
#define COUNT_MOST 1000000

void snapshot_request_write(const struct snapshot_request *r, char *words, size_t bytes)
{
	snprintf(words, bytes, "%" PRIu64 " %u %u %u %s", r->begun_ns, r->repeat, r->lines,
		 r->width,
		 r->json    ? "json"
		 : r->brief ? "brief"
			    : "text");
}

int snapshot_request_read(const char *words, struct snapshot_request *ret_request)
{
	char line[LINE_BYTES], *word[WORDS], *rest = line, *form;
	uint64_t begun_ns, repeat, lines, width;

	if (strlen(words) >= sizeof(line))
		return -EINVAL;
	memcpy(line, words, strlen(words) + 1);
	for (size_t i = 0; i < WORDS; i++)
		word[i] = strsep(&rest, " ");
	form = word[WORDS - 1];
	if (rest || !form || text_parse_u64(word[0], 0, UINT64_MAX, &begun_ns) ||
	    text_parse_u64(word[1], 1, SNAPSHOT_REPEAT_MOST, &repeat) ||
	    text_parse_u64(word[2], 0, COUNT_MOST, &lines) ||
	    text_parse_u64(word[3], 0, COUNT_MOST, &width) ||
	    (strcmp(form, "text") != 0 && strcmp(form, "brief") != 0 && strcmp(form, "json") != 0))
		return -EINVAL;
	*ret_request = (struct snapshot_request){
		.begun_ns = begun_ns,
		.repeat = (unsigned int)repeat,
		.lines = (unsigned int)lines,
		.width = (unsigned int)width,
		.brief = !strcmp(form, "brief"),
		.json = !strcmp(form, "json"),
	};
	return 0;
}

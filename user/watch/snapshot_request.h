/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SNAPSHOT_REQUEST_H
#define HOTRUN_WATCH_SNAPSHOT_REQUEST_H
/* What is asked of a resident process that can take a snapshot, as words of a line of its control
 * socket (control.h): "BEGUN_NS REPEAT LINES WIDTH text|brief|json". Pure; no threads. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_REPEAT_MOST 20
/* The line before an answer, and the byte behind it, which no text has: without it is not whole. */
#define SNAPSHOT_ANSWER "snapshot"
#define SNAPSHOT_END	'\0'

struct snapshot_request {
	uint64_t begun_ns;		   /* CLOCK_MONOTONIC, when somebody asked */
	unsigned int repeat, lines, width; /* lines, width: 0 = as usual */
	bool brief, json;
};

void snapshot_request_write(const struct snapshot_request *r, char *words, size_t bytes);
/* 0, or -EINVAL with *ret_request as it was. */
int snapshot_request_read(const char *words, struct snapshot_request *ret_request);
#endif

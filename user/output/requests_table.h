/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_REQUESTS_TABLE_H
#define HOTRUN_OUTPUT_REQUESTS_TABLE_H
/*
 * How the requests of each process and listening socket fared, as text: a row each, those that hang
 * first, then most answers. Reads the model only; writes UTF-8 without control bytes. Pure; no
 * threads.
 *
 * Rates and times are of answered requests. What stands (unanswered requests, accept queues) is
 * that of the last slice in the column "open"; the oldest, the stuck ones and the queue are the
 * most that stood at the end of any slice. Of one slice both are the same.
 */
#include <stdbool.h>
#include <stdio.h>

#include "model/requests.h"

#define REQUESTS_TABLE_MIN_WIDTH     80
#define REQUESTS_TABLE_DEFAULT_WIDTH 130

struct requests_table_options {
	unsigned int width;	   /* columns; 0 = REQUESTS_TABLE_DEFAULT_WIDTH */
	unsigned int rows;	   /* endpoints; 0 = 20 */
	const uint32_t *processes; /* rows: those alone; NULL = all */
	size_t process_cnt;
	bool verbose; /* address, bytes, connections and the histogram of each endpoint, too */
};

/* Writes all slices of m as one. options: NULL = defaults. Returns 0, -ENOMEM, or -EIO when out
 * failed. */
int requests_table_write(FILE *out, const struct model *m,
			 const struct requests_table_options *options);

/*
 * The endpoints that have something to tell, of these processes (NULL = of all), in the order of
 * the table; at most cnt. Returns their rows owned with *ret_cnt, and in *ret_all how many there
 * are without the bound; NULL with errno ENOMEM.
 */
uint32_t *requests_table_endpoints(const struct requests *r, const uint32_t *processes,
				   size_t process_cnt, size_t cnt, size_t *ret_cnt,
				   size_t *ret_all);
#endif

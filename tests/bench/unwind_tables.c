/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What it takes to make tables of files by which stacks are walked, as workers do it.
 *
 *   unwind_tables FILE...      a line a file: CPU time in ms, bytes as the kernel holds them, rows,
 *                              its path; a .dll is read as a precompiled image
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "parse/parse.h"
#include "parse/unwind_table.h"

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int measure(const char *path)
{
	static struct parse_request request;
	static char reply[4096];
	const char *end = strrchr(path, '.');
	int fd = open(path, O_RDONLY | O_CLOEXEC), result = memfd_create("table", MFD_CLOEXEC);
	struct unwind_table *table;
	double start_ms = cpu_ms();

	if (fd < 0 || result < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	request.kind = end && !strcmp(end, ".dll") ? PARSE_UNWIND_IMAGE : PARSE_UNWIND_ELF;
	parse_do(&request, parse_request_bytes(&request), &fd, 1, result, reply);
	start_ms = cpu_ms() - start_ms;
	close(fd);
	table = unwind_table_read(result, (size_t)lseek(result, 0, SEEK_END));
	if (!table) {
		fprintf(stderr, "%s: no table\n", path);
		return 1;
	}
	printf("%.3f %zu %zu %s\n", start_ms,
	       table->rows_cnt * sizeof(*table->rows) + table->page_cnt * sizeof(*table->pages),
	       table->rows_cnt, path);
	unwind_table_free(table);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: unwind_tables FILE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		if (measure(argv[i]))
			return 1;
	return 0;
}

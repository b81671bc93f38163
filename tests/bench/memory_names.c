/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names from the memory of a running .NET process, from the command line: to compare them with its
 * perf map, and to measure them.
 *
 *   memory_names PID            reads addresses (hex, a line each), writes "START SIZE NAME" or
 *                               "- ERROR"
 *   memory_names PID MAP        takes the methods of its perf map, writes those that differ, and as
 *                               the last line: methods, equal, without a name, us of CPU a method
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perfmap/memory/memory.h"

#define NAME_BYTES 16384

static ssize_t read_at(void *source, void *buf, size_t len, uint64_t address)
{
	ssize_t n = pread(*(int *)source, buf, len, (off_t)address);

	return n < 0 ? -errno : n;
}

static int find(int *fd, const char *pid, uint64_t *ret_descriptor)
{
	char path[64], line[8192], mode[8];
	uint64_t start, end, offset;
	int err = -ENOENT;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	maps = fopen(path, "re");
	while (err && maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64, &start, &end, mode,
			   &offset) == 4 &&
		    mode[2] == 'x' && strchr(line, '/'))
			err = perfmap_memory_find(read_at, fd, start, offset, ret_descriptor);
	if (maps)
		fclose(maps);
	return err;
}

static void answer(struct perfmap_memory *m, uint64_t address)
{
	struct perfmap_memory_name name;
	char buf[NAME_BYTES];
	int err = perfmap_memory_name(m, address, buf, sizeof(buf), &name);

	if (err)
		printf("- %s\n", strerror(-err));
	else
		printf("%" PRIx64 " %x %s\n", name.start, name.size, buf);
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(struct perfmap_memory *m, const char *path)
{
	unsigned methods = 0, equal = 0, unnamed = 0;
	struct perfmap_memory_name name;
	char buf[NAME_BYTES], *line = NULL;
	double us = cpu_us();
	size_t cap = 0;
	FILE *map = fopen(path, "re");

	while (map && getline(&line, &cap, map) > 0) {
		uint64_t start, size;
		int at = 0, err;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "0x%" SCNx64 " %" SCNx64 " %n", &start, &size, &at) != 2 ||
		    !strncmp(line + at, "stub ", 5))
			continue;
		methods++;
		err = perfmap_memory_name(m, start + size / 2, buf, sizeof(buf), &name);
		unnamed += err != 0;
		if (err || strcmp(buf, line + at) || name.start != start || name.size != size)
			printf("map    %s\nmemory %" PRIx64 " %x %s\n", line, err ? 0 : name.start,
			       err ? 0 : name.size, err ? strerror(-err) : buf);
		else
			equal++;
	}
	printf("%u %u %u %.1f\n", methods, equal, unnamed, (cpu_us() - us) / (methods + !methods));
	free(line);
	return map ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct perfmap_memory *m;
	struct perfmap_memory_facts facts = {0};
	uint64_t address;
	char path[64];
	int fd, err;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: memory_names PID [MAP]\n");
		return 2;
	}
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : find(&fd, argv[1], &facts.descriptor);
	if (!err)
		err = perfmap_memory_open(read_at, &fd, &facts, 1u << 20, &m);
	if (err) {
		fprintf(stderr, "memory_names: %s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	if (argc == 3)
		err = compare(m, argv[2]);
	else
		while (scanf("%" SCNx64, &address) == 1)
			answer(m, address);
	perfmap_memory_close(m);
	close(fd);
	return err != 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of precompiled .NET images from the command line: for the live test that compares them with
 * the runtime's own, and to measure loading.
 *
 *   image_names at FILE        reads offsets (hex, a line each), writes for each
 *                              "START RAW<TAB>DISPLAY<TAB>ASSEMBLY" or "- REASON"
 *   image_names parse          reads raw names, a line each, writes "DISPLAY<TAB>ASSEMBLY"
 *   image_names share FILE...  functions and named functions of each, load time, memory
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perfmap/image.h"
#include "perfmap/name.h"

#define RAW_BYTES 16384

static ssize_t read_at(void *source, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = pread(*(const int *)source, buf, len, (off_t)offset);

	return n < 0 ? -errno : n;
}

static int load(const char *path, struct perfmap_image **ret_image)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = perfmap_image_load(read_at, &fd, ret_image);
	close(fd);
	return err;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_name(const struct perfmap_image *image, uint64_t offset)
{
	char raw[RAW_BYTES], buf[PERFMAP_NAME_BYTES];
	struct perfmap_image_place place;
	struct perfmap_name name;
	size_t len;
	int err;

	if (perfmap_image_find(image, offset, &place)) {
		puts("- outside every function");
		return;
	}
	err = perfmap_image_name(image, place.function, raw, sizeof(raw), &len);
	if (err) {
		printf("- %s\n", strerror(-err));
		return;
	}
	perfmap_name_parse(raw, len, buf, sizeof(buf), &name);
	printf("%" PRIx64 " %s\t%s\t%s\n", place.start, raw, name.display, name.assembly);
}

static int at(const char *path)
{
	struct perfmap_image *image;
	char line[64];
	int err = load(path, &image);

	if (err) {
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
		return 1;
	}
	while (fgets(line, sizeof(line), stdin))
		write_name(image, strtoull(line, NULL, 16));
	perfmap_image_free(image);
	return 0;
}

static int parse(void)
{
	static char raw[1 << 20];
	char buf[PERFMAP_NAME_BYTES];
	struct perfmap_name name;

	while (fgets(raw, sizeof(raw), stdin)) {
		perfmap_name_parse(raw, strcspn(raw, "\n"), buf, sizeof(buf), &name);
		printf("%s\t%s\n", name.display, name.assembly);
	}
	return 0;
}

static size_t count_named(const struct perfmap_image *image)
{
	char raw[RAW_BYTES];
	size_t named = 0, len;

	for (size_t i = 0; i < perfmap_image_functions(image); i++)
		named += !perfmap_image_name(image, (uint32_t)i, raw, sizeof(raw), &len);
	return named;
}

static int share(int cnt, char **paths)
{
	size_t images = 0, functions = 0, named = 0, bytes = 0;
	uint64_t load_ns = 0, name_ns = 0;

	for (int i = 0; i < cnt; i++) {
		struct perfmap_image *image;
		uint64_t start = now_ns(), loaded;
		int err = load(paths[i], &image);
		size_t n, all;

		loaded = now_ns();
		if (err) {
			printf("%s: %s\n", paths[i], strerror(-err));
			continue;
		}
		n = count_named(image);
		all = perfmap_image_functions(image);
		printf("%s: %zu functions, %zu named (%.2f %%), %.2f ms, %zu KiB\n", paths[i], all,
		       n, 100. * (double)n / (double)all, (double)(loaded - start) / 1e6,
		       perfmap_image_memory_bytes(image) >> 10);
		images++;
		functions += all;
		named += n;
		bytes += perfmap_image_memory_bytes(image);
		load_ns += loaded - start;
		name_ns += now_ns() - loaded;
		perfmap_image_free(image);
	}
	printf("%zu images: %zu functions, %zu named (%.3f %%), loaded in %.1f ms, %zu KiB (%.0f "
	       "bytes a function), a name in %.0f ns\n",
	       images, functions, named, functions ? 100. * (double)named / (double)functions : 0.,
	       (double)load_ns / 1e6, bytes >> 10,
	       functions ? (double)bytes / (double)functions : 0.,
	       functions ? (double)name_ns / (double)functions : 0.);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "at"))
		return at(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "parse"))
		return parse();
	if (argc > 2 && !strcmp(argv[1], "share"))
		return share(argc - 2, argv + 2);
	fprintf(stderr, "usage: image_names at FILE | parse | share FILE...\n");
	return 2;
}

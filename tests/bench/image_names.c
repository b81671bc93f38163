/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of precompiled .NET images from the command line: for the live test that compares them with
 * the runtime's own, and to measure loading.
 *
 *   image_names at FILE        reads offsets (hex, a line each) of a .dll or single-file program,
 *                              writes "START RAW<TAB>DISPLAY<TAB>ASSEMBLY" or "- REASON"
 *   image_names parse          reads raw names, a line each, writes "DISPLAY<TAB>ASSEMBLY"
 *   image_names share FILE...  functions and named functions of each, CPU time to load, memory
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perfmap/images/bundle.h"
#include "perfmap/images/image.h"
#include "perfmap/names/name.h"

#define RAW_BYTES 16384

/* A file, or a part of it. */
struct file {
	int fd;
	uint64_t start, bytes; /* 0 bytes = all */
};

/* An image with what is needed to load the metadata of its components. */
struct loaded {
	struct perfmap_image *image;
	const char *path;
	const struct perfmap_bundle *bundle;
	const struct perfmap_bundle_entry *entry;
};

static ssize_t read_at(void *source, void *buf, size_t len, uint64_t offset)
{
	const struct file *f = source;
	ssize_t n;

	if (f->bytes && offset >= f->bytes)
		return 0;
	if (f->bytes && len > f->bytes - offset)
		len = f->bytes - offset;
	n = pread(f->fd, buf, len, (off_t)(f->start + offset));
	return n < 0 ? -errno : n;
}

static int open_file(const char *path, struct file *ret)
{
	*ret = (struct file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	return ret->fd < 0 ? -errno : 0;
}

static int load_entry(const char *path, const struct perfmap_bundle_entry *entry,
		      struct perfmap_image **ret_image)
{
	struct file f;
	int err = open_file(path, &f);

	if (err)
		return err;
	if (entry) {
		f.start = entry->offset;
		f.bytes = entry->bytes;
	}
	err = perfmap_image_load(read_at, &f, ret_image);
	close(f.fd);
	return err;
}

static int load(const char *path, struct perfmap_image **ret_image)
{
	return load_entry(path, NULL, ret_image);
}

static void give_component(const struct loaded *l, uint32_t component)
{
	struct perfmap_component *given = NULL;
	char name[512], path[PATH_MAX];
	struct file f = {.fd = -1};

	if (perfmap_image_component(l->image, component, name, sizeof(name) - 4))
		goto out;
	strcat(name, ".dll");
	snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(l->path, '/') - l->path), l->path,
		 name);
	if (l->bundle) {
		const struct perfmap_bundle_entry *e = perfmap_bundle_named(l->bundle, name);

		if (!e || open_file(l->path, &f))
			goto out;
		f.start = e->offset;
		f.bytes = e->bytes;
	} else if (open_file(path, &f)) {
		goto out;
	}
	perfmap_component_load(read_at, &f, &given);
out:
	if (f.fd >= 0)
		close(f.fd);
	perfmap_image_give_component(l->image, component, given);
}

static int name_of(const struct loaded *l, uint32_t function, char *raw, size_t *ret_len)
{
	uint32_t component;
	int err;

	while ((err = perfmap_image_name(l->image, function, raw, RAW_BYTES, ret_len,
					 &component)) == -EAGAIN)
		give_component(l, component);
	return err;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_name(const struct loaded *l, uint64_t offset)
{
	char raw[RAW_BYTES], buf[PERFMAP_NAME_BYTES];
	uint64_t start = l->entry ? l->entry->offset : 0;
	struct perfmap_image_place place;
	struct perfmap_name name;
	size_t len;
	int err;

	if (perfmap_image_find(l->image, offset - start, &place)) {
		puts("- outside every function");
		return;
	}
	err = name_of(l, place.function, raw, &len);
	if (err) {
		printf("- %s\n", strerror(-err));
		return;
	}
	perfmap_name_parse(raw, len, buf, sizeof(buf), &name);
	printf("%" PRIx64 " %s\t%s\t%s\n", start + place.start, raw, name.display, name.assembly);
}

/* The image for an offset; the one before is kept as long as it serves. */
static int choose(struct loaded *l, uint64_t offset)
{
	const struct perfmap_bundle_entry *entry =
		l->bundle ? perfmap_bundle_find(l->bundle, offset) : NULL;

	if (l->image && entry == l->entry)
		return 0;
	if (l->bundle && !entry)
		return -ENOENT;
	perfmap_image_free(l->image);
	l->image = NULL;
	l->entry = entry;
	return load_entry(l->path, entry, &l->image);
}

static int at(const char *path)
{
	struct perfmap_bundle *bundle = NULL;
	struct loaded l = {.path = path};
	char line[64];
	struct file f;
	int err = open_file(path, &f);

	if (!err) {
		perfmap_bundle_load(read_at, &f, &bundle);
		close(f.fd);
	}
	l.bundle = bundle;
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t offset = strtoull(line, NULL, 16);

		err = choose(&l, offset);
		if (err)
			printf("- %s\n", strerror(-err));
		else
			write_name(&l, offset);
	}
	perfmap_image_free(l.image);
	perfmap_bundle_free(bundle);
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

static size_t count_named(const struct loaded *l)
{
	char raw[RAW_BYTES];
	size_t named = 0, len;

	for (size_t i = 0; i < perfmap_image_functions(l->image); i++)
		named += !name_of(l, (uint32_t)i, raw, &len);
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
		n = count_named(&(struct loaded){.image = image, .path = paths[i]});
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

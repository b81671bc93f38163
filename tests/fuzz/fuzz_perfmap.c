/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that a hostile map file can reach: lines, entries, look-ups, names read back. The
 * first bytes choose how the rest is cut into chunks and when the file is "truncated".
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perfmap/maps/line.h"
#include "perfmap/maps/map.h"
#include "perfmap/names/name.h"

static void must(int condition)
{
	if (!condition)
		abort();
}

/* A tier's tag changes nothing but the tier: all bodies of a method read alike. */
static void check_tier(const char *raw, const struct perfmap_name *name, size_t cap)
{
	static const char tag[] = "[OptimizedTier1OSR]";
	size_t len = name->raw_len;
	char *tagged = malloc(len + sizeof(tag)), *buf = malloc(cap);
	struct perfmap_name other;

	memcpy(tagged, raw, len);
	memcpy(tagged + len, tag, sizeof(tag));
	perfmap_name_parse(tagged, len + sizeof(tag) - 1, buf, cap, &other);
	must(other.raw_len == len && !strcmp(other.tier, "OptimizedTier1OSR"));
	must(!strcmp(other.display, name->display) && !strcmp(other.assembly, name->assembly));
	must(other.is_async == name->is_async && other.is_iterator == name->is_iterator);
	must(perfmap_is_framework(&other) == perfmap_is_framework(name));
	free(tagged);
	free(buf);
}

static void check_name(const char *raw, size_t len, size_t cap)
{
	struct perfmap_name name;
	char *buf = malloc(cap);

	perfmap_name_parse(raw, len, buf, cap, &name);
	must(name.display[0] && name.raw_len <= len);
	must(name.display + strlen(name.display) < buf + cap);
	must(strlen(name.assembly) < cap);
	must(!name.is_async || !name.is_iterator);
	/* Stubs have no tier, nor has a name that is nothing but a tag. */
	if (name.raw_len && !perfmap_line_is_stub(raw, len))
		check_tier(raw, &name, cap);
	free(buf);
}

static void look_up(struct perfmap *map, int fd, uint64_t address, uint64_t time_ns)
{
	struct perfmap_hit hit;
	char name[1024];
	size_t len;
	int err;

	if (perfmap_find(map, address, time_ns, &hit))
		return;
	must(address >= hit.start && address - hit.start < hit.size_bytes);
	must(hit.later == (hit.seen_ns > time_ns));
	err = perfmap_read_name(&hit, fd, name, sizeof(name), &len);
	must(!err || err == -ESTALE);
	if (!err)
		check_name(name, len, 64 + len % 200);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 2, *p, *end;
	struct perfmap_counters counters;
	uint64_t offset = 0, time_ns = 0;
	struct perfmap_work work;
	struct perfmap_line line;
	struct perfmap *map;
	size_t chunk, at;
	int fd, err;

	if (size < 2)
		return 0;
	size -= 2;
	check_name(text, size, 128);
	map = perfmap_new();
	fd = memfd_create("map", MFD_CLOEXEC);
	must(map && fd >= 0);
	chunk = 1 + data[0];
	for (at = 0; at < size; at += chunk, time_ns++) {
		size_t n = size - at < chunk ? size - at : chunk;

		if (data[1] && time_ns % 256 == data[1]) {
			perfmap_rewritten(map);
			offset = 0;
		}
		must(pwrite(fd, text + at, n, (off_t)offset) == (ssize_t)n);
		must(!perfmap_feed(map, text + at, n, offset, time_ns));
		offset += n;
		look_up(map, fd, 0x7f0000001000, time_ns);
	}
	/* Whatever a line holds is found, at both of its ends. */
	for (p = text, end = text + size; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = newline ? (size_t)(newline - p) : (size_t)(end - p);

		work = (struct perfmap_work){.limit = UINT64_MAX};
		err = perfmap_line_parse_counted(p, len, &work, &line);
		must(work.done <= PERFMAP_LINE_WORK_PER_BYTE * len);
		if (!err) {
			must(line.name_offset + line.name_len == len);
			look_up(map, fd, line.start, UINT64_MAX);
			look_up(map, fd, line.start + line.size_bytes - 1, time_ns / 2);
		}
		p += len + 1;
	}
	counters = perfmap_counters(map);
	must(perfmap_entries(map) + counters.repeated == counters.entries);
	must(perfmap_damage(map) == counters.damaged);
	perfmap_free(map);
	close(fd);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf map budget: a map of a million lines loaded, looked up, appended to. Prints
 * "name value unit" lines; the best of several rounds, because the machine may be busy.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "perfmap/names/name.h"
#include "perfmap/maps/tail.h"

#define LINES	 1000000u
#define ROUNDS	 5
#define LOOK_UPS 2000000u
#define APPENDS	 1000
#define NAMES	 200000u

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Code heaps of some MB in arbitrary order, methods within them in arbitrary order too. */
static uint64_t address_of(uint64_t i)
{
	uint64_t mixed = i * 0x9e3779b1u % LINES;

	return 0x7f0000000000ull + mixed * 768 + (mixed >> 14) * 0x100000;
}

static int put_lines(FILE *f, uint64_t from, uint64_t to)
{
	static const char *const tiers[] = {"QuickJitted", "OptimizedTier1", "InstrumentedTier"};
	uint64_t i;

	for (i = from; i < to; i++)
		fprintf(f,
			"0x%" PRIx64 " %x instance class System.Threading.Tasks.Task`1<int32> "
			"[Shop.Api] Shop.Api.Services.Module%" PRIu64 "+<Handle%" PRIu64
			">d__%" PRIu64 "::MoveNext(class Shop.Api.Request)[%s]\n",
			address_of(i % LINES) + (i / LINES) * 16, (unsigned int)(64 + i % 600),
			i / 64, i % 64, i % 20, tiers[i % 3]);
	return fflush(f);
}

static struct perfmap_tail *load(int fd, double *best)
{
	struct perfmap_tail *tail = perfmap_tail_new(dup(fd));
	struct perfmap_hit hit;
	double started = now_s();
	size_t bytes;
	bool more;

	if (!tail)
		return NULL;
	do {
		if (perfmap_tail_advance(tail, 0, 64u << 20, &bytes, &more))
			return NULL;
	} while (bytes);
	/* The first look-up sorts what is left. */
	perfmap_find(perfmap_tail_map(tail), address_of(1), UINT64_MAX, &hit);
	if (now_s() - started < *best)
		*best = now_s() - started;
	return tail;
}

/* Addresses all over the map, made beforehand: their divisions are no part of a look-up. */
static uint64_t *make_addresses(void)
{
	uint64_t *addresses = calloc(LOOK_UPS, sizeof(*addresses));
	uint64_t state = 88172645463325252ull;
	unsigned int i;

	for (i = 0; addresses && i < LOOK_UPS; i++)
		addresses[i] = address_of(random_next(&state) % LINES) + 20;
	return addresses;
}

static double look_up(struct perfmap *map, const uint64_t *addresses)
{
	struct perfmap_hit hit;
	uint64_t found = 0;
	double started;
	unsigned int i;

	started = now_s();
	for (i = 0; i < LOOK_UPS; i++)
		found += !perfmap_find(map, addresses[i], UINT64_MAX, &hit);
	if (found != LOOK_UPS)
		fprintf(stderr, "%" PRIu64 " of %u found\n", found, LOOK_UPS);
	return (now_s() - started) / LOOK_UPS;
}

static double append(struct perfmap_tail *tail, FILE *f)
{
	struct perfmap_hit hit;
	double spent = 0;
	size_t bytes;
	bool more;
	int i;

	for (i = 0; i < APPENDS; i++) {
		double started;

		put_lines(f, LINES + (uint64_t)i * 5, LINES + (uint64_t)i * 5 + 5);
		started = now_s();
		perfmap_tail_advance(tail, (uint64_t)i + 1, 64u << 20, &bytes, &more);
		perfmap_find(perfmap_tail_map(tail), address_of(1), UINT64_MAX, &hit);
		spent += now_s() - started;
	}
	return spent / APPENDS;
}

static double parse_names(struct perfmap_tail *tail)
{
	char raw[PERFMAP_NAME_BYTES], buf[PERFMAP_NAME_BYTES];
	struct perfmap_name name;
	struct perfmap_hit hit;
	double started = now_s();
	unsigned int i;
	size_t len;

	for (i = 0; i < NAMES; i++) {
		if (!perfmap_find(perfmap_tail_map(tail), address_of(i) + 20, UINT64_MAX, &hit) &&
		    !perfmap_tail_name(tail, &hit, raw, sizeof(raw), &len))
			perfmap_name_parse(raw, len, buf, sizeof(buf), &name);
	}
	return (now_s() - started) / NAMES;
}

int main(void)
{
	double load_s = 1e9, find_s = 1e9, s;
	struct perfmap_tail *tail = NULL;
	uint64_t *addresses = make_addresses();
	struct perfmap *map;
	int round, fd;
	FILE *f;

	fd = memfd_create("perf-1.map", MFD_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!f || !addresses || put_lines(f, 0, LINES)) {
		fprintf(stderr, "set-up: %s\n", strerror(errno));
		return 1;
	}
	for (round = 0; round < ROUNDS; round++) {
		perfmap_tail_free(tail);
		tail = load(fd, &load_s);
		if (!tail) {
			fprintf(stderr, "load failed\n");
			return 1;
		}
		s = look_up(perfmap_tail_map(tail), addresses);
		find_s = s < find_s ? s : find_s;
	}
	map = perfmap_tail_map(tail);
	printf("perfmap_load_million_lines %.3f s\n", load_s);
	printf("perfmap_look_up %.0f ns\n", find_s * 1e9);
	printf("perfmap_entry %.1f bytes\n",
	       (double)perfmap_memory_bytes(map) / (double)perfmap_entries(map));
	printf("perfmap_append_5_lines %.1f us\n", append(tail, f) * 1e6);
	printf("perfmap_look_up_after_appends %.0f ns\n", look_up(map, addresses) * 1e9);
	printf("perfmap_find_and_name %.0f ns\n", parse_names(tail) * 1e9);
	perfmap_tail_free(tail);
	free(addresses);
	fclose(f);
	return 0;
}

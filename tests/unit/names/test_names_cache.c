/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that are taken apart: in batches, by party, within bounds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "names/name_cache.h"
#include "names_host.h"
#include "opener/file_requests.h"

struct cache {
	struct host host;
	struct file_requests requests;
	struct name_cache *names;
	uint32_t one, other; /* processes of two users */
};

static uint32_t process_of(struct cache *c, uint32_t tgid, const char *uid)
{
	struct fake_process p = {
		.tgid = tgid, .start_ticks = START_TICKS, .comm = "x", .uid = uid, .maps = ""};

	host_add(&c->host, &p);
	return c->host.process;
}

static void cache_make(struct cache *c)
{
	host_make(&c->host, "", "/app/x");
	cr_assert_eq(file_requests_init(&c->requests, NULL, c->host.proc.path, 10000000000ull), 0);
	c->names = name_cache_new(&c->requests);
	cr_assert(c->names);
	c->one = process_of(c, 300, "1000");
	c->other = process_of(c, 400, "1001");
}

static void cache_end(struct cache *c)
{
	name_cache_free(c->names);
	file_requests_clear(&c->requests);
	host_end(&c->host);
}

/* The number-th name, of that many bytes; in a static buffer. */
static const char *name_of(int number, size_t bytes)
{
	static char name[PARSE_NAME_BYTES + 1];
	int n = snprintf(name, sizeof(name), "void [Shop] Shop.Cart%d::Add(", number);

	while ((size_t)n + 2 < bytes)
		name[n++] = 'x';
	snprintf(name + n, sizeof(name) - (size_t)n, ")");
	return name;
}

static enum model_reason get(struct cache *c, uint32_t process, int number, size_t bytes,
			     struct name_parts *parts)
{
	return name_cache_text(c->names, c->host.m, process, NAME_DOTNET, name_of(number, bytes),
			       parts);
}

static unsigned known(struct cache *c, uint32_t process, int from, int until, size_t bytes)
{
	struct name_parts parts;
	unsigned cnt = 0;

	for (int i = from; i < until; i++)
		cnt += !get(c, process, i, bytes, &parts);
	return cnt;
}

Test(name_cache, names_come_in_batches_and_stay)
{
	struct name_parts parts;
	struct cache c;
	char display[64];

	cache_make(&c);
	cr_expect_not(name_cache_flush(c.names, c.host.m, true), "nothing was asked");
	cr_expect_eq(known(&c, c.one, 0, 3000, 0), 0);
	cr_expect(name_cache_flush(c.names, c.host.m, true));
	for (int i = 0; i < 3000; i++) {
		cr_assert_eq(get(&c, c.one, i, 0, &parts), REASON_NAMED, "%d", i);
		snprintf(display, sizeof(display), "Shop.Cart%d.Add", i);
		cr_assert_str_eq(parts.display, display);
		cr_assert_str_eq(parts.assembly, "Shop");
	}
	cr_expect_leq(workers_counters(c.requests.workers).jobs, 4, "three batches, one of a rest");
	cr_expect_not(name_cache_flush(c.names, c.host.m, true));
	cr_expect_eq(get(&c, c.other, 5, 0, &parts), REASON_PENDING, "no other party's");
	cache_end(&c);
}

Test(name_cache, a_party_in_debt_waits_alone)
{
	struct name_parts parts;
	struct cache c;

	cache_make(&c);
	workers_charge(c.requests.workers, file_requests_party(&c.requests, c.host.m, c.one),
		       5000000000ull);
	for (int i = 0; i < 20000; i++)
		get(&c, c.one, i, 0, &parts);
	cr_expect_eq(get(&c, c.other, 1, 0, &parts), REASON_PENDING);
	cr_expect(name_cache_flush(c.names, c.host.m, true));
	cr_expect_eq(get(&c, c.other, 1, 0, &parts), REASON_NAMED);
	cr_expect_eq(get(&c, c.one, 1, 0, &parts), REASON_PENDING);
	cr_expect_leq(workers_counters(c.requests.workers).jobs, 8 + 1, "its places are taken");
	cr_expect_lt(name_cache_bytes(c.names), 2u << 20);
	cache_end(&c);
}

Test(name_cache, whose_names_are_long_loses_them_and_nobody_else)
{
	struct name_parts parts;
	uint64_t most = 0;
	struct cache c;

	cache_make(&c);
	known(&c, c.other, 0, 100, 0);
	name_cache_flush(c.names, c.host.m, true);
	cr_assert_eq(known(&c, c.other, 0, 100, 0), 100);
	for (int i = 0; i < 60; i++) {
		known(&c, c.one, i * 100, i * 100 + 100, PARSE_NAME_BYTES);
		name_cache_flush(c.names, c.host.m, true);
		if (name_cache_bytes(c.names) > most)
			most = name_cache_bytes(c.names);
		file_requests_slice(&c.requests);
	}
	cr_expect_gt(most, NAME_CACHE_BYTES / 2, "%lu", most);
	cr_expect_leq(most, 2 * (uint64_t)NAME_CACHE_BYTES, "%lu", most);
	cr_expect_lt(known(&c, c.one, 0, 100, PARSE_NAME_BYTES), 100, "the first ones went");
	cr_expect_eq(known(&c, c.other, 0, 100, 0), 100, "of the other one all are there");
	cr_expect_eq(get(&c, c.other, 7, 0, &parts), REASON_NAMED);
	cr_expect_str_eq(parts.display, "Shop.Cart7.Add");
	cache_end(&c);
}

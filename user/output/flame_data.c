/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"
#include "bpf/events.h"
#include "judge/books.h"
#include "judge/remedy.h"
#include "model/paths.h"
#include "model/workload.h"
#include "output/flame.h"
#include "output/forest.h"
#include "output/json.h"

/* How often a method was sampled in one tier; tier "" where it has none. */
struct tier {
	uint32_t symbol;
	const char *tier;
	uint64_t frames, later;
};

struct data {
	struct json json;
	struct model *m;
	struct forest forest;
	MODEL_TABLE(struct tier, tiers);
	struct hash_index tier_index;
	/* Numbers of symbols and strings in the output: in order of first use. */
	uint32_t *number; /* by symbol row, MODEL_NONE = not used yet */
	MODEL_TABLE(uint32_t, symbols);
	MODEL_TABLE(const char *, strings);
	struct hash_index string_index;
};

/* --- gathering ------------------------------------------------------------------------------- */

/* Strings of the model are interned: equal ones have one address. */
static bool tier_equal(const void *owner, uint32_t row, const void *key)
{
	const struct tier *tier = &((const struct data *)owner)->tiers[row], *k = key;

	return tier->symbol == k->symbol && tier->tier == k->tier;
}

static int count_tier(struct data *d, uint32_t symbol, const struct model_location *location,
		      uint64_t weight)
{
	struct tier key = {.symbol = symbol, .tier = location->tier};
	uint64_t hash = hash_pair(symbol, (uintptr_t)location->tier);
	uint32_t row = hash_find(&d->tier_index, hash, tier_equal, d, &key);
	int err;

	if (row == HASH_NONE) {
		err = GROW(d->tiers, d->tiers_cnt, d->tiers_cap);
		if (!err)
			err = hash_add(&d->tier_index, hash, (uint32_t)d->tiers_cnt);
		if (err)
			return err;
		row = (uint32_t)d->tiers_cnt;
		d->tiers[d->tiers_cnt++] = key;
	}
	d->tiers[row].frames += weight;
	d->tiers[row].later += location->flags & LOCATION_LATER ? weight : 0;
	return 0;
}

static int add_sample(struct data *d, struct paths *p)
{
	const struct model *m = d->m;
	uint64_t weight = model_weight(&m->samples[p->sample]);
	int err = forest_add(&d->forest, m->threads[p->thread].process, p->methods, p->methods_cnt,
			     p->thread, weight);

	for (size_t i = 0; !err && i < p->frames_cnt; i++) {
		const struct model_location *location;

		if (p->frames[i].location == MODEL_NONE)
			continue;
		location = &m->locations[p->frames[i].location];
		if (*location->tier || location->flags & LOCATION_LATER)
			err = count_tier(d, method_of(&p->map, p->m, p->frames[i].symbol), location,
					 weight);
	}
	return err;
}

/* Heaviest first, then by pid or name. */
static int compare_nodes(const struct forest_node *a, const struct forest_node *b, int level,
			 const void *arg)
{
	const struct model *m = arg;
	int c = COMPARE(b->total, a->total);

	if (c)
		return c;
	return level ? strcmp(m->symbols[a->key].name, m->symbols[b->key].name)
		     : COMPARE(m->processes[a->key].tgid, m->processes[b->key].tgid);
}

static int gather(struct data *d, bool addresses)
{
	struct paths paths = {0};
	int err = paths_begin(&paths, d->m, MODEL_NONE, addresses ? 0 : PATHS_FOLD_UNNAMED);

	while (!err && paths_next(&paths))
		err = add_sample(d, &paths);
	paths_end(&paths);
	if (!err)
		err = forest_link(&d->forest, compare_nodes, d->m);
	if (err)
		return err;
	d->number = malloc((d->m->symbols_cnt + 1) * sizeof(*d->number));
	if (!d->number)
		return -ENOMEM;
	memset(d->number, 0xff, (d->m->symbols_cnt + 1) * sizeof(*d->number));
	return 0;
}

/* --- numbering ------------------------------------------------------------------------------- */

static int number_symbol(struct data *d, uint32_t row, uint32_t *ret_number)
{
	if (d->number[row] == MODEL_NONE) {
		int err = GROW(d->symbols, d->symbols_cnt, d->symbols_cap);

		if (err)
			return err;
		d->number[row] = (uint32_t)d->symbols_cnt;
		d->symbols[d->symbols_cnt++] = row;
	}
	*ret_number = d->number[row];
	return 0;
}

static bool string_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct data *)owner)->strings[row] == key;
}

static int number_string(struct data *d, const char *string, uint32_t *ret_number)
{
	uint64_t hash = hash_u64((uintptr_t)string);
	uint32_t row = hash_find(&d->string_index, hash, string_equal, d, string);
	int err;

	if (row == HASH_NONE) {
		err = GROW(d->strings, d->strings_cnt, d->strings_cap);
		if (!err)
			err = hash_add(&d->string_index, hash, (uint32_t)d->strings_cnt);
		if (err)
			return err;
		row = (uint32_t)d->strings_cnt;
		d->strings[d->strings_cnt++] = string;
	}
	*ret_number = row;
	return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Start of the recording in ms since 1970, 0 when the clock's offset is not known. */
static uint64_t start_unix_ms(const struct model *m)
{
	int64_t ns;

	if (!m->slices_cnt ||
	    __builtin_add_overflow((int64_t)m->host.start_ns, m->slices[0].wall_offset_ns, &ns))
		return 0;
	return ns > 0 ? (uint64_t)ns / 1000000 : 0;
}

static void put_host(struct data *d)
{
	const struct model_host *h = &d->m->host;
	struct json *j = &d->json;

	json_object(j, "host");
	json_string(j, "name", h->name);
	json_string(j, "kernel", h->kernel);
	json_string(j, "machine", h->machine);
	json_string(j, "version", h->version);
	json_string(j, "event", h->event);
	json_string(j, "filter", h->filter);
	json_string(j, "command", h->command);
	if (*h->taken)
		json_string(j, "taken", h->taken);
	json_count(j, "cpus", h->cpus_online);
	json_count(j, "hz", h->sample_hz);
	/* Shares are as sure as that many fewer samples tell. */
	if (d->m->slices_every > d->m->slices_cnt)
		json_real(j, "ticksPerSample",
			  (double)d->m->slices_every / (double)d->m->slices_cnt);
	json_count(j, "startUnixMs", start_unix_ms(d->m));
	json_count(j, "durationNs", h->end_ns > h->start_ns ? h->end_ns - h->start_ns : 0);
	json_flag(j, "complete", h->complete);
	if (model_off(d->m) & OFF_SWITCHES)
		json_string(j, "switchesOff", model_off_text(OFF_SWITCHES));
	json_end(j);
}

/* Causes of which each one is a sample that is not in the books. */
static bool loses_samples(uint32_t cause)
{
	return cause == LOSS_SAMPLE_RING_FULL || cause == LOSS_SCRATCH ||
	       cause == LOSS_TICKS_MISSED;
}

/* Of blocked time there are none. */
static void put_books(struct data *d, const struct totals *t, bool blocked)
{
	struct books b = blocked ? (struct books){0} : books_of(d->m, t);
	struct json *j = &d->json;

	json_object(j, "books");
	json_flag(j, "known", b.have_cpus);
	json_count(j, "expected", b.expected);
	json_count(j, "taken", b.taken);
	json_count(j, "missed", b.missed > b.noise ? b.missed : 0);
	json_count(j, "filtered", b.filtered);
	json_count(j, "dropped", b.dropped);
	json_count(j, "lostPerMillion", (uint64_t)(b.lost_share * 1e6));
	json_flag(j, "samplesGap", b.samples_gap);
	json_flag(j, "switchesGap", b.switches_gap);
	json_end(j);
}

static void put_losses(struct data *d, const struct totals *t, bool blocked)
{
	struct json *j = &d->json;

	json_array(j, "losses");
	for (uint32_t cause = 0; !blocked && cause < LOSS_CAUSE_CNT; cause++) {
		if (!t->losses[cause])
			continue;
		json_object(j, NULL);
		json_string(j, "id", model_loss_id(cause));
		json_string(j, "text", model_loss_text(cause));
		json_string(j, "remedy", remedy_loss(cause));
		json_count(j, "count", t->losses[cause]);
		json_flag(j, "samples", loses_samples(cause));
		json_end(j);
	}
	json_end(j);
}

static void put_reasons(struct data *d)
{
	struct json *j = &d->json;

	json_array(j, "reasons");
	for (int reason = 0; reason < REASON_CNT; reason++) {
		json_object(j, NULL);
		json_string(j, "id", model_reason_id(reason));
		json_string(j, "text", model_reason_text(reason));
		json_string(j, "remedy", remedy_reason(reason));
		json_end(j);
	}
	json_end(j);
}

enum node_column { NODE_SYMBOL, NODE_DEPTH, NODE_TOTAL, NODE_THREADS };

/* One array over the nodes below `top` in preorder. */
static int put_column(struct data *d, const char *name, uint32_t top, enum node_column column)
{
	const struct forest *f = &d->forest;
	size_t depth = 0;
	int err = 0;

	json_array(&d->json, name);
	for (uint32_t node = top; (node = forest_next(f, top, node, &depth)) != HASH_NONE;) {
		const struct forest_node *n = &f->nodes[node];
		uint64_t value = column == NODE_DEPTH	? depth - 1
				 : column == NODE_TOTAL ? n->total
							: n->threads;
		uint32_t number;

		if (column == NODE_SYMBOL) {
			err = number_symbol(d, n->key, &number);
			if (err)
				break;
			value = number;
		}
		json_count(&d->json, NULL, value);
	}
	json_end(&d->json);
	return err;
}

static int put_nodes(struct data *d, uint32_t node)
{
	int err;

	json_object(&d->json, "nodes");
	err = put_column(d, "symbol", node, NODE_SYMBOL);
	if (!err)
		err = put_column(d, "depth", node, NODE_DEPTH);
	if (!err)
		err = put_column(d, "total", node, NODE_TOTAL);
	if (!err)
		err = put_column(d, "threads", node, NODE_THREADS);
	json_end(&d->json);
	return err;
}

static int put_process(struct data *d, uint32_t node, uint64_t on_cpu_ns)
{
	const struct forest_node *n = &d->forest.nodes[node];
	const struct model_process *p = &d->m->processes[n->key];
	char container[WORKLOAD_BYTES];
	struct json *j = &d->json;
	int err;

	workload_container(p, container);
	json_object(j, NULL);
	json_count(j, "pid", p->tgid);
	json_count(j, "nsPid", p->ns_pid);
	json_string(j, "name", p->name);
	json_string(j, "comm", p->comm);
	json_string(j, "unit", p->unit);
	json_string(j, "container", container);
	json_flag(j, "dotnet", p->flags & PROCESS_DOTNET);
	json_flag(j, "self", p->flags & PROCESS_SELF);
	json_count(j, "samples", n->total);
	json_count(j, "threads", n->threads);
	json_count(j, "onCpuNs", on_cpu_ns);
	err = put_nodes(d, node);
	json_end(j);
	return err;
}

static int put_processes(struct data *d, uint32_t first_process)
{
	const struct model *m = d->m;
	uint64_t *on_cpu_ns = calloc(m->processes_cnt + 1, sizeof(*on_cpu_ns));
	uint32_t node = d->forest.nodes_cnt ? d->forest.nodes[0].first_child : HASH_NONE;
	uint32_t row = 0, first = MODEL_NONE;
	int err = on_cpu_ns ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < m->threads_cnt; i++)
		on_cpu_ns[m->threads[i].process] += m->threads[i].sched.on_cpu_ns;
	json_array(&d->json, "processes");
	for (; !err && node != HASH_NONE; node = d->forest.nodes[node].next_sibling, row++) {
		if (d->forest.nodes[node].key == first_process)
			first = row;
		err = put_process(d, node, on_cpu_ns[d->forest.nodes[node].key]);
	}
	json_end(&d->json);
	free(on_cpu_ns);
	if (first == MODEL_NONE)
		json_null(&d->json, "first");
	else
		json_count(&d->json, "first", first);
	return err;
}

static int put_string_column(struct data *d, const char *key, size_t offset)
{
	int err = 0;

	json_array(&d->json, key);
	for (size_t i = 0; !err && i < d->symbols_cnt; i++) {
		const char *symbol = (const char *)&d->m->symbols[d->symbols[i]];
		uint32_t number;

		err = number_string(d, *(const char *const *)(symbol + offset), &number);
		if (!err)
			json_count(&d->json, NULL, number);
	}
	json_end(&d->json);
	return err;
}

/* Of fields of one byte. */
static void put_byte_column(struct data *d, const char *key, size_t offset)
{
	json_array(&d->json, key);
	for (size_t i = 0; i < d->symbols_cnt; i++) {
		const uint8_t *symbol = (const uint8_t *)&d->m->symbols[d->symbols[i]];

		json_count(&d->json, NULL, symbol[offset]);
	}
	json_end(&d->json);
}

/* By symbol in the order of the output, commonest first. */
static int compare_tiers(const void *a, const void *b, void *arg)
{
	const struct data *d = arg;
	const struct tier *ta = a, *tb = b;
	int c = COMPARE(d->number[ta->symbol], d->number[tb->symbol]);

	if (!c)
		c = COMPARE(tb->frames, ta->frames);
	return c ? c : strcmp(ta->tier, tb->tier);
}

/* The tiers of the symbol of that number, from *at on, or 0 where none is known. */
static int put_tiers_of(struct data *d, size_t number, size_t *at)
{
	struct json *j = &d->json;
	bool any = false;

	for (; *at < d->tiers_cnt && d->number[d->tiers[*at].symbol] == number; ++*at) {
		const struct tier *tier = &d->tiers[*at];
		uint32_t name;
		int err = *tier->tier ? number_string(d, tier->tier, &name) : 0;

		if (err)
			return err;
		if (!*tier->tier)
			continue;
		if (!any)
			json_array(j, NULL);
		any = true;
		json_array(j, NULL);
		json_count(j, NULL, name);
		json_count(j, NULL, tier->frames);
		json_end(j);
	}
	if (any)
		json_end(j);
	else
		json_count(j, NULL, 0);
	return 0;
}

/* The arrays later and tiers. Frames of cut stacks may have a tier and no number: they sort last
 * and are left out. */
static int put_tiers(struct data *d)
{
	size_t at = 0;
	int err = 0;

	if (d->tiers_cnt)
		qsort_r(d->tiers, d->tiers_cnt, sizeof(*d->tiers), compare_tiers, d);
	json_array(&d->json, "later");
	for (size_t i = 0; i < d->symbols_cnt; i++) {
		uint64_t later = 0;

		for (; at < d->tiers_cnt && d->number[d->tiers[at].symbol] == i; at++)
			later += d->tiers[at].later;
		json_count(&d->json, NULL, later);
	}
	json_end(&d->json);
	json_array(&d->json, "tiers");
	at = 0;
	for (size_t i = 0; !err && i < d->symbols_cnt; i++)
		err = put_tiers_of(d, i, &at);
	json_end(&d->json);
	return err;
}

static int put_symbols(struct data *d)
{
	int err;

	json_object(&d->json, "symbols");
	err = put_string_column(d, "name", offsetof(struct model_symbol, name));
	if (!err)
		err = put_string_column(d, "raw", offsetof(struct model_symbol, raw));
	if (!err)
		err = put_string_column(d, "module", offsetof(struct model_symbol, module));
	put_byte_column(d, "kind", offsetof(struct model_symbol, kind));
	put_byte_column(d, "reason", offsetof(struct model_symbol, reason));
	put_byte_column(d, "application", offsetof(struct model_symbol, application));
	if (!err)
		err = put_tiers(d);
	json_end(&d->json);
	json_array(&d->json, "strings");
	for (size_t i = 0; i < d->strings_cnt; i++)
		json_string(&d->json, NULL, d->strings[i]);
	json_end(&d->json);
	return err;
}

static int put_all(struct data *d, const struct flame_options *options, FILE *out)
{
	uint64_t samples = d->forest.nodes_cnt ? d->forest.nodes[0].total : 0;
	struct totals *totals = totals_new(d->m);
	struct json *j = &d->json;
	int err, failed;

	if (!totals)
		return -ENOMEM;
	json_begin_compact(j, out);
	json_string(j, "format", "hotrun-flame");
	json_count(j, "version", 1);
	json_flag(j, "blocked", options->blocked);
	json_flag(j, "idle", options->idle);
	json_count(j, "samples", samples);
	json_count(j, "cut", d->forest.cut);
	json_flag(j, "rawNames", d->m->raw_names);
	json_flag(j, "justMyCode", d->m->just_my_code);
	put_host(d);
	put_books(d, totals, options->blocked);
	put_losses(d, totals, options->blocked);
	totals_free(totals);
	put_reasons(d);
	err = put_processes(d, options->process);
	if (!err)
		err = put_symbols(d);
	failed = json_finish(j);
	return err ? err : failed;
}

int flame_write_data(FILE *out, struct model *m, const struct flame_options *options)
{
	struct data d = {.m = m};
	int err = gather(&d, options->addresses);

	if (!err)
		err = put_all(&d, options, out);
	forest_clear(&d.forest);
	hash_clear(&d.tier_index);
	hash_clear(&d.string_index);
	free(d.tiers);
	free(d.number);
	free(d.symbols);
	free(d.strings);
	return err;
}

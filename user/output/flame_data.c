/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"
#include "base/text.h"
#include "bpf/events.h"
#include "judge/books.h"
#include "judge/remedy.h"
#include "model/paths.h"
#include "model/workload.h"
#include "output/flame.h"
#include "output/forest.h"

/* How often a method was sampled in one tier; tier "" where it has none. */
struct tier {
	uint32_t symbol;
	const char *tier;
	uint64_t frames, later;
};

struct data {
	FILE *out;
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

static int count_tier(struct data *d, uint32_t symbol, const struct model_location *location)
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
	d->tiers[row].frames++;
	d->tiers[row].later += location->flags & LOCATION_LATER ? 1 : 0;
	return 0;
}

static int add_sample(struct data *d, struct paths *p)
{
	const struct model *m = d->m;
	int err = forest_add(&d->forest, m->threads[p->thread].process, p->methods, p->methods_cnt,
			     p->thread, 1);

	for (size_t i = 0; !err && i < p->frames_cnt; i++) {
		const struct model_location *location;

		if (p->frames[i].location == MODEL_NONE)
			continue;
		location = &m->locations[p->frames[i].location];
		if (*location->tier || location->flags & LOCATION_LATER)
			err = count_tier(d, method_of(&p->map, p->m, p->frames[i].symbol),
					 location);
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

/* "key":"string", preceded by what separates it. */
static void put_string(FILE *out, const char *before, const char *key, const char *s)
{
	fprintf(out, "%s\"%s\":", before, key);
	text_put_json(out, s ? s : "", s ? strlen(s) : 0);
}

static void put_number(FILE *out, const char *key, uint64_t value)
{
	fprintf(out, ",\"%s\":%llu", key, (unsigned long long)value);
}

/* The next number of an array. A page has up to millions: no printf. */
static void put_element(FILE *out, bool first, uint64_t value)
{
	char digits[24], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	if (!first)
		*--at = ',';
	fwrite(at, 1, (size_t)(digits + sizeof(digits) - at), out);
}

static void put_bool(FILE *out, const char *key, bool value)
{
	fprintf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

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
	FILE *out = d->out;

	put_string(out, ",\n\"host\":{", "name", h->name);
	put_string(out, ",", "kernel", h->kernel);
	put_string(out, ",", "machine", h->machine);
	put_string(out, ",", "version", h->version);
	put_string(out, ",", "event", h->event);
	put_string(out, ",", "filter", h->filter);
	put_string(out, ",", "command", h->command);
	put_number(out, "cpus", h->cpus_online);
	put_number(out, "hz", h->sample_hz);
	put_number(out, "startUnixMs", start_unix_ms(d->m));
	put_number(out, "durationNs", h->end_ns > h->start_ns ? h->end_ns - h->start_ns : 0);
	put_bool(out, "complete", h->complete);
	if (h->off & OFF_SWITCHES)
		put_string(out, ",", "switchesOff", model_off_text(OFF_SWITCHES));
	putc('}', out);
}

/* Causes of which each one is a sample that is not in the books. */
static bool loses_samples(uint32_t cause)
{
	return cause == LOSS_SAMPLE_RING_FULL || cause == LOSS_SCRATCH ||
	       cause == LOSS_TICKS_MISSED;
}

static void put_books(struct data *d, const struct totals *t)
{
	struct books b = books_of(d->m, t);

	fprintf(d->out, ",\n\"books\":{\"known\":%s", b.have_cpus ? "true" : "false");
	put_number(d->out, "expected", b.expected);
	put_number(d->out, "taken", b.taken);
	put_number(d->out, "missed", b.missed > b.noise ? b.missed : 0);
	put_number(d->out, "filtered", b.filtered);
	put_number(d->out, "dropped", b.dropped);
	put_number(d->out, "lostPerMillion", (uint64_t)(b.lost_share * 1e6));
	put_bool(d->out, "samplesGap", b.samples_gap);
	put_bool(d->out, "switchesGap", b.switches_gap);
	putc('}', d->out);
}

static void put_losses(struct data *d, const struct totals *t)
{
	const uint64_t *counts = t->losses;
	const char *before = "";

	fputs(",\n\"losses\":[", d->out);
	for (uint32_t cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		if (!counts[cause])
			continue;
		fprintf(d->out, "%s{", before);
		put_string(d->out, "", "id", model_loss_id(cause));
		put_string(d->out, ",", "text", model_loss_text(cause));
		put_string(d->out, ",", "remedy", remedy_loss(cause));
		put_number(d->out, "count", counts[cause]);
		put_bool(d->out, "samples", loses_samples(cause));
		putc('}', d->out);
		before = ",";
	}
	putc(']', d->out);
}

static void put_reasons(struct data *d)
{
	fputs(",\n\"reasons\":[", d->out);
	for (int reason = 0; reason < REASON_CNT; reason++) {
		put_string(d->out, reason ? ",{" : "{", "id", model_reason_id(reason));
		put_string(d->out, ",", "text", model_reason_text(reason));
		put_string(d->out, ",", "remedy", remedy_reason(reason));
		putc('}', d->out);
	}
	putc(']', d->out);
}

enum column { COLUMN_SYMBOL, COLUMN_DEPTH, COLUMN_TOTAL, COLUMN_THREADS };

/* One array over the nodes below `top` in preorder. */
static int put_column(struct data *d, const char *name, uint32_t top, enum column column)
{
	const struct forest *f = &d->forest;
	bool first = true;
	size_t depth = 0;
	int err;

	fprintf(d->out, "\"%s\":[", name);
	for (uint32_t node = top; (node = forest_next(f, top, node, &depth)) != HASH_NONE;) {
		const struct forest_node *n = &f->nodes[node];
		uint64_t value = column == COLUMN_DEPTH	  ? depth - 1
				 : column == COLUMN_TOTAL ? n->total
							  : n->threads;
		uint32_t number;

		if (column == COLUMN_SYMBOL) {
			err = number_symbol(d, n->key, &number);
			if (err)
				return err;
			value = number;
		}
		put_element(d->out, first, value);
		first = false;
	}
	putc(']', d->out);
	return 0;
}

static int put_process(struct data *d, uint32_t node, uint64_t on_cpu_ns)
{
	const struct forest_node *n = &d->forest.nodes[node];
	const struct model_process *p = &d->m->processes[n->key];
	char container[WORKLOAD_BYTES];
	FILE *out = d->out;
	int err;

	fprintf(out, "{\"pid\":%u,\"nsPid\":%u", p->tgid, p->ns_pid);
	put_string(out, ",", "name", p->name);
	put_string(out, ",", "comm", p->comm);
	put_string(out, ",", "unit", p->unit);
	workload_container(p, container);
	put_string(out, ",", "container", container);
	put_bool(out, "dotnet", p->flags & PROCESS_DOTNET);
	put_bool(out, "self", p->flags & PROCESS_SELF);
	put_number(out, "samples", n->total);
	put_number(out, "threads", n->threads);
	put_number(out, "onCpuNs", on_cpu_ns);
	fputs(",\n\"nodes\":{", out);
	err = put_column(d, "symbol", node, COLUMN_SYMBOL);
	fputs(",\n", out);
	if (!err)
		err = put_column(d, "depth", node, COLUMN_DEPTH);
	fputs(",\n", out);
	if (!err)
		err = put_column(d, "total", node, COLUMN_TOTAL);
	fputs(",\n", out);
	if (!err)
		err = put_column(d, "threads", node, COLUMN_THREADS);
	fputs("}}", out);
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
	fputs(",\n\"processes\":[", d->out);
	for (; !err && node != HASH_NONE; node = d->forest.nodes[node].next_sibling, row++) {
		fputs(row ? ",\n" : "\n", d->out);
		if (d->forest.nodes[node].key == first_process)
			first = row;
		err = put_process(d, node, on_cpu_ns[d->forest.nodes[node].key]);
	}
	free(on_cpu_ns);
	fputs("],\n\"first\":", d->out);
	if (first == MODEL_NONE)
		fputs("null", d->out);
	else
		fprintf(d->out, "%u", first);
	return err;
}

static int put_string_column(struct data *d, const char *key, size_t offset)
{
	fprintf(d->out, "\"%s\":[", key);
	for (size_t i = 0; i < d->symbols_cnt; i++) {
		const char *symbol = (const char *)&d->m->symbols[d->symbols[i]];
		uint32_t number;
		int err = number_string(d, *(const char *const *)(symbol + offset), &number);

		if (err)
			return err;
		put_element(d->out, !i, number);
	}
	fputs("],\n", d->out);
	return 0;
}

static void put_figures(struct data *d)
{
	fputs("\"kind\":[", d->out);
	for (size_t i = 0; i < d->symbols_cnt; i++)
		put_element(d->out, !i, d->m->symbols[d->symbols[i]].kind);
	fputs("],\n\"reason\":[", d->out);
	for (size_t i = 0; i < d->symbols_cnt; i++)
		put_element(d->out, !i, d->m->symbols[d->symbols[i]].reason);
	fputs("],\n\"application\":[", d->out);
	for (size_t i = 0; i < d->symbols_cnt; i++)
		put_element(d->out, !i, d->m->symbols[d->symbols[i]].application);
	fputs("],\n", d->out);
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

/* The arrays later and tiers. Frames of cut stacks may have a tier and no number: they sort last
 * and are left out. */
static int put_tiers(struct data *d)
{
	size_t at = 0;

	if (d->tiers_cnt)
		qsort_r(d->tiers, d->tiers_cnt, sizeof(*d->tiers), compare_tiers, d);
	fputs("\"later\":[", d->out);
	for (size_t i = 0; i < d->symbols_cnt; i++) {
		uint64_t later = 0;

		for (; at < d->tiers_cnt && d->number[d->tiers[at].symbol] == i; at++)
			later += d->tiers[at].later;
		put_element(d->out, !i, later);
	}
	fputs("],\n\"tiers\":[", d->out);
	at = 0;
	for (size_t i = 0; i < d->symbols_cnt; i++) {
		const char *before = "[";
		uint32_t number;

		fputs(i ? "," : "", d->out);
		for (; at < d->tiers_cnt && d->number[d->tiers[at].symbol] == i; at++) {
			int err = *d->tiers[at].tier ? number_string(d, d->tiers[at].tier, &number)
						     : 0;

			if (err)
				return err;
			if (!*d->tiers[at].tier)
				continue;
			fprintf(d->out, "%s[%u,%llu]", before, number,
				(unsigned long long)d->tiers[at].frames);
			before = ",";
		}
		fputs(*before == '[' ? "0" : "]", d->out);
	}
	putc(']', d->out);
	return 0;
}

static int put_symbols(struct data *d)
{
	int err;

	fputs(",\n\"symbols\":{", d->out);
	err = put_string_column(d, "name", offsetof(struct model_symbol, name));
	if (!err)
		err = put_string_column(d, "raw", offsetof(struct model_symbol, raw));
	if (!err)
		err = put_string_column(d, "module", offsetof(struct model_symbol, module));
	put_figures(d);
	if (!err)
		err = put_tiers(d);
	fputs("},\n\"strings\":[", d->out);
	for (size_t i = 0; i < d->strings_cnt; i++) {
		fputs(i ? ",\n" : "", d->out);
		text_put_json(d->out, d->strings[i], strlen(d->strings[i]));
	}
	fputs("]", d->out);
	return err;
}

static int put_all(struct data *d, const struct flame_options *options)
{
	uint64_t samples = d->forest.nodes_cnt ? d->forest.nodes[0].total : 0;
	struct totals *totals = totals_new(d->m);
	int err;

	if (!totals)
		return -ENOMEM;

	fputs("{\"format\":\"hotrun-flame\",\"version\":1", d->out);
	put_number(d->out, "samples", samples);
	put_number(d->out, "cut", d->forest.cut);
	put_bool(d->out, "rawNames", d->m->raw_names);
	put_bool(d->out, "justMyCode", d->m->just_my_code);
	put_host(d);
	put_books(d, totals);
	put_losses(d, totals);
	totals_free(totals);
	put_reasons(d);
	err = put_processes(d, options->process);
	if (!err)
		err = put_symbols(d);
	fputs("}\n", d->out);
	return err;
}

int flame_write_data(FILE *out, struct model *m, const struct flame_options *options)
{
	struct data d = {.out = out, .m = m};
	int err = gather(&d, options->addresses);

	if (!err)
		err = put_all(&d, options);
	forest_clear(&d.forest);
	hash_clear(&d.tier_index);
	hash_clear(&d.string_index);
	free(d.tiers);
	free(d.number);
	free(d.symbols);
	free(d.strings);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}

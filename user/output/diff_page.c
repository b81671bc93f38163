/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The difference as the flame graph page has it: the data block (output/flame.h) of both sides. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "output/diff.h"
#include "output/flame_internal.h"

#define SLICE_NS 1000000000u
/* Columns of the text that lies within the page. */
#define TEXT_WIDTH 130
/* Of what the other formats say: names and rows are cut, but processes may be any number. */
#define SAID_MAX (64u << 20)

struct block {
	const struct diff *d;
	const struct diff_beside *beside;
	const struct diff_options *o;
	struct varints columns[COLUMN_CNT];
	uint32_t *rows;	 /* nodes, by diff_nodes_by_size() */
	uint32_t *first; /* by node: where its callees begin in rows; one more at the end */
	uint32_t *order; /* nodes as they are numbered */
	size_t order_cnt;
	char *document, *text;
};

/* --- stacks ----------------------------------------------------------------------------------- */

/* All in preorder, which is how they are numbered. */
static int put_nodes(struct block *k)
{
	const struct diff_book *b = k->d->book;
	_cleanup_free_ uint32_t *open = calloc(b->nodes_cnt + 1, sizeof(*open));
	size_t depth = 0, before = 0;

	if (!open)
		return -ENOMEM;
	open[0] = k->first[0];
	for (uint32_t at = 0;;) { /* a node whose callees come now, depth levels below the root */
		uint32_t node;

		if (open[depth] == k->first[at + 1]) {
			if (!depth)
				return 0;
			depth--;
			at = b->nodes[at].parent;
			continue;
		}
		node = k->rows[open[depth]++];
		FLAME_PUT(k, NODE_UP, before + 1 - (depth + 1));
		FLAME_PUT(k, NODE_SYMBOL, b->nodes[node].method);
		k->order[k->order_cnt++] = node;
		before = ++depth;
		open[depth] = k->first[node];
		at = node;
	}
}

static int number_nodes(struct block *k)
{
	const struct diff_book *b = k->d->book;

	k->rows = diff_nodes_by_size(b);
	k->first = calloc(b->nodes_cnt + 2, sizeof(*k->first));
	k->order = calloc(b->nodes_cnt + 1, sizeof(*k->order));
	if (!k->rows || !k->first || !k->order)
		return -ENOMEM;
	/* rows[0] is the root, which nobody calls. */
	for (size_t i = 1; i < b->nodes_cnt; i++)
		k->first[b->nodes[k->rows[i]].parent + 1]++;
	k->first[0] = 1;
	for (size_t i = 1; i <= b->nodes_cnt; i++)
		k->first[i] += k->first[i - 1];
	return put_nodes(k);
}

/* Where each side spent its time, as the samples of a second of its own. */
static void put_samples(struct block *k)
{
	const struct diff_book *b = k->d->book;
	uint64_t cnt = 0;

	for (int at = 0; at < DIFF_SIDES; at++) {
		FLAME_RISE(k, SLICE_CPU_FROM, cnt);
		for (size_t i = 0; i < k->order_cnt; i++) {
			uint64_t ticks = b->nodes[k->order[i]].all[at][DIFF_SELF];

			if (!ticks)
				continue;
			FLAME_RISE(k, CPU_SLOT, (uint64_t)at);
			FLAME_PUT(k, CPU_NODE, i);
			FLAME_PUT(k, CPU_THREAD, diff_book_kind_of_node(b, k->order[i]));
			FLAME_PUT(k, CPU_WEIGHT, ticks);
			FLAME_PUT(k, CPU_WAITERS, 0);
			cnt++;
		}
		FLAME_RISE(k, SLICE_START, (uint64_t)at * SLICE_NS);
		FLAME_RISE(k, SLICE_LENGTH, SLICE_NS);
		FLAME_RISE(k, SLICE_CPU_TO, cnt);
		FLAME_RISE(k, SLICE_ELAPSED, 0);
		FLAME_RISE(k, SLICE_BLOCKED_FROM, 0);
		FLAME_RISE(k, SLICE_BLOCKED_TO, 0);
		for (int c = COLUMN_SLICE_IDLE; c <= COLUMN_SLICE_LOST; c++)
			varints_put(&k->columns[c], 0);
	}
}

/* Of strings 0 is "", then each method has two, its name and its module. */
static void put_symbols(struct block *k)
{
	const struct diff_book *b = k->d->book;

	for (uint32_t i = 0; i < b->methods_cnt; i++) {
		const struct model_symbol *s = diff_book_symbol(b, i);

		FLAME_RISE(k, SYMBOL_NAME, 2 * i + 1);
		FLAME_RISE(k, SYMBOL_RAW, 2 * i + 1);
		FLAME_PUT(k, SYMBOL_MODULE, 2 * i + 2);
		FLAME_PUT(k, SYMBOL_KIND, s->kind);
		FLAME_PUT(k, SYMBOL_REASON, s->reason);
		FLAME_PUT(k, SYMBOL_APPLICATION, s->application);
		FLAME_PUT(k, SYMBOL_LATER, 0);
	}
	for (uint32_t i = 0; i < b->kinds_cnt; i++) {
		FLAME_PUT(k, THREAD_PROCESS, i);
		FLAME_PUT(k, THREAD_TID, 0);
		FLAME_PUT(k, THREAD_NAME, 0);
		FLAME_PUT(k, THREAD_ROLE, 0);
	}
}

/* --- the document ----------------------------------------------------------------------------- */

static void put_host(struct json *j, const struct diff *d)
{
	const struct diff_side *before = &d->book->sides[DIFF_BEFORE],
			       *after = &d->book->sides[DIFF_AFTER];

	json_object(j, "host");
	json_string(j, "name", after->m->host.name);
	json_string(j, "version", after->m->host.version);
	json_count(j, "cpus", after->m->host.cpus_online);
	json_count(j, "hz", after->m->host.sample_hz);
	json_real(j, "ticksPerSample",
		  before->ticks_of > after->ticks_of ? before->ticks_of : after->ticks_of);
	json_count(j, "startUnixMs", 0);
	json_count(j, "durationNs", (uint64_t)DIFF_SIDES * SLICE_NS);
	json_flag(j, "complete", true);
	json_end(j);
}

static void put_reasons(struct json *j)
{
	json_array(j, "reasons");
	for (int reason = 0; reason < REASON_CNT; reason++) {
		json_object(j, NULL);
		json_string(j, "text", model_reason_text(reason));
		json_string(j, "remedy", "");
		json_end(j);
	}
	json_end(j);
}

static void put_kinds(struct json *j, const struct diff *d)
{
	static const char *const none[] = {"comm",	"unit",	  "container", "pod",
					   "namespace", "cgroup", "workload"};
	const struct diff_book *b = d->book;

	json_array(j, "processes");
	for (size_t i = 0; i < b->kinds_cnt; i++) {
		const struct diff_kind *kind = &b->kinds[i];

		json_object(j, NULL);
		json_count(j, "pid", 0);
		json_string(j, "name", kind->name);
		for (size_t n = 0; n < sizeof(none) / sizeof(*none); n++)
			json_string(j, none[n], "");
		json_count(j, "samples",
			   (uint64_t)(kind->all_ticks[DIFF_BEFORE] + kind->all_ticks[DIFF_AFTER]));
		json_count(j, "blockedMs", 0);
		json_count(j, "onCpuNs",
			   (uint64_t)((kind->all_cpu_s[DIFF_BEFORE] + kind->all_cpu_s[DIFF_AFTER]) *
				      1e9));
		json_end(j);
	}
	json_end(j);
}

static void put_each(struct json *j, const char *key, double before, double after)
{
	json_array(j, key);
	json_precise(j, NULL, before);
	json_precise(j, NULL, after);
	json_end(j);
}

static void put_diff(struct json *j, const struct block *k)
{
	const struct diff *d = k->d;
	const struct diff_side *before = &d->book->sides[DIFF_BEFORE],
			       *after = &d->book->sides[DIFF_AFTER];

	json_object(j, "diff");
	json_array(j, "names");
	for (int at = 0; at < DIFF_SIDES; at++)
		json_string(j, NULL, k->o->names[at]);
	json_end(j);
	put_each(j, "ticksOf", before->ticks_of, after->ticks_of);
	put_each(j, "drift", diff_drift_share(before), diff_drift_share(after));
	put_each(j, "seconds", before->all_seconds, after->all_seconds);
	json_array(j, "kinds");
	for (uint32_t i = 0; i < d->book->kinds_cnt; i++) {
		json_object(j, NULL);
		json_string(j, "per", diff_per_ids[d->kinds[i].per]);
		put_each(j, "tick", diff_of_tick(d, i, DIFF_BEFORE),
			 diff_of_tick(d, i, DIFF_AFTER));
		json_end(j);
	}
	json_end(j);
	json_string(j, "document", k->document);
	json_string(j, "report", k->text);
	json_end(j);
}

static void put_strings(struct json *j, const struct diff_book *b)
{
	json_array(j, "strings");
	json_string(j, NULL, "");
	for (uint32_t i = 0; i < b->methods_cnt; i++) {
		json_string(j, NULL, diff_book_symbol(b, i)->name);
		json_string(j, NULL, diff_book_symbol(b, i)->module);
	}
	json_end(j);
}

static int put_json(const struct block *k, FILE *out)
{
	const struct diff_book *b = k->d->book;
	struct json j;

	json_begin_compact(&j, out);
	json_string(&j, "format", "hotrun-flame");
	json_count(&j, "version", 2);
	json_string(&j, "weight", "cpu");
	json_flag(&j, "hasBlocked", false);
	json_count(&j, "samples",
		   b->nodes[0].all[DIFF_BEFORE][DIFF_TOTAL] +
			   b->nodes[0].all[DIFF_AFTER][DIFF_TOTAL]);
	json_count(&j, "blockedMs", 0);
	json_count(&j, "cut", b->nodes_dropped);
	json_flag(&j, "rawNames", b->sides[DIFF_AFTER].m->raw_names);
	json_flag(&j, "justMyCode", false);
	json_count(&j, "slotNs", SLICE_NS);
	json_null(&j, "first");
	put_host(&j, k->d);
	json_object(&j, "books");
	json_flag(&j, "known", false);
	json_end(&j);
	json_array(&j, "losses");
	json_end(&j);
	put_reasons(&j);
	put_kinds(&j, k->d);
	json_array(&j, "endpoints");
	json_end(&j);
	json_array(&j, "responseSlotsNs");
	json_end(&j);
	put_diff(&j, k);
	put_strings(&j, b);
	flame_put_columns(&j, k->columns);
	return json_finish(&j);
}

/* What the other formats say, as a text. */
static int read_format(char **ret_text, const struct block *k,
		       int (*write)(FILE *out, const struct diff *d,
				    const struct diff_beside *beside,
				    const struct diff_options *options))
{
	struct diff_options options = *k->o;
	size_t len = 0;
	FILE *out = open_memstream(ret_text, &len);
	int err;

	if (!out)
		return -ENOMEM;
	options.width = TEXT_WIDTH;
	options.brief = true;
	err = write(out, k->d, k->beside, &options);
	if (fclose(out) || !*ret_text)
		return -ENOMEM;
	return err ?: len > SAID_MAX ? -E2BIG : 0;
}

static int write_block(struct block *k, FILE *out)
{
	char *json = NULL;
	size_t len = 0;
	FILE *text;
	int err = number_nodes(k);

	if (!err)
		err = read_format(&k->document, k, diff_write_json);
	if (!err)
		err = read_format(&k->text, k, diff_write_text);
	if (err)
		return err;
	put_samples(k);
	put_symbols(k);
	text = open_memstream(&json, &len);
	err = text ? put_json(k, text) : -ENOMEM;
	if (text && fclose(text))
		err = -ENOMEM;
	if (!err)
		err = flame_put_parts(out, json, len, k->columns);
	free(json);
	return err;
}

int diff_write_data(FILE *out, const struct diff *d, const struct diff_beside *beside,
		    const struct diff_options *options)
{
	struct block k = {.d = d, .beside = beside, .o = options};
	int err = write_block(&k, out);

	for (int i = 0; i < COLUMN_CNT; i++)
		varints_clear(&k.columns[i]);
	free(k.rows);
	free(k.first);
	free(k.order);
	free(k.document);
	free(k.text);
	return err;
}

struct page {
	const struct diff *d;
	const struct diff_beside *beside;
	const struct diff_options *options;
};

static int write_data(FILE *out, void *ctx)
{
	const struct page *p = ctx;

	return diff_write_data(out, p->d, p->beside, p->options);
}

int diff_write_page(FILE *out, const struct diff *d, const struct diff_beside *beside,
		    const struct diff_options *options)
{
	struct page page = {d, beside, options};

	return flame_write_page(out, write_data, &page);
}

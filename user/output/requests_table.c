/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/requests_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "output/figures.h"
#include "output/followed_words.h"
#include "output/histogram.h"
#include "output/label.h"
#include "output/verdict_words.h"
#include "output/words.h"

/* Ports with another threshold that are told. */
#define NAMES_OTHERS 8

struct listing {
	FILE *out;
	const struct model *m;
	struct requests_table_options o; /* with the defaults filled in */
	struct requests *r;
	uint32_t *rows; /* endpoints */
	size_t rows_cnt, all_cnt;
	struct table table;
};

/* --- which ----------------------------------------------------------------------------------- */

struct candidate {
	uint32_t row;
	uint64_t stuck, answered, open;
};

static int by_harm(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int c = COMPARE(y->stuck, x->stuck);

	if (!c)
		c = COMPARE(y->answered, x->answered);
	if (!c)
		c = COMPARE(y->open, x->open);
	return c ? c : COMPARE(x->row, y->row);
}

static bool is_one_of(uint32_t process, const uint32_t *processes, size_t cnt)
{
	if (!processes)
		return true;
	for (size_t i = 0; i < cnt; i++)
		if (processes[i] == process)
			return true;
	return false;
}

/* A listening socket that nobody spoke to has nothing to tell. */
static bool is_told(const struct requests_sum *s)
{
	const struct model_served *v = &s->served;

	return s->endpoints &&
	       (v->begun || v->answered || v->abandoned || v->pushed || v->refused ||
		v->connections || s->open || s->incomplete || s->oldest_max_ns || s->queued_max);
}

uint32_t *requests_table_endpoints(const struct requests *r, const uint32_t *processes,
				   size_t process_cnt, size_t cnt, size_t *ret_cnt, size_t *ret_all)
{
	size_t all = r->m->endpoints_cnt, n = 0;
	_cleanup_free_ struct candidate *candidates = calloc(all + 1, sizeof(*candidates));
	uint32_t *rows = calloc((all < cnt ? all : cnt) + 1, sizeof(*rows));

	if (!candidates || !rows) {
		free(rows);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < all; i++) {
		const struct requests_sum *s = &r->endpoints[i];

		if (!is_told(s) || !is_one_of(r->m->endpoints[i].process, processes, process_cnt))
			continue;
		candidates[n++] = (struct candidate){i, s->stuck_max, s->served.answered, s->open};
	}
	qsort(candidates, n, sizeof(*candidates), by_harm);
	*ret_all = n;
	*ret_cnt = n < cnt ? n : cnt;
	for (size_t i = 0; i < *ret_cnt; i++)
		rows[i] = candidates[i].row;
	return rows;
}

/* "Shop.Api (shop.service), port 8080" */
static size_t put_endpoint(const struct listing *t, const struct model_endpoint *e, size_t columns)
{
	char name[NAME_BYTES], port[24];
	size_t n;

	n = (size_t)snprintf(port, sizeof(port), ", port %u", e->port);
	label_process(name, &t->m->processes[e->process], columns - n);
	fprintf(t->out, "%s%s", name, port);
	return n + text_columns(name);
}

/* --- the table ------------------------------------------------------------------------------- */

static const struct figure figure_port = {"port", "port", AS_ID,
					  FIELD(struct model_endpoint, port)};

/* Those with a rank are shown where they leave names enough room. */
static const struct column columns[] = {
	{&figure_answers, .width = 10},
	{&figure_time_p50, .width = 9},
	{&figure_time_p99, .width = 9},
	{&figure_time_max, .width = 9, .rank = 2},
	{&figure_slow, .width = 8},
	{&figure_score, .width = 6, .rank = 5},
	{&figure_open, .width = 7, .rank = 1},
	{&figure_oldest, .width = 9},
	{&figure_stuck, .width = 7},
	{&figure_queue, .width = 11, .rank = 3},
	{&figure_refused, .width = 8, .rank = 4},
	{&figure_process, .left = true, .gap = 2, .least = 18},
	{&figure_port, .width = 6},
	{&figure_pid, .width = 8},
};

static void put_row(const struct listing *t, uint32_t row)
{
	const struct model_endpoint *e = &t->m->endpoints[row];
	struct subject s = {
		.m = t->m,
		.elapsed_ns = t->r->elapsed_ns,
		.process = &t->m->processes[e->process],
		.requests = &t->r->endpoints[row],
		.item = e,
	};

	table_put_row(t->out, &t->table, &s);
}

/* --- below it -------------------------------------------------------------------------------- */

/* The threshold of most rows is that of the first one; ports with another are named. */
static void put_slow(const struct listing *t)
{
	const struct model_endpoint *first = &t->m->endpoints[t->rows[0]];
	char text[64 + NAMES_OTHERS * (NUMBER_BYTES + 24)];
	unsigned int others = 0;
	size_t n;

	n = (size_t)snprintf(text, sizeof(text),
			     "slow: answered, or unanswered, after more than %s",
			     number_time(first->slow_ns).text);
	for (size_t i = 1; i < t->rows_cnt && others < NAMES_OTHERS; i++) {
		const struct model_endpoint *e = &t->m->endpoints[t->rows[i]];

		if (e->slow_ns == first->slow_ns)
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s port %u %s",
				      others ? "," : ";", e->port, number_time(e->slow_ns).text);
		others++;
	}
	fputs("  ", t->out);
	words_put(t->out, t->o.width, text, 2, 2);
}

static void put_note(const struct listing *t, uint32_t row, const char *note)
{
	size_t at;

	fputs("  ", t->out);
	at = 2 + put_endpoint(t, &t->m->endpoints[row], t->o.width / 2);
	fputs(": ", t->out);
	words_put(t->out, t->o.width, note, at + 2, 4);
}

static void put_followed(const struct listing *t)
{
	char text[FOLLOWED_WORDS_BYTES];
	struct followed followed;

	followed_of(t->m, &followed);
	if (followed_words(text, &followed)) {
		fputs("  ", t->out);
		words_put(t->out, t->o.width, text, 2, 2);
	}
	if (sockets_age_words(text, &followed)) {
		fputs("  ", t->out);
		words_put(t->out, t->o.width, text, 2, 2);
	}
}

static void put_notes(const struct listing *t)
{
	for (size_t i = 0; i < t->rows_cnt; i++) {
		const struct requests_sum *s = &t->r->endpoints[t->rows[i]];
		const char *blur = requests_blur(s);
		char text[VERDICT_WORDS_BYTES], slow[FOLLOWED_WORDS_BYTES];

		if (slow_error_words(slow, s))
			put_note(t, t->rows[i], slow);
		if (unanswered_words(text, s))
			put_note(t, t->rows[i], text);
		if (blur)
			put_note(t, t->rows[i], blur);
	}
}

/* --- one endpoint with all that is known of it ------------------------------------------------ */

/* Rows by powers of two: 0-1, 2-3, 4-7 us, ... of the four slots that each of the later ones
 * has. */
#define HISTOGRAM_ROWS (2 + (RESPONSE_SLOTS - 4) / 4)

static void fold_times(const uint64_t times[RESPONSE_SLOTS], uint64_t ret_rows[HISTOGRAM_ROWS])
{
	memset(ret_rows, 0, HISTOGRAM_ROWS * sizeof(*ret_rows));
	for (unsigned int i = 0; i < RESPONSE_SLOTS; i++)
		ret_rows[i < 4 ? i / 2 : 2 + (i - 4) / 4] += times[i];
}

static void put_details(const struct listing *t, uint32_t row)
{
	const struct model_endpoint *e = &t->m->endpoints[row];
	const struct requests_sum *s = &t->r->endpoints[row];
	const struct model_served *v = &s->served;
	char address[NAME_BYTES], protocols[REQUESTS_PROTOCOLS_BYTES], line[8 * NUMBER_BYTES];
	uint64_t times[HISTOGRAM_ROWS];
	bool v6 = strchr(e->address, ':') != NULL;

	putc('\n', t->out);
	put_endpoint(t, e, t->o.width - 20);
	fprintf(t->out, ", pid %u\n", t->m->processes[e->process].tgid);
	label_name(address, e->address, 48, CUT_END);
	requests_protocols_text(protocols, s->protocols);
	fprintf(t->out, "  listens at %s%s%s:%u · speaks %s\n", v6 ? "[" : "",
		*address ? address : "?", v6 ? "]" : "", e->port,
		*protocols ? protocols : "not known");
	snprintf(line, sizeof(line),
		 "%s new connections · %s requests, %s answered, %s ended without an answer · %s "
		 "bytes in, %s out",
		 number_count(v->connections).text, number_count(v->begun).text,
		 number_count(v->answered).text, number_count(v->abandoned).text,
		 number_count(v->received_bytes).text, number_count(v->sent_bytes).text);
	fputs("  ", t->out);
	words_put(t->out, t->o.width, line, 2, 2);
	if (v->answered)
		fprintf(t->out, "  mean %s · %s slow, of these %s over %s\n",
			number_time(v->time_ns / v->answered).text, number_count(v->slow).text,
			number_count(v->very_slow).text, number_time(4 * e->slow_ns).text);
	fold_times(s->times, times);
	histogram_put(t->out, times, HISTOGRAM_ROWS);
}

/* --------------------------------------------------------------------------------------------- */

static void put_head(const struct listing *t)
{
	const struct model *m = t->m;
	char name[NAME_BYTES];

	label_name(name, m->host.name, 40, CUT_END);
	fputs(name, t->out);
	if (m->slices_cnt)
		fprintf(t->out, " · %s",
			number_utc(((int64_t)m->slices[0].start_ns + m->slices[0].wall_offset_ns) /
				   1000000000)
				.text);
	fprintf(t->out, " · %s · ", number_time(t->r->elapsed_ns).text);
	if (t->all_cnt)
		fprintf(t->out, "%s endpoint%s served\n", number_count(t->all_cnt).text,
			t->all_cnt == 1 ? "" : "s");
	else
		fputs("no request, and none unanswered\n", t->out);
}

static void put_table(const struct listing *t)
{
	table_put_titles(t->out, &t->table);
	for (size_t i = 0; i < t->rows_cnt; i++)
		put_row(t, t->rows[i]);
	if (t->rows_cnt < t->all_cnt)
		fprintf(t->out, "  … %s more, with fewer answers and none stuck longer\n",
			number_count(t->all_cnt - t->rows_cnt).text);
	put_slow(t);
	if (t->m->slices_cnt > 1)
		fprintf(t->out, "  %soldest, stuck%s: the most at the end of a second\n",
			table_shows(&t->table, &figure_open) ? "open: at the end; " : "",
			table_shows(&t->table, &figure_queue) ? ", queue" : "");
	put_followed(t);
	put_notes(t);
	for (size_t i = 0; t->o.verbose && i < t->rows_cnt; i++)
		put_details(t, t->rows[i]);
}

int requests_table_write(FILE *out, const struct model *m,
			 const struct requests_table_options *options)
{
	struct listing t = {.out = out, .m = m};
	int err = 0;

	if (options)
		t.o = *options;
	t.o.width = t.o.width ?: REQUESTS_TABLE_DEFAULT_WIDTH;
	if (t.o.width < REQUESTS_TABLE_MIN_WIDTH)
		t.o.width = REQUESTS_TABLE_MIN_WIDTH;
	t.o.rows = t.o.rows ?: 20;
	t.r = requests_new(m);
	if (t.r)
		t.rows = requests_table_endpoints(t.r, t.o.processes, t.o.process_cnt, t.o.rows,
						  &t.rows_cnt, &t.all_cnt);
	if (!t.rows) {
		err = -ENOMEM;
	} else {
		TABLE_LAY_OUT(&t.table, columns, t.o.width, 0);
		put_head(&t);
		if (t.rows_cnt)
			put_table(&t);
	}
	free(t.rows);
	requests_free(t.r);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/requests_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/label.h"
#include "output/verdict_words.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#define RATE_COLUMNS  10
#define TIME_COLUMNS  9
#define SLOW_COLUMNS  8
#define SCORE_COLUMNS 6
#define OPEN_COLUMNS  7
#define QUEUE_COLUMNS 11
#define DROP_COLUMNS  6
#define PORT_COLUMNS  6
#define PID_COLUMNS   8
/* Answers, p50, p99, slow, oldest and stuck are always there; the others where they leave names enough
 * room. */
#define ALWAYS_COLUMNS                                                                      \
	(RATE_COLUMNS + 3 * TIME_COLUMNS + SLOW_COLUMNS + OPEN_COLUMNS + 2 + PORT_COLUMNS + \
	 PID_COLUMNS)
#define NAME_MIN 18
/* Ports with another threshold that are told. */
#define NAMES_OTHERS 8

struct table {
	FILE *out;
	const struct model *m;
	struct requests_table_options o; /* with the defaults filled in */
	struct requests *r;
	uint32_t *rows; /* endpoints */
	size_t rows_cnt, all_cnt;
	bool open, longest, queue, drops, score; /* columns that there is room for */
	size_t name;				 /* columns of a name */
};

/* --- which ----------------------------------------------------------------------------------- */

struct candidate {
	uint32_t row;
	uint64_t stuck, answered, in_progress;
};

static int by_harm(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int c = COMPARE(y->stuck, x->stuck);

	if (!c)
		c = COMPARE(y->answered, x->answered);
	if (!c)
		c = COMPARE(y->in_progress, x->in_progress);
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
	       (v->begun || v->answered || v->abandoned || v->pushed || v->drops ||
		v->connections || s->in_progress || s->oldest_max_ns || s->queued_max);
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
		candidates[n++] =
			(struct candidate){i, s->stuck_max, s->served.answered, s->in_progress};
	}
	qsort(candidates, n, sizeof(*candidates), by_harm);
	*ret_all = n;
	*ret_cnt = n < cnt ? n : cnt;
	for (size_t i = 0; i < *ret_cnt; i++)
		rows[i] = candidates[i].row;
	return rows;
}

/* --- words ----------------------------------------------------------------------------------- */

/* Words of ours, broken at spaces to the width, later lines indented; at: columns used already. */
static void put_words(const struct table *t, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > indent && at + 1 + len > t->o.width) {
			putc('\n', t->out);
			label_put_left(t->out, "", indent);
			at = indent;
		} else if (at > indent) {
			putc(' ', t->out);
			at++;
		}
		fwrite(text, 1, len, t->out);
		at += len;
		text += len;
		text += strspn(text, " ");
	}
	putc('\n', t->out);
}

/* "Shop.Api (shop.service), port 8080" */
static size_t put_endpoint(const struct table *t, const struct model_endpoint *e, size_t columns)
{
	char name[NAME_BYTES], port[24];
	size_t n;

	n = (size_t)snprintf(port, sizeof(port), ", port %u", e->port);
	label_process(name, &t->m->processes[e->process], columns - n);
	fprintf(t->out, "%s%s", name, port);
	return n + text_columns(name);
}

/* --- the table ------------------------------------------------------------------------------- */

/* Whether the next column fits as well; takes its room then. */
static bool fits(size_t *room, size_t columns)
{
	if (*room < columns + NAME_MIN)
		return false;
	*room -= columns;
	return true;
}

static void lay_out(struct table *t)
{
	t->name = t->o.width - ALWAYS_COLUMNS;
	t->open = fits(&t->name, OPEN_COLUMNS);
	t->longest = t->open && fits(&t->name, TIME_COLUMNS);
	t->queue = t->longest && fits(&t->name, QUEUE_COLUMNS);
	t->drops = t->queue && fits(&t->name, DROP_COLUMNS);
	t->score = t->drops && fits(&t->name, SCORE_COLUMNS);
}

static void put_titles(const struct table *t)
{
	label_put_right(t->out, "answers/s", RATE_COLUMNS);
	label_put_right(t->out, "p50", TIME_COLUMNS);
	label_put_right(t->out, "p99", TIME_COLUMNS);
	if (t->longest)
		label_put_right(t->out, "longest", TIME_COLUMNS);
	label_put_right(t->out, "slow", SLOW_COLUMNS);
	if (t->score)
		label_put_right(t->out, "score", SCORE_COLUMNS);
	if (t->open)
		label_put_right(t->out, "open", OPEN_COLUMNS);
	label_put_right(t->out, "oldest", TIME_COLUMNS);
	label_put_right(t->out, "stuck", OPEN_COLUMNS);
	if (t->queue)
		label_put_right(t->out, "queue", QUEUE_COLUMNS);
	if (t->drops)
		label_put_right(t->out, "drops", DROP_COLUMNS);
	fputs("  ", t->out);
	label_put_left(t->out, "process", t->name);
	label_put_right(t->out, "port", PORT_COLUMNS);
	label_put_right(t->out, "pid", PID_COLUMNS);
	putc('\n', t->out);
}

static void put_count(const struct table *t, uint64_t n, size_t columns)
{
	label_put_right(t->out, n ? number_count(n).text : "-", columns);
}

static void put_time(const struct table *t, uint64_t ns)
{
	label_put_right(t->out, ns ? number_time(ns).text : "-", TIME_COLUMNS);
}

static void put_rate(const struct table *t, uint64_t cnt)
{
	double rate = t->r->elapsed_ns ? (double)cnt * 1e9 / (double)t->r->elapsed_ns : 0;

	if (!cnt)
		label_put_right(t->out, "-", RATE_COLUMNS);
	else if (rate < 10)
		label_put_right(t->out, number_fixed(rate, 1).text, RATE_COLUMNS);
	else
		label_put_right(t->out, number_count((uint64_t)(rate + 0.5)).text, RATE_COLUMNS);
}

static void put_queue(const struct table *t, const struct requests_sum *s)
{
	char text[2 * NUMBER_BYTES];

	snprintf(text, sizeof(text), "%s/%s", number_count(s->queued_max).text,
		 s->backlog ? number_count(s->backlog).text : "?");
	label_put_right(t->out, s->backlog || s->queued_max ? text : "-", QUEUE_COLUMNS);
}

static void put_shares(const struct table *t, const struct requests_sum *s)
{
	bool any = requests_judged(s) > 0;

	label_put_right(t->out, any ? number_percent(requests_slow_share(s)).text : "-",
			SLOW_COLUMNS);
	if (t->score)
		label_put_right(t->out, any ? number_fixed(requests_score(s), 2).text : "-",
				SCORE_COLUMNS);
}

static void put_row(const struct table *t, uint32_t row)
{
	const struct model_endpoint *e = &t->m->endpoints[row];
	const struct model_process *p = &t->m->processes[e->process];
	const struct requests_sum *s = &t->r->endpoints[row];
	char name[NAME_BYTES], number[16];

	put_rate(t, s->served.answered);
	if (s->served.answered) {
		label_put_right(t->out, number_time(requests_time_ns(s, 0.5)).text, TIME_COLUMNS);
		label_put_right(t->out, number_time(requests_time_ns(s, 0.99)).text, TIME_COLUMNS);
	} else {
		put_time(t, 0);
		put_time(t, 0);
	}
	if (t->longest)
		put_time(t, s->time_max_ns);
	put_shares(t, s);
	if (t->open)
		put_count(t, s->in_progress, OPEN_COLUMNS);
	put_time(t, s->oldest_max_ns);
	put_count(t, s->stuck_max, OPEN_COLUMNS);
	if (t->queue)
		put_queue(t, s);
	if (t->drops)
		put_count(t, s->served.drops, DROP_COLUMNS);
	fputs("  ", t->out);
	label_process(name, p, t->name);
	label_put_left(t->out, name, t->name);
	snprintf(number, sizeof(number), "%u", e->port);
	label_put_right(t->out, number, PORT_COLUMNS);
	snprintf(number, sizeof(number), "%u", p->tgid);
	label_put_right(t->out, number, PID_COLUMNS);
	putc('\n', t->out);
}

/* --- below it -------------------------------------------------------------------------------- */

/* The threshold of most rows is that of the first one; ports with another are named. */
static void put_slow(const struct table *t)
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
	put_words(t, text, 2, 2);
}

static void put_note(const struct table *t, uint32_t row, const char *note)
{
	size_t at;

	fputs("  ", t->out);
	at = 2 + put_endpoint(t, &t->m->endpoints[row], t->o.width / 2);
	putc(':', t->out);
	put_words(t, note, at + 1, 4);
}

static void put_notes(const struct table *t)
{
	for (size_t i = 0; i < t->rows_cnt; i++) {
		const struct requests_sum *s = &t->r->endpoints[t->rows[i]];
		const char *blur = requests_blur(s);
		char text[VERDICT_WORDS_BYTES];

		if (unanswered_words(text, s))
			put_note(t, t->rows[i], text);
		if (blur)
			put_note(t, t->rows[i], blur);
	}
}

/* --- one endpoint with all that is known of it ------------------------------------------------- */

#define STARS 40
/* Rows by powers of two: 0-1, 2-3, 4-7 us, ... of the four slots that each of the later ones has. */
#define HISTOGRAM_ROWS (2 + (RESPONSE_SLOTS - 4) / 4)

static void fold_times(const uint64_t times[RESPONSE_SLOTS], uint64_t ret_rows[HISTOGRAM_ROWS])
{
	memset(ret_rows, 0, HISTOGRAM_ROWS * sizeof(*ret_rows));
	for (unsigned int i = 0; i < RESPONSE_SLOTS; i++)
		ret_rows[i < 4 ? i / 2 : 2 + (i - 4) / 4] += times[i];
}

/* As bcc's print_log2_hist does. */
static void put_histogram(const struct table *t, const struct requests_sum *s)
{
	uint64_t rows[HISTOGRAM_ROWS], most = 0;
	unsigned int first = 0, last = 0;

	fold_times(s->times, rows);
	for (unsigned int i = 0; i < HISTOGRAM_ROWS; i++) {
		if (rows[i])
			last = i;
		if (rows[i] > most)
			most = rows[i];
	}
	if (!most)
		return;
	while (!rows[first])
		first++;
	fputs("     usecs                 : count     distribution\n", t->out);
	for (unsigned int i = first; i <= last; i++) {
		int stars = (int)((double)rows[i] / (double)most * STARS);

		fprintf(t->out, "%11llu -> ", i ? 1ull << i : 0);
		if (i + 1 < HISTOGRAM_ROWS)
			fprintf(t->out, "%-11llu", (2ull << i) - 1);
		else
			fputs("longer     ", t->out);
		fprintf(t->out, " : %-8llu |%.*s%*s|\n", (unsigned long long)rows[i], stars,
			"****************************************", STARS - stars, "");
	}
}

static void put_details(const struct table *t, uint32_t row)
{
	const struct model_endpoint *e = &t->m->endpoints[row];
	const struct requests_sum *s = &t->r->endpoints[row];
	const struct model_served *v = &s->served;
	char address[NAME_BYTES], protocols[REQUESTS_PROTOCOLS_BYTES], line[8 * NUMBER_BYTES];
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
	put_words(t, line, 2, 2);
	if (v->answered)
		fprintf(t->out, "  mean %s · %s slow, of these %s over %s\n",
			number_time(v->time_ns / v->answered).text, number_count(v->slow).text,
			number_count(v->very_slow).text, number_time(4 * e->slow_ns).text);
	put_histogram(t, s);
}

/* --------------------------------------------------------------------------------------------- */

static void put_head(const struct table *t)
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

static void put_table(const struct table *t)
{
	put_titles(t);
	for (size_t i = 0; i < t->rows_cnt; i++)
		put_row(t, t->rows[i]);
	if (t->rows_cnt < t->all_cnt)
		fprintf(t->out, "  … %s more, with fewer answers and none stuck longer\n",
			number_count(t->all_cnt - t->rows_cnt).text);
	put_slow(t);
	if (t->m->slices_cnt > 1)
		fprintf(t->out, "  %soldest, stuck%s: the most at the end of a second\n",
			t->open ? "open: at the end; " : "", t->queue ? ", queue" : "");
	put_notes(t);
	for (size_t i = 0; t->o.verbose && i < t->rows_cnt; i++)
		put_details(t, t->rows[i]);
}

int requests_table_write(FILE *out, const struct model *m,
			 const struct requests_table_options *options)
{
	struct table t = {.out = out, .m = m};
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
		lay_out(&t);
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

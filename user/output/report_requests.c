/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How requests fared: a table by process and port, and in the details of a process its times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/share.h"
#include "output/followed_words.h"
#include "output/report_internal.h"
#include "output/verdict_words.h"

#define NOTE_PORTS    6 /* named in one note; the others are counted */
#define SECONDS_SHOWN 8
#define BAR_COLUMNS   30
#define HOUR_NS	      3600000000000ull

/* --- the tables ------------------------------------------------------------------------------ */

struct ports {
	const struct requests_port **rows;
	size_t cnt, shown;
};

static void ports_clear(struct ports *p)
{
	free(p->rows);
}

static bool is_asked(const struct report *r, uint32_t process)
{
	for (size_t i = 0; r->o.processes && i < r->o.process_cnt; i++)
		if (r->o.processes[i] == process)
			return true;
	return false;
}

/* Those of the processes that were asked for, then the others: who hangs is told in any case. 0 or
 * -ENOMEM. */
static int list_ports(const struct report *r, struct ports *p)
{
	p->rows = calloc(r->requests->ports_cnt + 1, sizeof(const struct requests_port *));
	if (!p->rows)
		return -ENOMEM;
	for (int asked = 1; asked >= 0; asked--)
		for (size_t i = 0; i < r->requests->ports_cnt; i++)
			if (is_asked(r, r->requests->ports[i].process) == asked)
				p->rows[p->cnt++] = &r->requests->ports[i];
	p->shown = p->cnt < r->o.rows ? p->cnt : r->o.rows;
	return 0;
}

static struct value received(const struct subject *s)
{
	return value_real(sched_mean(s->requests->served.received_bytes, s->elapsed_ns) * 1e3);
}

static struct value sent(const struct subject *s)
{
	return value_real(sched_mean(s->requests->served.sent_bytes, s->elapsed_ns) * 1e3);
}

static const struct figure figure_port = {"port", "port", AS_ID, FIELD(struct requests_port, port)};
static const struct figure figure_in = {"received_mb_per_s", "in", AS_RATE, .value = received};
static const struct figure figure_out = {"sent_mb_per_s", "out", AS_RATE, .value = sent};

#define WHO                                                                             \
	{&figure_process, .left = true, .gap = 2}, {&figure_pid, .width = PID_COLUMNS}, \
	{                                                                               \
		&figure_port, .width = 7                                                \
	}

static const struct column time_columns[] = {
	{&figure_requests, .width = 8},
	{&figure_time_p50, .width = 9},
	{&figure_time_p99, .width = 9},
	{&figure_time_max, .width = 9},
	{&figure_slow, .width = 9},
	{&figure_score, .width = 7},
	WHO,
};

static const struct column stand_columns[] = {
	{&figure_open, .width = 7},    {&figure_oldest, .width = 9},
	{&figure_stuck, .width = 7},   {&figure_queue, .width = 10},
	{&figure_refused, .width = 8}, {&figure_in, .width = 7},
	{&figure_out, .width = 7},     WHO,
};

static void put_ports(const struct report *r, const struct ports *ports, const struct table *t)
{
	table_put_titles(r->out, t);
	for (size_t i = 0; i < ports->shown; i++) {
		struct subject s = report_subject(r, NULL, NULL);

		s.process = &r->m->processes[ports->rows[i]->process];
		s.requests = &ports->rows[i]->sum;
		s.item = ports->rows[i];
		table_put_row(r->out, t, &s);
	}
	table_put_more(r->out, t, ports->cnt - ports->shown);
}

/* --- notes ----------------------------------------------------------------------------------- */

static void put_note(const struct report *r, const struct words *n)
{
	put_spaces(r, 2);
	put_words(r, n->text, 2, 2);
}

static struct number threshold_text(const struct requests_port *p)
{
	static const struct number several = {"several thresholds"};

	return p->slow_ns ? number_long_time(p->slow_ns) : several;
}

/* "slow: more than T = 500 ms (port 8080: 200 ms)". T is that of the first row. */
static void put_meaning(const struct report *r, const struct ports *ports)
{
	const struct requests_port *first = ports->rows[0];
	struct words n = {0};
	size_t others = 0;

	words_add(&n, "slow: answered after more than T = %s", threshold_text(first).text);
	for (size_t i = 1; i < ports->shown; i++) {
		if (ports->rows[i]->slow_ns == first->slow_ns || ++others > NOTE_PORTS)
			continue;
		words_add(&n, "%s port %u: %s", others == 1 ? " (but" : ",", ports->rows[i]->port,
			  threshold_text(ports->rows[i]).text);
	}
	if (others > NOTE_PORTS)
		words_add(&n, ", and %zu more", others - NOTE_PORTS);
	words_add(&n,
		  "%s, or unanswered for longer; score (Apdex): 1 = all within T, 0 = none within "
		  "4 T.",
		  others ? ")" : "");
	put_note(r, &n);
	n = (struct words){0};
	words_add(&n,
		  "open: unanswered at the end; oldest, stuck (unanswered for over 10 s) and queue "
		  "(to be accepted, of as many as may be): the most at the end of any second. "
		  "refused: connections, by a full queue.");
	put_note(r, &n);
}

/* What is estimated, since not all connections were followed. */
static void put_followed(const struct report *r, const struct ports *ports,
			 const struct followed *followed)
{
	char text[FOLLOWED_WORDS_BYTES];
	struct words n = {0};
	size_t told = 0;

	if (followed_words(text, followed)) {
		words_add(&n, "%s", text);
		put_note(r, &n);
	}
	if (sockets_age_words(text, followed)) {
		n = (struct words){0};
		words_add(&n, "%s", text);
		put_note(r, &n);
	}
	for (size_t i = 0; i < ports->shown && told < NOTE_PORTS; i++) {
		if (!slow_error_words(text, &ports->rows[i]->sum))
			continue;
		told++;
		n = (struct words){0};
		words_add(&n, "port %u: %s", ports->rows[i]->port, text);
		put_note(r, &n);
	}
}

/* Data that stands unanswered, but is no evidence. cnt: the connections of a port. */
static void put_no_evidence(const struct report *r, const struct ports *ports,
			    uint64_t (*cnt)(const struct requests_sum *sum), const char *what)
{
	struct words n = {0};
	uint64_t connections = 0;
	size_t told = 0;

	for (size_t i = 0; i < ports->shown; i++) {
		if (!cnt(&ports->rows[i]->sum))
			continue;
		connections += cnt(&ports->rows[i]->sum);
		if (told++ < NOTE_PORTS)
			words_add(&n, "%s%u", told == 1 ? "port " : ", ", ports->rows[i]->port);
	}
	if (!told)
		return;
	if (told > NOTE_PORTS)
		words_add(&n, " and %zu more", told - NOTE_PORTS);
	words_add(&n, ": on %s connections %s", number_count(connections).text, what);
	put_note(r, &n);
}

static uint64_t unsure_of(const struct requests_sum *sum)
{
	return sum->unsure;
}

static uint64_t incomplete_of(const struct requests_sum *sum)
{
	return sum->incomplete;
}

/* Requests that count neither as fast nor as slow. */
static void put_unanswered(const struct report *r, const struct ports *ports)
{
	for (size_t i = 0; i < ports->shown; i++) {
		char text[VERDICT_WORDS_BYTES];
		struct words n = {0};

		if (!unanswered_words(text, &ports->rows[i]->sum))
			continue;
		words_add(&n, "port %u: %s", ports->rows[i]->port, text);
		put_note(r, &n);
	}
}

static bool told_before(const struct ports *ports, size_t row, const char *blur)
{
	for (size_t i = 0; i < row; i++)
		if (requests_blur(&ports->rows[i]->sum) == blur)
			return true;
	return false;
}

/* "port 8443, 9443: TLS: ..." for each way in which figures of shown rows are blurred. */
static void put_blurs(const struct report *r, const struct ports *ports)
{
	for (size_t i = 0; i < ports->shown; i++) {
		const char *blur = requests_blur(&ports->rows[i]->sum);
		struct words n = {0};
		size_t told = 0;

		if (!blur || told_before(ports, i, blur))
			continue;
		for (size_t k = i; k < ports->shown; k++)
			if (requests_blur(&ports->rows[k]->sum) == blur && told++ < NOTE_PORTS)
				words_add(&n, "%s%u", k == i ? "port " : ", ",
					  ports->rows[k]->port);
		if (told > NOTE_PORTS)
			words_add(&n, " and %zu more", told - NOTE_PORTS);
		words_add(&n, ": %s", blur);
		put_note(r, &n);
	}
}

const char *report_requests_off(const struct report *r)
{
	if (model_requests_why(r->m))
		return model_requests_why(r->m);
	return r->m->slices_cnt ? NULL : "the capture has no slice";
}

int report_requests(const struct report *r)
{
	_cleanup_(ports_clear) struct ports ports = {0};
	struct followed followed;
	struct table t;
	const char *off = report_requests_off(r);
	int err = off ? 0 : list_ports(r, &ports);

	if (err)
		return err;
	followed_of(r->m, &followed);
	put_heading(r,
		    followed.one_of < 2
			    ? "requests: from data arriving to the first answer byte (exact)"
			    : "requests: from data arriving to the first answer byte (estimated)");
	if (off || !ports.cnt) {
		fputs(off ? "  n/a: " : "  ", r->out);
		put_words(r, off ? off : "none were seen", off ? 7 : 2, 2);
		return 0;
	}
	TABLE_OF(&t, time_columns, r, 0);
	put_ports(r, &ports, &t);
	put_heading(r, "requests: unanswered, accept queues, MB a second in and out");
	TABLE_OF(&t, stand_columns, r, 0);
	put_ports(r, &ports, &t);
	put_followed(r, &ports, &followed);
	put_meaning(r, &ports);
	put_unanswered(r, &ports);
	put_blurs(r, &ports);
	put_no_evidence(r, &ports, unsure_of,
			"the last data may want no answer (logs, queues); it does not count as "
			"unanswered");
	put_no_evidence(r, &ports, incomplete_of,
			"a request has not fully arrived: its client has not sent the end of the "
			"header. It does not count as unanswered");
	return 0;
}

/* --- in the details of a process ------------------------------------------------------------- */

static void put_serves(const struct report *r, const struct requests_port *p)
{
	const struct model_served *s = &p->sum.served;
	char protocols[REQUESTS_PROTOCOLS_BYTES], address[NAME_BYTES];
	struct words n = {0};

	requests_protocols_text(protocols, p->sum.protocols);
	/* Of a capture from elsewhere it may be any text. */
	label_name(address, p->address, 46, CUT_MIDDLE);
	words_add(&n, "serves port %u", p->port);
	if (address[0])
		words_add(&n, " at %s", address);
	if (protocols[0])
		words_add(&n, " (%s)", protocols);
	words_add(&n, ": %s requests on %s connections", number_count(s->begun).text,
		  number_count(s->connections).text);
	if (s->abandoned)
		words_add(&n, ", %s ended without an answer", number_count(s->abandoned).text);
	if (s->answered)
		words_add(&n, "; mean time %s", number_long_time(s->time_ns / s->answered).text);
	words_add(&n, "; T %s", threshold_text(p).text);
	put_spaces(r, 3);
	put_words(r, n.text, 3, 5);
}

/* Slots of one power of two (the first four together) share a line. */
#define LINES (RESPONSE_SLOTS / 4)

struct bar {
	uint64_t cnt, all, most;
	uint32_t line;
};

static struct value bar_share(const struct subject *s)
{
	const struct bar *bar = s->item;

	return value_real(share_of(bar->cnt, bar->all));
}

static void bar_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct bar *bar = s->item;
	int stars = (int)(share_of(bar->cnt, bar->most) * BAR_COLUMNS + 0.5);
	uint32_t from = bar->line * 4;

	(void)columns;
	snprintf(text, CELL_BYTES, "%8s to %-10s%.*s", number_time(requests_slot_ns(from)).text,
		 bar->line + 1 < LINES ? number_time(requests_slot_ns(from + 4)).text : "more",
		 stars, "******************************");
}

static const struct figure figure_bar_cnt = {"requests", "requests", AS_COUNT,
					     FIELD(struct bar, cnt)};
static const struct figure figure_bar_share = {"request_share", "share", AS_SHARE,
					       .value = bar_share};
static const struct figure figure_bar = {NULL, "time to the first answer byte", .text = bar_text};

static const struct column bar_columns[] = {
	{&figure_bar_cnt, .width = 10},
	{&figure_bar_share, .width = 10},
	{&figure_bar, .left = true, .gap = 2},
};

static void put_histogram(const struct report *r, const struct requests_sum *sum)
{
	uint64_t lines[LINES] = {0};
	struct bar bar = {0};
	struct table t;

	for (uint32_t slot = 0; slot < RESPONSE_SLOTS; slot++) {
		lines[slot / 4] += sum->times[slot];
		bar.all += sum->times[slot];
	}
	for (size_t i = 0; i < LINES; i++)
		if (lines[i] > bar.most)
			bar.most = lines[i];
	if (!bar.all)
		return;
	TABLE_OF(&t, bar_columns, r, 0);
	put_titles(r, &t);
	for (bar.line = 0; bar.line < LINES; bar.line++) {
		struct subject s = {.m = r->m, .item = &bar};

		bar.cnt = lines[bar.line];
		if (bar.cnt)
			table_put_row(r->out, &t, &s);
	}
}

static struct value second(const struct subject *s)
{
	const struct model_slice *slice = s->item;
	uint64_t start_ns = s->m->host.start_ns;
	uint64_t at_ns = slice->start_ns > start_ns ? slice->start_ns - start_ns : 0;

	if (at_ns / HOUR_NS >= 1000)
		return (struct value){.kind = VALUE_NONE};
	return value_real((double)at_ns / 1e9);
}

static const struct figure figure_second = {"second_s", "second s", AS_TENTHS, .value = second};

static const struct column second_columns[] = {
	{&figure_second, .width = 10},	{&figure_requests, .width = 8},
	{&figure_time_p50, .width = 9}, {&figure_time_p99, .width = 9},
	{&figure_time_max, .width = 9}, {&figure_slow, .width = 9},
	{&figure_open, .width = 7},	{&figure_oldest, .width = 9},
	{&figure_stuck, .width = 7},
};

static void put_second(const struct report *r, const struct table *t,
		       const struct requests_slice *row)
{
	const struct model_slice *slice = &r->m->slices[row->slice];
	struct subject s = report_subject(r, NULL, NULL);

	s.elapsed_ns = slice->end_ns - slice->start_ns;
	s.requests = &row->sum;
	s.item = slice;
	table_put_row(r->out, t, &s);
}

static int put_seconds(const struct report *r, uint32_t process)
{
	_cleanup_free_ struct requests_slice *rows = calloc(SECONDS_SHOWN, sizeof(*rows));
	struct table t;
	size_t cnt, all;
	int err;

	if (!rows)
		return -ENOMEM;
	err = requests_worst_slices(r->m, process, SECONDS_SHOWN, rows, &cnt, &all);
	if (err || !cnt)
		return err;
	TABLE_OF(&t, second_columns, r, 0);
	put_titles(r, &t);
	for (size_t i = 0; i < cnt; i++)
		put_second(r, &t, &rows[i]);
	if (all > cnt)
		fprintf(r->out, "   the worst %zu of %s with requests\n", cnt,
			number_count(all).text);
	return 0;
}

int report_process_requests(const struct report *r, uint32_t process)
{
	const struct requests_sum *sum;
	size_t told = 0;

	if (report_requests_off(r) || !r->requests->processes[process].endpoints)
		return 0;
	sum = &r->requests->processes[process];
	for (size_t i = 0; i < r->requests->ports_cnt; i++)
		if (r->requests->ports[i].process == process && told++ < r->o.rows)
			put_serves(r, &r->requests->ports[i]);
	if (told > r->o.rows)
		fprintf(r->out, "   … %s more ports\n", number_count(told - r->o.rows).text);
	put_histogram(r, sum);
	return put_seconds(r, process);
}

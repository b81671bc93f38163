/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How requests fared: a table by process and port, and in the details of a process its times. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/report_internal.h"
#include "output/verdict_words.h"

#define PORT_COLUMNS  7
#define NOTE_PORTS    6 /* named in one note; the others are counted */
#define SECONDS_SHOWN 8
#define BAR_COLUMNS   30
#define HOUR_NS	      3600000000000ull
#define YEAR_HOURS    8766

/* --- cells ----------------------------------------------------------------------------------- */

/* At most 6 columns, whatever the number is: "123,456", but "1,234k". */
static struct number short_count(uint64_t n)
{
	static const char units[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
	size_t unit = 0;
	struct number number;
	size_t len;

	while (n >= 10000 && (unit || n >= 100000)) {
		n /= 1000;
		unit++;
	}
	number = number_count(n);
	len = strlen(number.text);
	number.text[len] = units[unit];
	number.text[len + 1] = '\0';
	return number;
}

/* So many a second, at most 6 columns. */
static struct number rate_in(double count, uint64_t elapsed_ns)
{
	double rate = elapsed_ns ? count / (double)elapsed_ns * 1e9 : 0;

	if (rate < 9.95)
		return number_fixed(rate, 1);
	/* A capture from elsewhere may have slices of a nanosecond. */
	return short_count((uint64_t)(fmin(rate, 1e18) + 0.5));
}

static struct number rate_of(const struct report *r, double count)
{
	return rate_in(count, r->requests->elapsed_ns);
}

static void put_rate_of(const struct report *r, uint64_t count, size_t columns)
{
	put_right(r, count ? rate_of(r, (double)count).text : "-", columns);
}

static void put_count(const struct report *r, uint64_t count, size_t columns)
{
	put_right(r, count ? short_count(count).text : "-", columns);
}

/* At most 8 columns. */
static struct number long_time(uint64_t ns)
{
	static const struct number forever = {"> 1 year"};
	struct number n;

	if (ns < HOUR_NS)
		return number_time(ns);
	if (ns / HOUR_NS > YEAR_HOURS)
		return forever;
	n = number_fixed((double)ns / (double)HOUR_NS, 1);
	strcat(n.text, " h");
	return n;
}

static void put_age(const struct report *r, uint64_t ns, size_t columns)
{
	put_right(r, ns ? long_time(ns).text : "-", columns);
}

static void put_time(const struct report *r, const struct requests_sum *sum, double share,
		     size_t columns)
{
	put_right(r, sum->served.answered ? long_time(requests_time_ns(sum, share)).text : "-",
		  columns);
}

static void put_slow(const struct report *r, const struct requests_sum *sum, size_t columns)
{
	put_right(r, requests_judged(sum) ? number_percent(requests_slow_share(sum)).text : "-",
		  columns);
}

/* "12/512": the most that waited, and how many may. */
static void put_queue(const struct report *r, const struct requests_sum *sum, size_t columns)
{
	char cell[2 * NUMBER_BYTES + 2];

	if (!sum->queued_max) {
		put_right(r, "-", columns);
		return;
	}
	snprintf(cell, sizeof(cell), "%s/%s", short_count(sum->queued_max).text,
		 short_count(sum->backlog).text);
	put_right(r, cell, columns);
}

static void put_port(const struct report *r, const struct requests_port *p, size_t columns)
{
	char cell[16];

	put_spaces(r, 2);
	put_process(r, p->process, columns, true);
	snprintf(cell, sizeof(cell), "%u", r->m->processes[p->process].tgid);
	put_right(r, cell, PID_COLUMNS);
	snprintf(cell, sizeof(cell), "%u", p->port);
	put_right(r, cell, PORT_COLUMNS);
	putc('\n', r->out);
}

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

static void put_title_end(const struct report *r, size_t columns)
{
	put_spaces(r, 2);
	put_left(r, "process", columns);
	put_right(r, "pid", PID_COLUMNS);
	put_right(r, "port", PORT_COLUMNS);
	putc('\n', r->out);
}

static void put_more(const struct report *r, const struct ports *p, size_t columns)
{
	if (p->cnt > p->shown)
		fprintf(r->out, "%*s… %s more\n", (int)columns, "",
			number_count(p->cnt - p->shown).text);
}

static void put_times(const struct report *r, const struct ports *ports)
{
	size_t used = 8 + 9 + 9 + 9 + 9 + 7;
	size_t columns = r->o.width - used - 2 - PID_COLUMNS - PORT_COLUMNS;

	put_right(r, "req/s", 8);
	put_right(r, "p50", 9);
	put_right(r, "p99", 9);
	put_right(r, "max", 9);
	put_right(r, "slow", 9);
	put_right(r, "score", 7);
	put_title_end(r, columns);
	for (size_t i = 0; i < ports->shown; i++) {
		const struct requests_sum *sum = &ports->rows[i]->sum;

		put_rate_of(r, sum->served.begun, 8);
		put_time(r, sum, 0.5, 9);
		put_time(r, sum, 0.99, 9);
		put_time(r, sum, 1, 9);
		put_slow(r, sum, 9);
		put_right(r, requests_judged(sum) ? number_fixed(requests_score(sum), 2).text : "-",
			  7);
		put_port(r, ports->rows[i], columns);
	}
	put_more(r, ports, used + 2);
}

static void put_stands(const struct report *r, const struct ports *ports)
{
	size_t used = 7 + 9 + 7 + 11 + 7 + 7 + 7;
	size_t columns = r->o.width - used - 2 - PID_COLUMNS - PORT_COLUMNS;

	put_heading(r, "requests: unanswered, accept queues, MB a second in and out");
	put_right(r, "at end", 7);
	put_right(r, "oldest", 9);
	put_right(r, "stuck", 7);
	put_right(r, "queue", 11);
	put_right(r, "drops", 7);
	put_right(r, "in", 7);
	put_right(r, "out", 7);
	put_title_end(r, columns);
	for (size_t i = 0; i < ports->shown; i++) {
		const struct requests_sum *sum = &ports->rows[i]->sum;

		put_count(r, sum->in_progress, 7);
		put_age(r, sum->oldest_max_ns, 9);
		put_count(r, sum->stuck_max, 7);
		put_queue(r, sum, 11);
		put_count(r, sum->served.drops, 7);
		put_right(r, rate_of(r, (double)sum->served.received_bytes / 1e6).text, 7);
		put_right(r, rate_of(r, (double)sum->served.sent_bytes / 1e6).text, 7);
		put_port(r, ports->rows[i], columns);
	}
	put_more(r, ports, used + 2);
}

/* --- notes ----------------------------------------------------------------------------------- */

struct note {
	char text[1024];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void note_add(struct note *n, const char *format, ...)
{
	size_t room = sizeof(n->text) - n->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(n->text + n->len, room, format, args);
	va_end(args);
	if (len > 0)
		n->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void put_note(const struct report *r, const struct note *n)
{
	put_spaces(r, 2);
	put_words(r, n->text, 2, 2);
}

static struct number threshold_text(const struct requests_port *p)
{
	static const struct number several = {"several thresholds"};

	return p->slow_ns ? long_time(p->slow_ns) : several;
}

/* "slow: more than T = 500 ms (port 8080: 200 ms)". T is that of the first row. */
static void put_meaning(const struct report *r, const struct ports *ports)
{
	const struct requests_port *first = ports->rows[0];
	struct note n = {0};
	size_t others = 0;

	note_add(&n, "slow: answered after more than T = %s", threshold_text(first).text);
	for (size_t i = 1; i < ports->shown; i++) {
		if (ports->rows[i]->slow_ns == first->slow_ns || ++others > NOTE_PORTS)
			continue;
		note_add(&n, "%s port %u: %s", others == 1 ? " (but" : ",", ports->rows[i]->port,
			 threshold_text(ports->rows[i]).text);
	}
	if (others > NOTE_PORTS)
		note_add(&n, ", and %zu more", others - NOTE_PORTS);
	note_add(&n,
		 "%s, or unanswered for longer; score (Apdex): 1 = all within T, 0 = none within "
		 "4 T.",
		 others ? ")" : "");
	put_note(r, &n);
	n = (struct note){0};
	note_add(&n,
		 "oldest, stuck (unanswered for over 10 s) and queue (to be accepted, of as many "
		 "as may be): the most at the end of any second. drops: connections refused.");
	put_note(r, &n);
}

/* Data that stands unanswered, but is no evidence. */
static void put_unsure(const struct report *r, const struct ports *ports)
{
	struct note n = {0};
	uint64_t connections = 0;
	size_t told = 0;

	for (size_t i = 0; i < ports->shown; i++) {
		if (!ports->rows[i]->sum.unsure)
			continue;
		connections += ports->rows[i]->sum.unsure;
		if (told++ < NOTE_PORTS)
			note_add(&n, "%s%u", told == 1 ? "port " : ", ", ports->rows[i]->port);
	}
	if (!told)
		return;
	if (told > NOTE_PORTS)
		note_add(&n, " and %zu more", told - NOTE_PORTS);
	note_add(&n,
		 ": on %s connections the last data may want no answer (logs, queues); it does "
		 "not count as unanswered",
		 number_count(connections).text);
	put_note(r, &n);
}

/* Requests that count neither as fast nor as slow. */
static void put_unanswered(const struct report *r, const struct ports *ports)
{
	for (size_t i = 0; i < ports->shown; i++) {
		char text[VERDICT_WORDS_BYTES];
		struct note n = {0};

		if (!unanswered_words(text, &ports->rows[i]->sum))
			continue;
		note_add(&n, "port %u: %s", ports->rows[i]->port, text);
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
		struct note n = {0};
		size_t told = 0;

		if (!blur || told_before(ports, i, blur))
			continue;
		for (size_t k = i; k < ports->shown; k++)
			if (requests_blur(&ports->rows[k]->sum) == blur && told++ < NOTE_PORTS)
				note_add(&n, "%s%u", k == i ? "port " : ", ", ports->rows[k]->port);
		if (told > NOTE_PORTS)
			note_add(&n, " and %zu more", told - NOTE_PORTS);
		note_add(&n, ": %s", blur);
		put_note(r, &n);
	}
}

const char *report_requests_off(const struct report *r)
{
	if (r->m->host.off & OFF_REQUESTS)
		return model_off_text(OFF_REQUESTS);
	return r->m->slices_cnt ? NULL : "the capture has no slice";
}

int report_requests(const struct report *r)
{
	_cleanup_(ports_clear) struct ports ports = {0};
	const char *off = report_requests_off(r);
	int err = off ? 0 : list_ports(r, &ports);

	if (err)
		return err;
	put_heading(r, "requests: from data arriving to the first answer byte (exact)");
	if (off || !ports.cnt) {
		fputs(off ? "  n/a: " : "  ", r->out);
		put_words(r, off ? off : "none were seen", off ? 7 : 2, 2);
		return 0;
	}
	put_times(r, &ports);
	put_stands(r, &ports);
	put_meaning(r, &ports);
	put_unanswered(r, &ports);
	put_blurs(r, &ports);
	put_unsure(r, &ports);
	return 0;
}

/* --- in the details of a process ------------------------------------------------------------- */

static void put_serves(const struct report *r, const struct requests_port *p)
{
	const struct model_served *s = &p->sum.served;
	char protocols[REQUESTS_PROTOCOLS_BYTES], address[NAME_BYTES];
	struct note n = {0};

	requests_protocols_text(protocols, p->sum.protocols);
	/* Of a capture from elsewhere it may be any text. */
	safe_name(address, p->address, 46, CUT_MIDDLE);
	note_add(&n, "serves port %u", p->port);
	if (address[0])
		note_add(&n, " at %s", address);
	if (protocols[0])
		note_add(&n, " (%s)", protocols);
	note_add(&n, ": %s requests on %s connections", number_count(s->begun).text,
		 number_count(s->connections).text);
	if (s->abandoned)
		note_add(&n, ", %s ended without an answer", number_count(s->abandoned).text);
	if (s->answered)
		note_add(&n, "; mean time %s", long_time(s->time_ns / s->answered).text);
	note_add(&n, "; T %s", threshold_text(p).text);
	put_spaces(r, 3);
	put_words(r, n.text, 3, 5);
}

/* Slots of one power of two (the first four together) share a line. */
#define LINES (RESPONSE_SLOTS / 4)

static void put_histogram(const struct report *r, const struct requests_sum *sum)
{
	uint64_t lines[LINES] = {0}, most = 0, all = 0;

	for (uint32_t slot = 0; slot < RESPONSE_SLOTS; slot++) {
		lines[slot / 4] += sum->times[slot];
		all += sum->times[slot];
	}
	for (size_t i = 0; i < LINES; i++)
		if (lines[i] > most)
			most = lines[i];
	if (!all)
		return;
	put_heading(r, "  requests     share  time to the first answer byte");
	for (uint32_t i = 0; i < LINES; i++) {
		size_t stars = (size_t)((double)lines[i] / (double)most * BAR_COLUMNS + 0.5);

		if (!lines[i])
			continue;
		put_right(r, short_count(lines[i]).text, 10);
		put_right(r, number_percent((double)lines[i] / (double)all).text, 10);
		put_spaces(r, 2);
		put_right(r, number_time(requests_slot_ns(i * 4)).text, 8);
		fputs(" to ", r->out);
		put_left(r, i + 1 < LINES ? number_time(requests_slot_ns(i * 4 + 4)).text : "more",
			 stars ? 10 : 0);
		while (stars--)
			putc('*', r->out);
		putc('\n', r->out);
	}
}

static void put_second(const struct report *r, const struct requests_slice *row)
{
	const struct model_slice *slice = &r->m->slices[row->slice];
	uint64_t start_ns = r->m->host.start_ns, length_ns = slice->end_ns - slice->start_ns;
	uint64_t at_ns = slice->start_ns > start_ns ? slice->start_ns - start_ns : 0;

	put_right(r, at_ns / HOUR_NS < 1000 ? number_fixed((double)at_ns / 1e9, 1).text : "-", 10);
	put_right(r,
		  row->sum.served.begun ? rate_in((double)row->sum.served.begun, length_ns).text
					: "-",
		  8);
	put_time(r, &row->sum, 0.5, 9);
	put_time(r, &row->sum, 0.99, 9);
	put_time(r, &row->sum, 1, 9);
	put_slow(r, &row->sum, 9);
	put_count(r, row->sum.in_progress, 7);
	put_age(r, row->sum.oldest_ns, 9);
	put_count(r, row->sum.stuck, 7);
	putc('\n', r->out);
}

static int put_seconds(const struct report *r, uint32_t process)
{
	_cleanup_free_ struct requests_slice *rows = calloc(SECONDS_SHOWN, sizeof(*rows));
	size_t cnt, all;
	int err;

	if (!rows)
		return -ENOMEM;
	err = requests_worst_slices(r->m, process, SECONDS_SHOWN, rows, &cnt, &all);
	if (err || !cnt)
		return err;
	put_heading(
		r, "  second s   req/s      p50      p99      max     slow   open   oldest  stuck");
	for (size_t i = 0; i < cnt; i++)
		put_second(r, &rows[i]);
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "model/share.h"
#include "output/report_internal.h"

void put_paint(const struct report *r, enum paint paint)
{
	static const char *const codes[] = {
		[PAINT_HEADING] = "\033[1m",
		[PAINT_APPLICATION] = "\033[1;32m",
		[PAINT_FAINT] = "\033[2m",
		[PAINT_ALARM] = "\033[1;33m",
	};

	if (r->o.color)
		fputs(codes[paint], r->out);
}

void put_plain(const struct report *r)
{
	if (r->o.color)
		fputs("\033[0m", r->out);
}

void put_heading(const struct report *r, const char *text)
{
	putc('\n', r->out);
	put_paint(r, PAINT_HEADING);
	fputs(text, r->out);
	put_plain(r);
	putc('\n', r->out);
}

void put_spaces(const struct report *r, size_t columns)
{
	while (columns--)
		putc(' ', r->out);
}

bool report_error_is_even(uint64_t part, uint64_t whole)
{
	double share = share_of(part, whole), error = share_error(part, whole);

	return share - error >= 0 && share + error <= 1;
}

struct number report_error(uint64_t part, uint64_t whole)
{
	double low, high, share = share_of(part, whole), off = share_error(part, whole);
	const char *sign = "±";
	struct number n;

	if (!report_error_is_even(part, whole)) {
		share_range(part, whole, &low, &high);
		sign = share > 0.5 ? "−" : "+";
		off = share > 0.5 ? share - low : high - share;
	}
	/* No estimate is exact: what rounds to nothing is told as the least that is written. */
	n = number_fixed(fmax(off * 100, 0.1), 1);
	memmove(n.text + strlen(sign), n.text, strlen(n.text) + 1); /* "100.0" at most */
	memcpy(n.text, sign, strlen(sign));
	return n;
}

bool report_is_some(const struct report *r, uint64_t ns)
{
	return sched_mean(ns, r->sched->elapsed_ns) >= 0.005;
}

size_t put_name(const struct report *r, const char *name, size_t columns, enum text_cut cut)
{
	char buf[NAME_BYTES];

	label_name(buf, name, columns, cut);
	fputs(buf, r->out);
	return text_columns(buf);
}

void put_process(const struct report *r, uint32_t process, size_t columns)
{
	char buf[NAME_BYTES];

	label_process(buf, &r->m->processes[process], columns);
	fputs(buf, r->out);
}

void report_method(const struct report *r, uint32_t symbol, size_t columns,
		   char buf[static LABEL_METHOD_BYTES])
{
	label_method(buf, &r->m->symbols[symbol], columns,
		     LABEL_MODULE | (r->m->raw_names ? LABEL_RAW : 0) |
			     (r->o.color ? LABEL_COLOR : 0));
}

void put_method(const struct report *r, uint32_t symbol, size_t columns)
{
	char buf[LABEL_METHOD_BYTES];

	report_method(r, symbol, columns, buf);
	fputs(buf, r->out);
}

void put_words(const struct report *r, const char *text, size_t at, size_t indent)
{
	words_put(r->out, r->o.width, text, at, indent);
}

void put_paragraph(const struct report *r, const struct words *w, size_t indent)
{
	put_spaces(r, indent);
	put_words(r, w->text, indent, indent + 2);
}

double report_cores(const struct report *r, uint64_t on_cpu_ns)
{
	if (!r->totals->elapsed_ns)
		return 0;
	return (double)on_cpu_ns / (double)r->totals->elapsed_ns;
}

/* --- tables ---------------------------------------------------------------------------------- */

void report_share(const struct report *r, uint64_t part, uint64_t whole,
		  char text[static CELL_BYTES])
{
	struct number share = number_percent(share_of(part, whole));

	if (r->withheld || !part)
		snprintf(text, CELL_BYTES, "%7s", "-");
	else
		snprintf(text, CELL_BYTES, "%7s %s", share.text,
			 report_error(model_effective(r->m, part), model_effective(r->m, whole))
				 .text);
}

struct subject report_subject(const struct report *r, const struct group_row *row,
			      const struct sched_sum *sched)
{
	return (struct subject){
		.report = r,
		.m = r->m,
		.elapsed_ns = sched_elapsed_ns(r->m),
		.sched = sched,
		.process = row && !row->kernel ? &r->m->processes[row->process] : NULL,
		.cnt = row ? row->cnt : 0,
		.group = row,
	};
}

unsigned int report_when(const struct report *r)
{
	bool throttled = r->sched && report_is_some(r, r->sched->host.sched.throttled_ns);

	return (r->o.by_workload ? BY_WORKLOAD : BY_PROCESS) | (r->sched ? WITH_WAITS : 0) |
	       (throttled ? WITH_THROTTLED : 0);
}

void report_group_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct group_row *row = s->group;
	const struct report *r = s->report;
	size_t n = 0;

	if (!row || row->kernel) {
		strcpy(text, row ? "kernel threads" : "whole host");
		return;
	}
	if (row->cnt > 1)
		n = (size_t)snprintf(text, CELL_BYTES, "%s x ", number_count(row->cnt).text);
	if (r->groups.workloads && !(s->process->flags & PROCESS_SELF))
		label_name(text + n, r->groups.workloads[row->process], columns - n, CUT_MIDDLE);
	else
		label_process(text + n, s->process, columns - n);
}

const struct figure report_process_group = {NULL, "process", .text = report_group_text};
const struct figure report_workload_group = {NULL, "workload", .text = report_group_text};

void put_titles(const struct report *r, const struct table *t)
{
	char line[TABLE_LINE_BYTES];

	table_titles(t, line);
	put_heading(r, line);
}

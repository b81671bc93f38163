/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "model/share.h"
#include "model/workload.h"
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

void put_right(const struct report *r, const char *text, size_t columns)
{
	size_t n = text_columns(text);

	put_spaces(r, columns > n ? columns - n : 0);
	fputs(text, r->out);
}

void put_left(const struct report *r, const char *text, size_t columns)
{
	size_t n = text_columns(text);

	fputs(text, r->out);
	put_spaces(r, columns > n ? columns - n : 0);
}

void put_stopped(const struct report *r, uint64_t ns, size_t columns)
{
	if (ns)
		put_mean(r, ns, columns);
	else
		put_right(r, "-", columns);
}

void put_mean(const struct report *r, uint64_t ns, size_t columns)
{
	double mean = sched_mean(ns, r->sched->elapsed_ns);

	/* Thousands of threads stay within their column. */
	put_right(r, number_fixed(mean, mean < 99.995 ? 2 : mean < 999.95 ? 1 : 0).text, columns);
}

bool report_is_some(const struct report *r, uint64_t ns)
{
	return sched_mean(ns, r->sched->elapsed_ns) >= 0.005;
}

void put_rate(const struct report *r, uint64_t count, size_t columns)
{
	double rate = sched_mean(count, r->sched->elapsed_ns) * 1e9;

	/* What happens less than once in ten seconds is told by a decimal, or not at all. */
	put_right(r,
		  !count      ? "-"
		  : rate < 10 ? number_fixed(rate, 1).text
			      : number_count((uint64_t)(rate + 0.5)).text,
		  columns);
}

void put_delay(const struct report *r, const struct sched_sum *sum, double q, size_t columns)
{
	uint64_t ns = q < 1 ? sched_delay_ns(sum, q) : sum->delay_max_ns;
	bool known = q < 1 ? sched_delay_cnt(sum) > 0 : ns > 0;

	put_right(r, known ? number_time(ns).text : "-", columns);
}

/* Longer names than this are cut before they are escaped; four bytes are one escape. */
static void copy_name(char buf[static NAME_BYTES], const char *name, enum text_cut cut)
{
	size_t len = strlen(name), most = NAME_BYTES / 4 - 1;

	/* Both ends of a long name can matter: the middle goes first. */
	if (len > most && cut != CUT_END) {
		size_t head = cut == CUT_START ? 0 : most / 2, tail = most - head - 1;
		size_t n = text_copy_safe(buf, NAME_BYTES, name, head);

		memcpy(buf + n, "…", strlen("…"));
		text_copy_safe(buf + n + strlen("…"), NAME_BYTES - n - strlen("…"),
			       name + len - tail, tail);
		return;
	}
	text_copy_safe(buf, NAME_BYTES, name, len);
}

void safe_name(char *buf, const char *name, size_t columns, enum text_cut cut)
{
	copy_name(buf, name, cut);
	text_shorten(buf, columns, cut);
}

size_t put_name(const struct report *r, const char *name, size_t columns, enum text_cut cut,
		bool pad)
{
	char buf[NAME_BYTES];
	size_t n;

	safe_name(buf, name, columns, cut);
	n = text_columns(buf);
	fputs(buf, r->out);
	if (!pad)
		return n;
	put_spaces(r, columns - n);
	return columns;
}

size_t put_process(const struct report *r, uint32_t process, size_t columns, bool pad)
{
	const struct model_process *p = &r->m->processes[process];
	const char *name = p->name[0] ? p->name : p->comm[0] ? p->comm : "(unknown)";
	char buf[NAME_BYTES * 2 + 8], safe[NAME_BYTES], container[WORKLOAD_BYTES];
	const char *where;
	size_t n;

	workload_container(p, container);
	where = p->flags & PROCESS_SELF ? "this recording" : container[0] ? container : p->unit;
	copy_name(safe, name, CUT_MIDDLE);
	n = (size_t)snprintf(buf, sizeof(buf), p->flags & PROCESS_KERNEL ? "[%s]" : "%s", safe);
	if (where[0]) {
		copy_name(safe, where, CUT_MIDDLE);
		snprintf(buf + n, sizeof(buf) - n, " (%s)", safe);
	}
	text_shorten(buf, columns, CUT_END);
	n = text_columns(buf);
	fputs(buf, r->out);
	if (!pad)
		return n;
	put_spaces(r, columns - n);
	return columns;
}

/* Of a file's name behind a method. */
#define MODULE_COLUMNS 28

static bool is_managed(const struct model_symbol *s)
{
	return s->kind == KIND_JIT || s->kind == KIND_IMAGE;
}

/* A method's file is told where the name does not tell it. */
static bool module_helps(const struct model_symbol *s)
{
	size_t len = strlen(s->module);

	if (!len || s->name == s->module || s->kind == KIND_NOTE || s->kind == KIND_STUB)
		return false;
	if (s->kind == KIND_KERNEL)
		return strcmp(s->module, "[kernel]") != 0;
	if (is_managed(s) && !strncmp(s->name, s->module, len) && s->name[len] == '.')
		return false;
	return true;
}

static const char *mark_of(const struct model_symbol *s)
{
	if (s->kind == KIND_KERNEL)
		return " [k]";
	return s->kind == KIND_JIT ? " [j]" : "";
}

/* What follows the name: its file or why it has no name, and the mark of its kind. */
static void method_tail(char *buf, size_t buf_bytes, const struct model_symbol *s, bool module)
{
	char name[NAME_BYTES];

	buf[0] = '\0';
	if (s->kind == KIND_NOTE)
		return;
	if (s->reason != REASON_NAMED) {
		snprintf(buf, buf_bytes, " [%s]%s", model_reason_id(s->reason), mark_of(s));
		return;
	}
	if (!module) {
		snprintf(buf, buf_bytes, "%s", mark_of(s));
		return;
	}
	safe_name(name, s->module, MODULE_COLUMNS, CUT_MIDDLE);
	snprintf(buf, buf_bytes, " (%s)%s", name, mark_of(s));
}

void put_method(const struct report *r, uint32_t symbol, size_t columns)
{
	const struct model_symbol *s = &r->m->symbols[symbol];
	/* A raw name ends in its arguments. */
	enum text_cut cut = is_managed(s) && !r->m->raw_names ? CUT_START : CUT_MIDDLE;
	char name[NAME_BYTES], tail[NAME_BYTES + 64];
	size_t room;

	copy_name(name, s->name, cut);
	method_tail(tail, sizeof(tail), s, module_helps(s));
	if (text_columns(name) + text_columns(tail) > columns)
		text_fold_arguments(name);
	/* The end of a long managed name tells more than its assembly. */
	if (is_managed(s) && text_columns(name) + text_columns(tail) > columns)
		method_tail(tail, sizeof(tail), s, false);
	room = text_columns(tail);
	room = columns > room + 8 ? columns - room : 8;
	text_shorten(name, room, cut);
	if (s->application)
		put_paint(r, PAINT_APPLICATION);
	fputs(name, r->out);
	if (s->application)
		put_plain(r);
	put_paint(r, PAINT_FAINT);
	fputs(tail, r->out);
	put_plain(r);
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

void put_share(const struct report *r, uint64_t part, uint64_t whole)
{
	struct number share = number_percent(share_of(part, whole));

	if (r->withheld || !part) {
		put_right(r, "-", 7);
		put_spaces(r, SHARE_COLUMNS - 7);
		return;
	}
	put_right(r, share.text, 7);
	putc(' ', r->out);
	put_left(r, report_error(part, whole).text, SHARE_COLUMNS - 8);
}

/* Length of the unit at s, with the space before it, or 0: "12.3 %", "50 ms" and "0.50 CPUs" stay
 * together. */
static size_t unit_length(const char *s)
{
	static const char *const units[] = {"%", "us", "ms", "s", "CPUs"};
	size_t len = *s == ' ' ? strcspn(s + 1, " ,;:()") : 0;

	for (size_t i = 0; len && i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == len && !strncmp(s + 1, units[i], len))
			return 1 + strcspn(s + 1, " ");
	return 0;
}

void put_words(const struct report *r, const char *text, size_t at, size_t indent)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " ");
		size_t columns = 0;

		if (len && text[len - 1] >= '0' && text[len - 1] <= '9')
			len += unit_length(text + len);
		for (size_t i = 0; i < len; i++)
			columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (!first && at + 1 + columns > r->o.width) {
			putc('\n', r->out);
			put_spaces(r, indent);
			at = indent;
			first = true;
		}
		if (!first) {
			putc(' ', r->out);
			at++;
		}
		fwrite(text, 1, len, r->out);
		at += columns;
		first = false;
		text += len;
		text += strspn(text, " ");
	}
	putc('\n', r->out);
}

void words_add(struct words *w, const char *format, ...)
{
	size_t room = sizeof(w->text) - w->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(w->text + w->len, room, format, args);
	va_end(args);
	if (n > 0)
		w->len += (size_t)n < room ? (size_t)n : room - 1;
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

const char *report_row_title(const struct report *r)
{
	return r->o.by_workload ? "workload" : "process";
}

void put_row_end(const struct report *r, const struct group_row *row, size_t columns)
{
	char pid[16];
	int n = 0;

	if (row->kernel) {
		fputs("kernel threads\n", r->out);
		return;
	}
	if (row->cnt > 1)
		n = fprintf(r->out, "%s x ", number_count(row->cnt).text);
	columns -= (size_t)(n > 0 ? n : 0);
	if (r->groups.workloads && !(r->m->processes[row->process].flags & PROCESS_SELF))
		put_name(r, r->groups.workloads[row->process], columns, CUT_MIDDLE, row->cnt == 1);
	else
		put_process(r, row->process, columns, row->cnt == 1);
	if (row->cnt == 1) {
		snprintf(pid, sizeof(pid), "%u", r->m->processes[row->process].tgid);
		put_right(r, pid, PID_COLUMNS);
	}
	putc('\n', r->out);
}

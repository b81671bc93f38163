/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/top_text.h"

#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "model/share.h"
#include "output/figures.h"
#include "output/label.h"

/* As much as the books of a capture may lack. */
#define UNACCOUNTED_MIN 0.01

/* --- the host -------------------------------------------------------------------------------- */

static const char *order_text(enum top_order order)
{
	switch (order) {
	case TOP_BY_WAITING:
		return "by waiting";
	case TOP_BY_SWITCHES:
		return "by switches";
	case TOP_BY_SLOW:
		return "by slow requests";
	case TOP_BY_VERDICT:
		return "by verdict";
	default:
		return "by CPU";
	}
}

void top_text_head(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns)
{
	char host[NAME_BYTES], who[NAME_BYTES];
	struct number time = number_utc(v->time_s);
	size_t n;

	label_name(host, v->m->host.name, 30, CUT_END);
	n = (size_t)snprintf(line, TOP_LINE_BYTES, "%s · %s · %s · ", host, time.text,
			     number_time(v->elapsed_ns).text);
	if (v->process == MODEL_NONE) {
		n += (size_t)snprintf(line + n, TOP_LINE_BYTES - n, "%s active processes",
				      number_count(v->rows_cnt).text);
		if (v->verdicts->hurt)
			n += (size_t)snprintf(line + n, TOP_LINE_BYTES - n, ", %s hurt",
					      number_count(v->verdicts->hurt).text);
		if (v->verdicts->contended)
			n += (size_t)snprintf(line + n, TOP_LINE_BYTES - n, ", %s contended",
					      number_count(v->verdicts->contended).text);
		if (v->verdicts->unknown)
			n += (size_t)snprintf(line + n, TOP_LINE_BYTES - n, ", %s unknown",
					      number_count(v->verdicts->unknown).text);
		snprintf(line + n, TOP_LINE_BYTES - n, ", %s", order_text(v->order));
	} else {
		label_process(who, &v->m->processes[v->process], 40);
		snprintf(line + n, TOP_LINE_BYTES - n, "threads of %s, pid %u, %s", who,
			 v->m->processes[v->process].tgid, order_text(v->order));
	}
	text_shorten(line, columns, CUT_END);
}

void top_text_host(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns)
{
	const struct sched_sum *host = &v->sched->host;
	double seconds = (double)v->elapsed_ns / 1e9;

	if (!v->elapsed_ns) {
		snprintf(line, TOP_LINE_BYTES, "nothing measured yet");
		return;
	}
	snprintf(line, TOP_LINE_BYTES,
		 "verdict %s%s · CPU busy %s of %u · %s waiting · delay p99 %s · steal %s · %s "
		 "switches/s",
		 verdict_id(verdicts_result(&v->verdicts->host)->verdict),
		 v->verdicts->host.input.unmeasured ? " · requests not measured" : "",
		 number_fixed(sched_mean(v->busy_ns, v->elapsed_ns), 2).text, v->cpus,
		 number_fixed(sched_mean(host->sched.waited_ns, v->elapsed_ns), 2).text,
		 number_time(sched_delay_ns(host, 0.99)).text,
		 number_percent(share_of(v->steal_ns, v->cpu_elapsed_ns)).text,
		 number_count((uint64_t)((double)v->switches / seconds + 0.5)).text);
	text_shorten(line, columns, CUT_END);
}

/* What is usual and changes no figure is not told: faults of single stacks cost a name at the most,
 * and switches without an account are as bad as the time that no account holds. */
static bool is_loss(const struct top_view *v, uint32_t cause)
{
	switch (cause) {
	case LOSS_USER_STACK_FAULT:
	case LOSS_KERNEL_STACK_FAULT:
		return false;
	case LOSS_SWITCH_UNSEEN:
	case LOSS_ACCOUNT_MISSING:
		return share_of(v->unaccounted_ns, v->cpu_elapsed_ns) >= UNACCOUNTED_MIN;
	case LOSS_WAKEUP_UNSEEN:
		return (double)v->losses[cause] >=
		       UNACCOUNTED_MIN * (double)sched_delay_cnt(&v->sched->host);
	default:
		return true;
	}
}

void top_text_losses(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns)
{
	size_t n = 0;

	line[0] = '\0';
	for (uint32_t cause = 0; cause < LOSS_CAUSE_CNT; cause++)
		if (v->losses[cause] && is_loss(v, cause))
			n += (size_t)snprintf(
				line + n, TOP_LINE_BYTES - n, "%s%s %s",
				n ? "; " : "lost: ", number_count(v->losses[cause]).text,
				model_loss_text(cause));
	text_shorten(line, columns, CUT_END);
}

/* --- the table ------------------------------------------------------------------------------- */

static void thread_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	char state = (char)s->thread->state;

	snprintf(text, CELL_BYTES, "%c ", state > ' ' && state < 0x7f ? state : '?');
	label_name(text + 2, s->thread->comm, columns > 2 ? columns - 2 : 1, CUT_END);
}

/* Of a row of the view. */
struct item {
	const struct top_hot *hot;
	const struct verdict_result *verdict;
};

static void verdict_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct item *item = s->item;

	(void)columns;
	strcpy(text, item->verdict ? verdict_id(item->verdict->verdict) : "-");
}

static void hottest_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct top_hot *hot = ((const struct item *)s->item)->hot;
	size_t n;

	if (!hot || hot->symbol == MODEL_NONE) {
		strcpy(text, "n/a");
		return;
	}
	n = (size_t)snprintf(text, CELL_BYTES, "%3s %% ",
			     number_fixed(share_of(hot->samples, hot->of) * 100, 0).text);
	label_method(text + n, &s->m->symbols[hot->symbol], columns - n, 0);
}

static const struct figure figure_thread = {NULL, "S thread", .text = thread_text};
static const struct figure figure_verdict = {NULL, "verdict", .text = verdict_cell};
static const struct figure figure_hottest = {NULL, "hottest method", .text = hottest_text};

#define HOTTEST_COLUMN                                                          \
	{                                                                       \
		&figure_hottest, .left = true, .gap = 2, .least = 20, .rank = 2 \
	}

/* Names have their room first, then the hottest method, then the others by their ranks. */
static const struct column process_columns[] = {
	{&figure_pid, .width = 8},
	{&figure_running, .width = 9},
	{&figure_waiting, .width = 9},
	{&figure_behind_others, .width = 9, .rank = 5},
	{&figure_behind_own, .width = 9, .rank = 5},
	{&figure_delay_p99, .width = 10, .title = "p99 delay"},
	{&figure_switches, .width = 10},
	{&figure_throttled, .width = 10, .rank = 1},
	{&figure_slow, .width = 8, .rank = 4},
	{&figure_stuck, .width = 7, .rank = 4},
	{&figure_verdict, .width = 15, .left = true, .gap = 2, .rank = 3},
	{&figure_process, .left = true, .gap = 2, .least = 16, .most = 36, .pct = 40},
	HOTTEST_COLUMN,
};

static const struct column thread_columns[] = {
	{&figure_tid, .width = 8},
	{&figure_running, .width = 9},
	{&figure_waiting, .width = 9},
	{&figure_behind_others, .width = 9, .rank = 3},
	{&figure_behind_own, .width = 9, .rank = 3},
	{&figure_delay_p99, .width = 10, .title = "p99 delay"},
	{&figure_switches, .width = 10},
	{&figure_throttled, .width = 10, .rank = 1},
	{&figure_thread, .left = true, .gap = 2, .least = 16, .most = 36, .pct = 40},
	HOTTEST_COLUMN,
};

static void lay_out(struct table *t, const struct top_view *v, size_t columns)
{
	if (v->process == MODEL_NONE)
		TABLE_LAY_OUT(t, process_columns, columns, 0);
	else
		TABLE_LAY_OUT(t, thread_columns, columns, 0);
}

void top_text_titles(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns)
{
	struct table t;

	lay_out(&t, v, columns);
	table_titles(&t, line);
	text_shorten(line, columns, CUT_END);
}

void top_text_row(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t i,
		  size_t columns)
{
	struct item item = {top_view_hot(v, i), top_view_verdict(v, i)};
	struct subject s = {
		.m = v->m,
		.elapsed_ns = v->elapsed_ns,
		.sched = top_view_sum(v, i),
		.requests = top_view_requests(v, i),
		.item = &item,
	};
	struct table t;

	if (v->process == MODEL_NONE)
		s.process = &v->m->processes[v->rows[i]];
	else
		s.thread = &v->m->threads[v->rows[i]];
	lay_out(&t, v, columns);
	table_line(&t, &s, line);
	text_shorten(line, columns, CUT_END);
}

/* --------------------------------------------------------------------------------------------- */

int top_text_write(FILE *out, const struct top_view *v, size_t rows, size_t columns)
{
	char line[TOP_LINE_BYTES];

	top_text_head(line, v, columns);
	fprintf(out, "%s\n", line);
	top_text_host(line, v, columns);
	fprintf(out, "%s\n", line);
	top_text_losses(line, v, columns);
	if (*line)
		fprintf(out, "%s\n", line);
	top_text_titles(line, v, columns);
	fprintf(out, "%s\n", line);
	for (size_t i = 0; i < v->rows_cnt && i < rows; i++) {
		top_text_row(line, v, i, columns);
		fprintf(out, "%s\n", line);
	}
	return fflush(out) || ferror(out) ? -EIO : 0;
}

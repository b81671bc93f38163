/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/top_text.h"

#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "model/share.h"
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
		if (v->verdicts->degraded)
			n += (size_t)snprintf(line + n, TOP_LINE_BYTES - n, ", %s degraded",
					      number_count(v->verdicts->degraded).text);
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
		 "verdict %s · CPU busy %s of %u · %s waiting · delay p99 %s · steal %s · %s "
		 "switches/s",
		 verdict_id(verdicts_result(&v->verdicts->host)->verdict),
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

/* Widths, and those of the line from which on there is room for some. */
#define ID_COLUMNS	 8
#define MEAN_COLUMNS	 9
#define DELAY_COLUMNS	 10
#define RATE_COLUMNS	 10
#define THROTTLE_COLUMNS 10
#define SLOW_COLUMNS	 8
#define STUCK_COLUMNS	 7
#define VERDICT_COLUMNS	 17 /* with a gap before it */
#define GAP_COLUMNS	 2
#define THROTTLE_FROM	 76
#define SPLIT_FROM	 118 /* of threads */
/* Of processes: first the hottest method has its room, from 96 on. */
#define VERDICT_FROM	  113
#define SERVICE_FROM	  128 /* slow, stuck */
#define SERVED_SPLIT_FROM 146
#define METHOD_FROM	  38 /* of what is left for names: less says nothing of a method */

struct layout {
	bool split, throttled, service, verdict;
	size_t name, method;
};

static struct layout layout_of(size_t columns, bool threads)
{
	struct layout l = {
		.split = columns >= (threads ? SPLIT_FROM : SERVED_SPLIT_FROM),
		.throttled = columns >= THROTTLE_FROM,
		.service = !threads && columns >= SERVICE_FROM,
		.verdict = !threads && columns >= VERDICT_FROM,
	};
	size_t used = ID_COLUMNS + 2 * MEAN_COLUMNS + DELAY_COLUMNS + RATE_COLUMNS +
		      (l.throttled ? THROTTLE_COLUMNS : 0) + (l.split ? 2 * MEAN_COLUMNS : 0) +
		      (l.service ? SLOW_COLUMNS + STUCK_COLUMNS : 0) +
		      (l.verdict ? VERDICT_COLUMNS : 0) + GAP_COLUMNS;
	size_t room = columns > used + 1 ? columns - used : 1;

	if (room < METHOD_FROM) {
		l.name = room;
		return l;
	}
	room -= GAP_COLUMNS;
	l.name = room * 2 / 5;
	l.name = l.name < 16 ? 16 : l.name > 36 ? 36 : l.name;
	l.method = room - l.name;
	return l;
}

static void put(char *line, const char *text, size_t columns)
{
	size_t at = strlen(line), n = text_columns(text);

	for (; n < columns && at + 1 < TOP_LINE_BYTES; n++)
		line[at++] = ' ';
	snprintf(line + at, TOP_LINE_BYTES - at, "%s", text);
}

static void put_left(char *line, const char *text, size_t columns)
{
	size_t at, n = text_columns(text);

	at = strlen(line);
	snprintf(line + at, TOP_LINE_BYTES - at, "%s", text);
	for (at = strlen(line); n < columns && at + 1 < TOP_LINE_BYTES; n++)
		line[at++] = ' ';
	line[at] = '\0';
}

void top_text_titles(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns)
{
	bool threads = v->process != MODEL_NONE;
	struct layout l = layout_of(columns, threads);

	line[0] = '\0';
	put(line, threads ? "tid" : "pid", ID_COLUMNS);
	put(line, "running", MEAN_COLUMNS);
	put(line, "waiting", MEAN_COLUMNS);
	if (l.split) {
		put(line, "others", MEAN_COLUMNS);
		put(line, "own", MEAN_COLUMNS);
	}
	put(line, "delay p99", DELAY_COLUMNS);
	put(line, "switch/s", RATE_COLUMNS);
	if (l.throttled)
		put(line, "throttled", THROTTLE_COLUMNS);
	if (l.service) {
		put(line, "slow", SLOW_COLUMNS);
		put(line, "stuck", STUCK_COLUMNS);
	}
	if (l.verdict) {
		put(line, "", GAP_COLUMNS);
		put_left(line, "verdict", VERDICT_COLUMNS - GAP_COLUMNS);
	}
	put(line, "", GAP_COLUMNS);
	put_left(line, threads ? "S thread" : "process", l.name);
	if (l.method) {
		put(line, "", GAP_COLUMNS);
		put_left(line, "hottest method", l.method);
	}
	text_shorten(line, columns, CUT_END);
}

static void put_mean(char *line, const struct top_view *v, uint64_t ns)
{
	put(line, number_fixed(sched_mean(ns, v->elapsed_ns), 2).text, MEAN_COLUMNS);
}

static void put_split(char *line, const struct top_view *v, const struct sched_figures *s)
{
	if (v->m->host.off & OFF_OWN) {
		put(line, "n/a", MEAN_COLUMNS);
		put(line, "n/a", MEAN_COLUMNS);
		return;
	}
	put_mean(line, v, s->waited_ns > s->behind_own_ns ? s->waited_ns - s->behind_own_ns : 0);
	put_mean(line, v, s->behind_own_ns);
}

static void put_figures(char *line, const struct top_view *v, const struct sched_sum *sum,
			const struct layout *l)
{
	const struct sched_figures *s = &sum->sched;
	double seconds = (double)v->elapsed_ns / 1e9;
	uint64_t switches = s->voluntary + s->involuntary;

	put_mean(line, v, s->on_cpu_ns);
	put_mean(line, v, s->waited_ns);
	if (l->split)
		put_split(line, v, s);
	put(line, sched_delay_cnt(sum) ? number_time(sched_delay_ns(sum, 0.99)).text : "-",
	    DELAY_COLUMNS);
	put(line, number_count((uint64_t)((double)switches / seconds + 0.5)).text, RATE_COLUMNS);
	if (!l->throttled)
		return;
	if (v->m->host.off & OFF_GROUPS)
		put(line, "n/a", THROTTLE_COLUMNS);
	else if (!s->throttled_ns)
		put(line, "-", THROTTLE_COLUMNS);
	else
		put(line, number_percent(share_of(s->throttled_ns, sched_wanted_ns(s))).text,
		    THROTTLE_COLUMNS);
}

/* requests: NULL = it serves nothing. */
static void put_service(char *line, const struct top_view *v, const struct requests_sum *requests)
{
	if (v->m->host.off & OFF_REQUESTS) {
		put(line, "n/a", SLOW_COLUMNS);
		put(line, "n/a", STUCK_COLUMNS);
		return;
	}
	put(line,
	    requests && requests_judged(requests)
		    ? number_percent(requests_slow_share(requests)).text
		    : "-",
	    SLOW_COLUMNS);
	put(line, requests && requests->stuck ? number_count(requests->stuck).text : "-",
	    STUCK_COLUMNS);
}

static void put_verdict(char *line, const struct verdict_result *verdict)
{
	put(line, "", GAP_COLUMNS);
	put_left(line, verdict ? verdict_id(verdict->verdict) : "-", VERDICT_COLUMNS - GAP_COLUMNS);
}

static void put_thread(char *line, const struct model_thread *t, size_t columns)
{
	char name[NAME_BYTES], all[NAME_BYTES + 8], state = (char)t->state;

	label_name(name, t->comm, columns > 2 ? columns - 2 : 1, CUT_END);
	snprintf(all, sizeof(all), "%c %s", state > ' ' && state < 0x7f ? state : '?', name);
	put_left(line, all, columns);
}

static void put_method(char *line, const struct top_view *v, const struct top_hot *hot,
		       size_t columns)
{
	char name[NAME_BYTES], share[NUMBER_BYTES + 8];
	size_t n;

	if (!hot || hot->symbol == MODEL_NONE) {
		put_left(line, "n/a", columns);
		return;
	}
	n = (size_t)snprintf(share, sizeof(share), "%3s %% ",
			     number_fixed(share_of(hot->samples, hot->of) * 100, 0).text);
	put_left(line, share, n);
	label_method(name, &v->m->symbols[hot->symbol], columns - n);
	put_left(line, name, columns - n);
}

void top_text_row(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t i,
		  size_t columns)
{
	bool threads = v->process != MODEL_NONE;
	struct layout l = layout_of(columns, threads);
	uint32_t row = v->rows[i];
	char id[16], name[NAME_BYTES];

	line[0] = '\0';
	snprintf(id, sizeof(id), "%u",
		 threads ? v->m->threads[row].tid : v->m->processes[row].tgid);
	put(line, id, ID_COLUMNS);
	put_figures(line, v, top_view_sum(v, i), &l);
	if (l.service)
		put_service(line, v, top_view_requests(v, i));
	if (l.verdict)
		put_verdict(line, top_view_verdict(v, i));
	put(line, "", GAP_COLUMNS);
	if (threads) {
		put_thread(line, &v->m->threads[row], l.name);
	} else {
		label_process(name, &v->m->processes[row], l.name);
		put_left(line, name, l.name);
	}
	if (l.method) {
		put(line, "", GAP_COLUMNS);
		put_method(line, v, top_view_hot(v, i), l.method);
	}
	text_shorten(line, columns, CUT_END);
}

/* --------------------------------------------------------------------------------------------- */

static void put_line(FILE *out, char *line)
{
	size_t len = strlen(line);

	while (len && line[len - 1] == ' ')
		line[--len] = '\0';
	fputs(line, out);
	putc('\n', out);
}

int top_text_write(FILE *out, const struct top_view *v, size_t rows, size_t columns)
{
	char line[TOP_LINE_BYTES];

	top_text_head(line, v, columns);
	put_line(out, line);
	top_text_host(line, v, columns);
	put_line(out, line);
	top_text_losses(line, v, columns);
	if (*line)
		put_line(out, line);
	top_text_titles(line, v, columns);
	put_line(out, line);
	for (size_t i = 0; i < v->rows_cnt && i < rows; i++) {
		top_text_row(line, v, i, columns);
		put_line(out, line);
	}
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a history: HTML and drawings (SVG) made here; no script runs in it. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "output/history.h"
#include "output/html.h"
#include "output/report_text.h"
#include "output/table.h"

HTML_EMBED(history_css, "history.css");

/* Of a drawing, in its own units. */
#define WIDTH	1060.0
#define LEFT	52.0
#define RIGHT	12.0
#define PANEL	150.0 /* height of a curve */
#define GAP	34.0
#define TOP	22.0
#define BOTTOM	26.0
#define SCATTER 250.0
/* Half of what a time takes below an axis. */
#define TIME_HALF 45.0
/* Rows of a table. */
#define ROWS 50

/* Coordinates: a dot whatever the locale is. */
static struct number at(double v)
{
	return number_fixed(v, 1);
}

static double x_of(double part)
{
	return LEFT + part * (WIDTH - LEFT - RIGHT);
}

/* --- axes ------------------------------------------------------------------------------------ */

struct axis {
	double most, step;
	bool percent;
};

/* Some four steps of 1, 2 or 5 times a power of ten. */
static struct axis axis_of(double most, double least_most, bool percent)
{
	double top = most > least_most ? most : least_most, power, step;

	power = pow(10, floor(log10(top / 4)));
	step = top / 4 / power;
	step = power * (step <= 1 ? 1 : step <= 2 ? 2 : step <= 5 ? 5 : 10);
	return (struct axis){ceil(top / step) * step, step, percent};
}

static void put_tick(FILE *out, double v, const struct axis *axis)
{
	double shown = axis->percent ? v * 100 : v,
	       step = axis->percent ? axis->step * 100 : axis->step;

	fprintf(out, "%s%s",
		number_fixed(shown, step >= 1	  ? 0
				    : step >= 0.1 ? 1
						  : 2)
			.text,
		axis->percent ? " %" : "");
}

static void put_grid(FILE *out, const struct axis *axis, double top, double height,
		     const char *title)
{
	for (double v = 0; v <= axis->most * 1.001; v += axis->step) {
		double y = top + height - v / axis->most * height;

		fprintf(out, "<line class=\"grid\" x1=\"%s\" x2=\"%s\"", at(LEFT).text,
			at(WIDTH - RIGHT).text);
		fprintf(out, " y1=\"%s\" y2=\"%s\"/>", at(y).text, at(y).text);
		fprintf(out, "<text class=\"end\" x=\"%s\" y=\"%s\">", at(LEFT - 6).text,
			at(y + 4).text);
		put_tick(out, v, axis);
		fputs("</text>\n", out);
	}
	fprintf(out, "<text class=\"title\" x=\"%s\" y=\"%s\">%s</text>\n", at(LEFT).text,
		at(top - 8).text, title);
}

/* --- the two curves -------------------------------------------------------------------------- */

static double cpus_at(const struct history_point *p)
{
	return history_cpus(p->cpu_ms, p->observed_ms);
}

static double slow_at(const struct history_point *p)
{
	return p->requests ? (double)p->slow / (double)p->requests : 0;
}

/* Stretches of points of which all is true that is asked, as rectangles. */
static void put_stretches(FILE *out, const struct history_view *v, bool bad, double height)
{
	double step = 1.0 / (double)v->curve_cnt;

	for (size_t i = 0; i < v->curve_cnt; i++) {
		size_t end = i;

		while (end < v->curve_cnt &&
		       (bad ? v->curve[end].bad_minutes != 0 : !v->curve[end].observed_ms))
			end++;
		if (end == i)
			continue;
		fprintf(out, "<rect class=\"%s\" x=\"%s\"", bad ? "bad" : "unknown",
			at(x_of((double)i * step)).text);
		fprintf(out, " width=\"%s\" y=\"%s\"",
			at(fmax(2, x_of((double)end * step) - x_of((double)i * step))).text,
			at(TOP).text);
		fprintf(out, " height=\"%s\"><title>%s to ", at(height).text,
			history_when(v->first_s + (int64_t)i * v->curve_s).text);
		fprintf(out, "%s UTC: %s</title></rect>\n",
			history_when(v->first_s + (int64_t)end * v->curve_s).text,
			bad ? "bad minutes" : "not observed");
		i = end;
	}
}

static void put_curve(FILE *out, const struct history_view *v, const struct axis *axis, double top,
		      double (*value)(const struct history_point *), const char *class,
		      bool requests)
{
	bool open = false;

	fprintf(out, "<path class=\"%s\" d=\"", class);
	for (size_t i = 0; i < v->curve_cnt; i++) {
		const struct history_point *p = &v->curve[i];

		if (!p->observed_ms || (requests && !p->requests)) {
			open = false;
			continue;
		}
		fprintf(out, "%c%s", open ? 'L' : 'M',
			at(x_of(((double)i + 0.5) / (double)v->curve_cnt)).text);
		fprintf(out, " %s", at(top + PANEL - fmin(1, value(p) / axis->most) * PANEL).text);
		/* A point by itself is a dot. */
		if (!open)
			fputs("h.5", out);
		open = true;
	}
	fputs("\"/>\n", out);
}

static void put_times(FILE *out, const struct history_view *v, double y)
{
	static const int64_t steps_s[] = {600,	 1800,	 3600,	 10800,	  21600,   43200,
					  86400, 172800, 604800, 1209600, 2592000, 7776000};
	int64_t span_s = v->last_s - v->first_s, step = 31536000, last = v->first_s;

	for (size_t i = sizeof(steps_s) / sizeof(steps_s[0]); i-- > 0;)
		if (span_s / steps_s[i] <= 10)
			step = steps_s[i];
	for (int64_t t = (last / step + 1) * step; t < v->last_s; t += step) {
		double x = x_of((double)(t - v->first_s) / (double)span_s);
		struct number when = history_when(t);
		bool at_edge = x > WIDTH - RIGHT - TIME_HALF;

		fprintf(out, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n",
			at_edge ? "end" : "middle", at(at_edge ? WIDTH : x).text, at(y).text,
			step >= HISTORY_DAY_S ? (when.text[10] = '\0', when.text) : when.text + 5);
	}
}

static void put_curves(FILE *out, const struct history_view *v)
{
	double cpus = 0, slow = 0, second = TOP + PANEL + GAP;
	struct axis cpu_axis, slow_axis;

	for (size_t i = 0; i < v->curve_cnt; i++) {
		cpus = fmax(cpus, cpus_at(&v->curve[i]));
		slow = fmax(slow, slow_at(&v->curve[i]));
	}
	cpu_axis = axis_of(cpus, 0.01, false);
	slow_axis = axis_of(slow, 0.01, true);
	if (slow_axis.most > 1)
		slow_axis.most = 1;
	fprintf(out,
		"<h2>CPU and slow share over time</h2>\n"
		"<svg viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"CPU and slow share over "
		"time\">\n",
		at(WIDTH).text, at(second + PANEL + BOTTOM).text);
	put_stretches(out, v, false, 2 * PANEL + GAP);
	put_stretches(out, v, true, 2 * PANEL + GAP);
	put_grid(out, &cpu_axis, TOP, PANEL, "CPUs used");
	put_grid(out, &slow_axis, second, PANEL, "share of requests that were slow");
	put_curve(out, v, &cpu_axis, TOP, cpus_at, "cpu", false);
	put_curve(out, v, &slow_axis, second, slow_at, "slow", true);
	put_times(out, v, second + PANEL + 18);
	fprintf(out,
		"</svg>\n<p class=\"muted\">A point is %s. Red: with bad minutes (degraded for "
		"3 s or more). Grey: not observed. Times are UTC.</p>\n",
		number_long_time((uint64_t)v->curve_s * 1000000000).text);
}

/* --- the knee -------------------------------------------------------------------------------- */

static void put_line(FILE *out, const struct knee *k, const struct axis *x, const struct axis *y)
{
	const double xs[] = {k->least, k->at, k->until, k->most},
		     ys[] = {k->before, k->before, k->after, k->after};

	fprintf(out, "<rect class=\"kneefill\" x=\"%s\" width=\"%s\"",
		at(x_of(k->low / x->most)).text,
		at(fmax(1, x_of(k->high / x->most) - x_of(k->low / x->most))).text);
	fprintf(out, " y=\"%s\" height=\"%s\"/>\n<path class=\"kneeline\" d=\"", at(TOP).text,
		at(SCATTER).text);
	for (size_t i = 0; i < 4; i++) {
		fprintf(out, "%c%s", i ? 'L' : 'M', at(x_of(fmin(1, xs[i] / x->most))).text);
		fprintf(out, " %s", at(TOP + SCATTER - fmin(1, ys[i] / y->most) * SCATTER).text);
	}
	fputs("\"/>\n", out);
	fprintf(out, "<text class=\"kneetext middle\" x=\"%s\" y=\"%s\">%s CPUs</text>\n",
		at(x_of(k->at / x->most)).text, at(TOP + 14).text, number_fixed(k->at, 2).text);
}

static void put_scatter(FILE *out, const struct history_view *v)
{
	const struct knee *k = &v->subject.knee;
	char words[HISTORY_WORDS_BYTES];
	struct axis x, y;
	double slow = 0;

	fputs("<h2>Slow share against CPU: the knee</h2>\n", out);
	history_knee_words(words, &v->subject);
	fputs("<p>", out);
	html_put(out, v->subject.knee_sought ? words : "no requests were seen");
	fputs("</p>\n", out);
	if (!k->bins_cnt)
		return;
	for (size_t i = 0; i < k->bins_cnt; i++)
		slow = fmax(slow, k->bins[i].slow);
	x = axis_of(k->most, 0.01, false);
	y = axis_of(slow, 0.01, true);
	if (y.most > 1)
		y.most = 1;
	fprintf(out,
		"<svg viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"slow share against CPU\">\n",
		at(WIDTH).text, at(TOP + SCATTER + BOTTOM + 14).text);
	put_grid(out, &y, TOP, SCATTER, "share of requests that were slow");
	for (double at_x = 0; at_x <= x.most * 1.001; at_x += x.step) {
		fprintf(out, "<text class=\"middle\" x=\"%s\" y=\"%s\">",
			at(x_of(at_x / x.most)).text, at(TOP + SCATTER + 17).text);
		put_tick(out, at_x, &x);
		fputs("</text>\n", out);
	}
	fprintf(out, "<text class=\"middle\" x=\"%s\" y=\"%s\">CPUs used</text>\n",
		at(x_of(0.5)).text, at(TOP + SCATTER + 34).text);
	if (k->answer == KNEE_FOUND)
		put_line(out, k, &x, &y);
	for (size_t i = 0; i < k->bins_cnt; i++) {
		const struct knee_bin *b = &k->bins[i];

		fprintf(out, "<circle class=\"dot\" cx=\"%s\" cy=\"%s\"",
			at(x_of(fmin(1, b->cpus / x.most))).text,
			at(TOP + SCATTER - fmin(1, b->slow / y.most) * SCATTER).text);
		fprintf(out, " r=\"%s\"><title>%s CPUs: ",
			at(2 + 1.2 * log10(1 + (double)b->minutes)).text,
			number_fixed(b->cpus, 2).text);
		fprintf(out, "%s slow, %zu minutes</title></circle>\n",
			number_percent(b->slow).text, b->minutes);
	}
	fputs("</svg>\n<p class=\"muted\">A dot is the minutes of about that CPU use, the mean of "
	      "their middle half; larger ones are more minutes. The band holds the knee with 90 % "
	      "certainty.</p>\n",
	      out);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void put_days(FILE *out, const struct history_view *v)
{
	fputs("<h2>Bad minutes by day and hour, UTC</h2>\n<div class=\"scroll\"><table "
	      "class=\"days\"><tr><th></th>",
	      out);
	for (int i = 0; i < 24; i++)
		fprintf(out, "<th>%d</th>", i);
	fputs("</tr>\n", out);
	for (size_t i = 0; i < v->days_cnt; i++) {
		const struct history_day *day = &v->days[i];
		bool any = false;

		for (int k = 0; k < 24; k++)
			any |= day->known[k];
		if (!any)
			continue;
		fprintf(out, "<tr><th>%.10s</th>", number_utc(day->time_s).text);
		for (int k = 0; k < 24; k++) {
			uint32_t bad = day->bad[k];

			if (!day->known[k])
				fputs("<td class=\"none\"></td>", out);
			else if (!bad)
				fputs("<td></td>", out);
			else
				fprintf(out, "<td class=\"%s\">%u</td>",
					bad < 5	   ? "b1"
					: bad < 20 ? "b2"
						   : "b3",
					bad);
		}
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
}

static void put_cell(FILE *out, const char *class, const char *text)
{
	fprintf(out, "<td%s%s%s>", *class ? " class=\"" : "", class, *class ? "\"" : "");
	html_put(out, text);
	fputs("</td>", out);
}

static void put_kinds(FILE *out, const struct history_view *v)
{
	if (!v->kinds_cnt || (v->options.name && v->kinds_cnt == 1))
		return;
	fputs("<h2>Processes, worst first</h2>\n<div class=\"scroll\"><table class=\"wide\"><tr>"
	      "<th>process</th><th class=\"number\">bad minutes</th><th class=\"number\">degraded"
	      "</th><th>worst</th><th class=\"number\">CPUs</th><th class=\"number\">busiest hour"
	      "</th><th class=\"number\">requests</th><th class=\"number\">slow</th><th>knee</th>"
	      "</tr>\n",
	      out);
	for (size_t i = 0; i < v->kinds_cnt && i < ROWS; i++) {
		const struct history_subject *s = &v->kinds[i];
		char label[HISTORY_LABEL_BYTES], knee[HISTORY_WORDS_BYTES];

		history_label(label, &s->kind);
		history_knee_words(knee, s);
		fputs("<tr>", out);
		put_cell(out, "name", label);
		put_cell(out, "number", number_count(s->sum.bad_minutes).text);
		put_cell(out, "number", number_long_time(s->sum.hurt_ms * 1000000).text);
		put_cell(out, "", history_verdict(&s->sum));
		put_cell(out, "number",
			 number_fixed(history_cpus(s->sum.cpu_ms, v->observed_ms), 2).text);
		put_cell(out, "number", number_fixed(s->most_cpus, 2).text);
		put_cell(out, "number", number_count(s->sum.requests).text);
		put_cell(out, "number",
			 s->sum.requests ? number_percent(history_slow_share(&s->sum)).text : "-");
		put_cell(out, "", knee);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
	if (v->kinds_cnt > ROWS)
		fprintf(out, "<p class=\"muted\">%zu more</p>\n", v->kinds_cnt - ROWS);
}

static void put_decisions(FILE *out, const struct history_view *v)
{
	fputs("<h2>Captures taken, and not taken</h2>\n", out);
	if (!v->decisions_cnt) {
		fputs("<p class=\"muted\">none</p>\n", out);
		return;
	}
	fputs("<div class=\"scroll\"><table class=\"wide\"><tr><th>when, UTC</th><th></th>"
	      "<th>process</th><th>verdict</th><th>why</th><th>capture</th></tr>\n",
	      out);
	for (size_t i = 0; i < v->decisions_cnt && i < ROWS; i++) {
		const struct history_decision *d = &v->decisions[i].d;

		fprintf(out, "<tr><td class=\"when\">%s</td>", history_when(d->time_s).text);
		put_cell(out, d->taken ? "taken" : "muted", d->taken ? "taken" : "not taken");
		put_cell(out, "name", d->process);
		put_cell(out, "", *d->process ? history_verdict_id(d->verdict) : "");
		fputs("<td>", out);
		html_put(out, d->reason);
		if (d->times > 1)
			fprintf(out, " (%s times)", number_count(d->times).text);
		if (*d->trunk) {
			fputs("<br>", out);
			html_put(out, d->trunk);
		}
		fputs("</td>", out);
		put_cell(out, "name", d->capture);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
	if (v->decisions_cnt > ROWS)
		fprintf(out, "<p class=\"muted\">%zu earlier ones</p>\n", v->decisions_cnt - ROWS);
}

static void put_trunks(FILE *out, const struct history_view *v)
{
	if (!v->trunks.rows_cnt)
		return;
	fputs("<h2>Trunks of these captures, by harm: what to fix first</h2>\n"
	      "<div class=\"scroll\"><table class=\"wide\"><tr><th class=\"number\">harm</th>"
	      "<th class=\"number\">captures</th><th class=\"number\">of its CPU</th>"
	      "<th class=\"number\">degraded</th><th class=\"number\">people</th><th>process</th>"
	      "<th>trunk</th></tr>\n",
	      out);
	for (size_t i = 0; i < v->trunks.rows_cnt && i < ROWS; i++) {
		const struct trunk_again *t = &v->trunks.rows[i];

		fputs("<tr>", out);
		put_cell(out, "number", number_fixed(t->harm, 0).text);
		put_cell(out, "number", number_count(t->captures).text);
		put_cell(out, "number", number_percent(t->share).text);
		put_cell(out, "number", number_long_time((uint64_t)(t->seconds * 1e9)).text);
		put_cell(out, "number", number_fixed(t->people, 0).text);
		put_cell(out, "name", t->process);
		put_cell(out, "name", t->path);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n<p class=\"muted\">Harm is the trunk's share of its process's CPU x "
	      "seconds degraded x requests that were slow or unanswered, summed.</p>\n",
	      out);
}

/* --- all of it ------------------------------------------------------------------------------- */

static void put_fact(FILE *out, const char *title, const char *value, bool bad)
{
	fprintf(out, "<div><dt>%s</dt><dd%s>", title, bad ? " class=\"bad\"" : "");
	html_put(out, value);
	fputs("</dd></div>\n", out);
}

static void put_head(FILE *out, const struct history_view *v, const char *title)
{
	const struct history_figures *f = &v->subject.sum;

	fputs("<h1>", out);
	html_put(out, title);
	fprintf(out, "</h1>\n<p class=\"muted\">%s to ", history_when(v->first_s).text);
	fprintf(out, "%s UTC, %s of it observed by hotrun</p>\n<dl class=\"facts\">\n",
		history_when(v->last_s).text, number_percent(history_observed_share(v)).text);
	put_fact(out, "bad minutes", number_count(f->bad_minutes).text, f->bad_minutes > 0);
	put_fact(out, "degraded", number_long_time(f->hurt_ms * 1000000).text, false);
	put_fact(out, "worst verdict", history_verdict(f), false);
	put_fact(out, "CPUs used", number_fixed(history_cpus(f->cpu_ms, v->observed_ms), 2).text,
		 false);
	put_fact(out, "busiest hour", number_fixed(v->subject.most_cpus, 2).text, false);
	put_fact(out, "requests", number_count(f->requests).text, false);
	if (f->requests)
		put_fact(out, "slow", number_percent(history_slow_share(f)).text, false);
	fputs("</dl>\n", out);
}

int history_page_write(FILE *out, const struct history_view *v)
{
	char nonce[HTML_NONCE_BYTES], title[HISTORY_LABEL_BYTES];
	int err = html_nonce(nonce);

	if (err)
		return err;
	history_title(title, v);
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'nonce-%s'; base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta name=\"referrer\" content=\"no-referrer\">\n<title>hotrun history: ",
		nonce);
	html_put(out, title);
	fprintf(out, "</title>\n<style nonce=\"%s\">\n", nonce);
	fwrite(hotrun_page_history_css, 1,
	       (size_t)(hotrun_page_history_css_end - hotrun_page_history_css), out);
	fputs("</style>\n</head>\n<body>\n", out);
	put_head(out, v, title);
	if (v->curve_cnt) {
		put_curves(out, v);
		put_scatter(out, v);
		put_days(out, v);
	}
	put_kinds(out, v);
	put_decisions(out, v);
	put_trunks(out, v);
	fputs("</body>\n</html>\n", out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

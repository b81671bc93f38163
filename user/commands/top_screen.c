/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/top_screen.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "commands/command.h"
#include "commands/screen.h"
#include "output/top_text.h"

/* Head, host, status, titles above the rows; the keys below. */
#define LINES_ABOVE 4
#define LINES_BELOW 1
#define MIN_LINES   (LINES_ABOVE + LINES_BELOW + 3)
/* How long a message stays. */
#define MESSAGE_NS 15000000000ull

struct top_screen {
	struct screen *screen;
	struct live *live;
	const struct verdict_policy *policy;
	struct top_view *view; /* NULL = nothing measured yet */
	enum top_order order;
	uint32_t process; /* whose threads are shown, or MODEL_NONE */
	uint32_t chosen;  /* row of the model; MODEL_NONE = whatever stands first */
	size_t at, first; /* of view->rows: the chosen one, and the first on the screen */
	bool paused, help, quit;
	char message[1024];
	uint64_t message_until_ns;
};

static const char *const help_lines[] = {
	"Up Down j k   choose a row          PgUp PgDn Home End   far",
	"Enter t       the threads of the chosen process",
	"Esc           back to the processes",
	"c w s         order by CPU, by waiting threads, by context switches",
	"r v           by slow requests, by verdict",
	"Space         stop the picture, and go on",
	"q             quit",
	"",
	"running    threads on a CPU, on average: 1.00 is one CPU, all the time",
	"waiting    threads that were ready to run and had no CPU, on average",
	"others,own of these: behind other processes, behind threads of their own (wide screens)",
	"delay p99  99 of 100 waits for a CPU were shorter",
	"switch/s   context switches a second",
	"throttled  stopped by a CPU limit of its cgroup, of the time that it wanted",
	"slow       of the requests that it answered or that wait: those over 500 ms (--slow)",
	"stuck      requests without an answer for more than 10 s",
	"verdict    of this interval alone (wide screens)",
	"hottest    the application's method nearest to the leaf in most samples, or the leaf;",
	"           n/a: too few samples to name one ([k] kernel, [j] JIT code)",
	"Listed is what ran, waited, was throttled or served in the last interval.",
};

static void say(struct top_screen *t, const char *text)
{
	snprintf(t->message, sizeof(t->message), "%s", text);
	t->message_until_ns = clock_now_ns() + MESSAGE_NS;
}

/* --- rows ------------------------------------------------------------------------------------ */

static size_t rows_visible(const struct top_screen *t)
{
	unsigned int lines = screen_lines(t->screen);

	return lines > LINES_ABOVE + LINES_BELOW ? lines - LINES_ABOVE - LINES_BELOW : 0;
}

/* Finds the chosen row where it stands now, and the part of the table that shows it. */
static void find_chosen(struct top_screen *t)
{
	const struct top_view *v = t->view;
	size_t visible = rows_visible(t), i = 0;

	if (t->chosen == MODEL_NONE)
		t->at = 0;
	while (t->chosen != MODEL_NONE && i < v->rows_cnt && v->rows[i] != t->chosen)
		i++;
	if (t->chosen != MODEL_NONE && i < v->rows_cnt)
		t->at = i;
	/* One that is not listed now leaves the place to its neighbour. */
	if (t->at >= v->rows_cnt)
		t->at = v->rows_cnt ? v->rows_cnt - 1 : 0;
	if (t->first > t->at)
		t->first = t->at;
	if (visible && t->at >= t->first + visible)
		t->first = t->at - visible + 1;
	if (t->first + visible > v->rows_cnt)
		t->first = v->rows_cnt > visible ? v->rows_cnt - visible : 0;
}

static void arrange(struct top_screen *t)
{
	if (!t->view)
		return;
	if (top_view_arrange(t->view, t->process, t->order))
		say(t, "out of memory");
	find_chosen(t);
}

static void choose(struct top_screen *t, size_t at)
{
	if (!t->view || !t->view->rows_cnt)
		return;
	t->at = at < t->view->rows_cnt ? at : t->view->rows_cnt - 1;
	t->chosen = t->at ? t->view->rows[t->at] : MODEL_NONE;
	find_chosen(t);
}

/* --- the picture ----------------------------------------------------------------------------- */

static void draw_too_small(struct top_screen *t)
{
	char text[128];

	snprintf(text, sizeof(text), "%ux%u is too small:", screen_columns(t->screen),
		 screen_lines(t->screen));
	screen_put(t->screen, 0, text, SCREEN_HEADING);
	snprintf(text, sizeof(text), "%ux%u needed", TOP_MIN_COLUMNS, MIN_LINES);
	screen_put(t->screen, 1, text, SCREEN_PLAIN);
	screen_put(t->screen, 2, "q quits", SCREEN_PLAIN);
}

static void draw_status(struct top_screen *t)
{
	const char *logged = screen_logged(t->screen);
	char line[TOP_LINE_BYTES];

	if (logged)
		say(t, logged);
	if (t->message[0] && clock_now_ns() < t->message_until_ns) {
		screen_put(t->screen, 2, t->message, SCREEN_ALARM);
		return;
	}
	if (t->view) {
		top_text_losses(line, t->view, screen_columns(t->screen));
		screen_put(t->screen, 2, line, SCREEN_ALARM);
	}
}

static void draw_rows(struct top_screen *t)
{
	size_t visible = rows_visible(t);
	unsigned int columns = screen_columns(t->screen);
	struct top_view *v = t->view;
	char line[TOP_LINE_BYTES];

	top_text_head(line, v, columns);
	screen_put(t->screen, 0, line, SCREEN_HEADING);
	top_text_host(line, v, columns);
	screen_put(t->screen, 1, line, SCREEN_PLAIN);
	top_text_titles(line, v, columns);
	screen_put(t->screen, LINES_ABOVE - 1, line, SCREEN_TITLES);
	for (size_t i = 0; i < visible && t->first + i < v->rows_cnt; i++) {
		size_t row = t->first + i;

		if (t->process == MODEL_NONE)
			collector_name_process(t->live->collector, v->rows[row]);
		top_text_row(line, v, row, columns);
		screen_put(t->screen, LINES_ABOVE + (unsigned int)i, line,
			   row == t->at ? SCREEN_CHOSEN : SCREEN_PLAIN);
	}
}

static void draw(struct top_screen *t)
{
	unsigned int lines = screen_lines(t->screen);
	const char *keys = t->help     ? "any key: back"
			   : t->paused ? "PAUSED, Space goes on   q quit"
			   : t->process != MODEL_NONE
				   ? "q quit  h help  Esc processes  c CPU  "
				     "w waiting  s switches  r requests  v verdict  Space pause"
				   : "q quit  h help  Enter threads  c CPU  "
				     "w waiting  s switches  r requests  v verdict  Space pause";

	screen_clear(t->screen);
	if (lines < MIN_LINES || screen_columns(t->screen) < TOP_MIN_COLUMNS) {
		draw_too_small(t);
	} else if (t->help) {
		for (unsigned int i = 0; i < sizeof(help_lines) / sizeof(help_lines[0]); i++)
			if (i + 2 < lines)
				screen_put(t->screen, i, help_lines[i], SCREEN_PLAIN);
		screen_put(t->screen, lines - 1, keys, SCREEN_HEADING);
	} else {
		if (t->view)
			draw_rows(t);
		else
			screen_put(t->screen, 0, "measuring the first interval", SCREEN_HEADING);
		draw_status(t);
		screen_put(t->screen, lines - 1, keys, SCREEN_HEADING);
	}
	screen_show(t->screen);
}

/* --- keys ------------------------------------------------------------------------------------ */

static void show_threads(struct top_screen *t)
{
	if (!t->view || t->process != MODEL_NONE || !t->view->rows_cnt)
		return;
	t->process = t->view->rows[t->at];
	t->chosen = MODEL_NONE;
	t->first = 0;
	arrange(t);
}

static void show_processes(struct top_screen *t)
{
	if (t->process == MODEL_NONE)
		return;
	t->chosen = t->process;
	t->process = MODEL_NONE;
	arrange(t);
}

static void set_order(struct top_screen *t, enum top_order order)
{
	t->order = order;
	t->chosen = MODEL_NONE;
	t->first = 0;
	arrange(t);
}

static void move(struct top_screen *t, int key)
{
	size_t page = rows_visible(t);

	switch (key) {
	case SCREEN_UP:
	case 'k':
		choose(t, t->at ? t->at - 1 : 0);
		break;
	case SCREEN_DOWN:
	case 'j':
		choose(t, t->at + 1);
		break;
	case SCREEN_PAGE_UP:
		choose(t, t->at > page ? t->at - page : 0);
		break;
	case SCREEN_PAGE_DOWN:
		choose(t, t->at + page);
		break;
	case SCREEN_HOME:
	case 'g':
		choose(t, 0);
		break;
	case SCREEN_END:
	case 'G':
		choose(t, SIZE_MAX);
		break;
	default:
		break;
	}
}

static void take_key(struct top_screen *t, int key)
{
	if (t->help && key != SCREEN_RESIZED && key != SCREEN_CLOSED) {
		t->help = false;
		return;
	}
	switch (key) {
	case SCREEN_CLOSED:
	case 'q':
	case 'Q':
		t->quit = true;
		break;
	case 'h':
	case '?':
		t->help = true;
		break;
	case ' ':
		t->paused = !t->paused;
		break;
	case 'c':
		set_order(t, TOP_BY_CPU);
		break;
	case 'w':
		set_order(t, TOP_BY_WAITING);
		break;
	case 's':
		set_order(t, TOP_BY_SWITCHES);
		break;
	case 'r':
		set_order(t, TOP_BY_SLOW);
		break;
	case 'v':
		set_order(t, TOP_BY_VERDICT);
		break;
	case SCREEN_ENTER:
	case 't':
		show_threads(t);
		break;
	case SCREEN_ESCAPE:
		show_processes(t);
		break;
	case SCREEN_RESIZED:
		if (t->view)
			find_chosen(t);
		break;
	default:
		move(t, key);
	}
}

/* --------------------------------------------------------------------------------------------- */

static void take_slice(struct top_screen *t)
{
	struct top_view *view;

	if (t->paused)
		return;
	view = top_view_new(collector_model(t->live->collector), t->policy);
	if (!view) {
		say(t, "out of memory");
		return;
	}
	top_view_free(t->view);
	t->view = view;
	arrange(t);
}

/* Rows of the old model mean nothing in the new one. */
static void forget_rows(struct top_screen *t)
{
	top_view_free(t->view);
	t->view = NULL;
	t->process = t->chosen = MODEL_NONE;
	t->paused = false;
	say(t, "many processes came and went: begun afresh, one interval is skipped");
}

static int loop(struct top_screen *t, uint64_t slices)
{
	int code = EXIT_OK;

	draw(t);
	while (!t->quit && !stop_requested) {
		int key = screen_key(t->screen, live_pause_ns(t->live));
		bool slice;

		if (key != SCREEN_NONE)
			take_key(t, key);
		if (t->quit)
			break;
		slice = live_step(t->live);
		if (slice) {
			/* A picture of the old model is drawn before that is gone. */
			take_slice(t);
			draw(t);
			if ((slices && !--slices) || !live_next(t->live, &code))
				break;
			if (t->live->renewed)
				forget_rows(t);
		} else if (key != SCREEN_NONE) {
			draw(t);
		}
	}
	return code;
}

int top_screen_run(struct live *live, const struct verdict_policy *policy, enum top_order order,
		   uint64_t slices)
{
	struct top_screen t = {.live = live,
			       .policy = policy,
			       .order = order,
			       .process = MODEL_NONE,
			       .chosen = MODEL_NONE};
	char why[256];
	int code;

	if (screen_open(why, sizeof(why), &t.screen)) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	collector_warn(live->collector); /* into the line of the screen */
	code = loop(&t, slices);
	screen_close(t.screen);
	top_view_free(t.view);
	return code;
}

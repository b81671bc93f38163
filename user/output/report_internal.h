/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_REPORT_INTERNAL_H
#define HOTRUN_OUTPUT_REPORT_INTERNAL_H
/*
 * What the parts of the text report share. Only report*.c include this.
 */
#include <stdbool.h>
#include <stdio.h>

#include "judge/blocked.h"
#include "judge/books.h"
#include "judge/hang.h"
#include "judge/verdicts.h"
#include "judge/wakers.h"
#include "model/contention.h"
#include "model/model.h"
#include "model/policy.h"
#include "model/requests.h"
#include "model/sched.h"
#include "model/totals.h"
#include "model/unnamed.h"
#include "output/figures.h"
#include "output/label.h"
#include "output/report.h"
#include "output/report_groups.h"
#include "output/report_text.h"
#include "output/table.h"
#include "output/words.h"

/* What cpu.stat says of the limit of one cgroup, over the capture. */
struct report_throttled {
	uint64_t periods, throttled_periods, throttled_ns;
};

struct report {
	FILE *out;
	FILE *json;	  /* of report_write_both(), else NULL */
	size_t json_rows; /* of processes in it at the most, 0 = all */
	struct model *m;
	struct report_options o; /* with the defaults filled in */
	struct totals *totals;
	struct groups groups;	 /* rows of processes */
	struct unnamed *unnamed; /* of the whole capture */
	struct unnamed **named;	 /* by row of processes, see report_unnamed() */
	struct books books;
	bool withheld; /* shares of samples are not shown: the books have a gap */
	/* What the scheduler did; NULL where the capture kept no waits. */
	struct sched *sched;
	struct contention *contention;
	struct requests *requests;	    /* NULL where report_requests_off() */
	struct report_throttled *throttled; /* by cgroup */
	struct hottest_book *hottest;
	struct verdicts *verdicts;
	/* NULL where the capture has no rows of where threads stood. */
	struct blocked *blocked;
	struct hangs *hangs;
	struct wakers *wakers; /* who ended those waits; NULL: nobody asked */
};

/* Processes that the first screen says more of. */
#define HEAD_PROCESSES 3

/* Shares of samples and of those that waited at them are told as equal where they lie less
 * apart. */
#define HARM_LEAST 0.03

/* What a piece of text is; colours where they are asked for. */
enum paint { PAINT_HEADING, PAINT_APPLICATION, PAINT_FAINT, PAINT_ALARM };

/* report_cells.c: pieces of a line. Untrusted strings go through output/label.h. */
void put_paint(const struct report *r, enum paint paint);
void put_plain(const struct report *r);
/* A heading line of its own, after an empty line. */
void put_heading(const struct report *r, const char *text);
void put_spaces(const struct report *r, size_t columns);
/* A stranger's name, cut to columns. Returns columns written. */
size_t put_name(const struct report *r, const char *name, size_t columns, enum text_cut cut);
/* A process for people: name and its unit or container. */
void put_process(const struct report *r, uint32_t process, size_t columns);
/* A method with its file where that helps, and [k] or [j]. */
void report_method(const struct report *r, uint32_t symbol, size_t columns,
		   char buf[static LABEL_METHOD_BYTES]);
void put_method(const struct report *r, uint32_t symbol, size_t columns);
/* Words of ours, broken at spaces to the width, later lines indented. The first line stands at
 * column `at` already. */
void put_words(const struct report *r, const char *text, size_t at, size_t indent);
/* It in lines, the first one indented so far, later ones two columns more. */
void put_paragraph(const struct report *r, const struct words *w, size_t indent);
/* How far a share in percent can be off: "±1.2", and where that would reach beyond 0 or 100 the far
 * side alone, "+1.2" or "−1.2". */
struct number report_error(uint64_t part, uint64_t whole);
bool report_error_is_even(uint64_t part, uint64_t whole);
/* True where that rounds to more than nothing: else a column of it tells nothing. */
bool report_is_some(const struct report *r, uint64_t ns);

/* Tables: which columns there are (struct column.when), and what a row of processes is about; row:
 * NULL = the whole host. */
enum {
	BY_PROCESS = 1,
	BY_WORKLOAD = 2,
	WITH_WAITS = 4,	    /* the scheduler's figures are known */
	WITH_THROTTLED = 8, /* something was */
	WITH_MORE = 16,	    /* of one table alone, as are the next ones */
	WITH_MORE_YET = 32,
};
unsigned int report_when(const struct report *r);
struct subject report_subject(const struct report *r, const struct group_row *row,
			      const struct sched_sum *sched);
void report_group_text(char text[static CELL_BYTES], size_t columns, const struct subject *s);
/* The last columns of a table of them. */
extern const struct figure report_process_group, report_workload_group;
#define REPORT_WHO                                                                     \
	{&report_process_group, .left = true, .gap = 2, .when = BY_PROCESS},           \
		{&report_workload_group, .left = true, .gap = 2, .when = BY_WORKLOAD}, \
	{                                                                              \
		&figure_pid, .width = PID_COLUMNS                                      \
	}
#define PID_COLUMNS 9
/* "   12.3 % ±1.2" in SHARE_COLUMNS. */
void report_share(const struct report *r, uint64_t part, uint64_t whole,
		  char text[static CELL_BYTES]);
#define SHARE_COLUMNS 14
/* The titles of a table as a heading. */
void put_titles(const struct report *r, const struct table *t);
#define TABLE_OF(t, columns, r, when) TABLE_LAY_OUT(t, columns, (r)->o.width, when)

/* Of the table of processes, without hotrun: who took most CPU, and who had most threads that
 * ran or waited for it; NULL: nobody. */
const struct group_row *report_most_cpu(const struct report *r);
const struct group_row *report_most_runnable(const struct report *r);

/* The next row of the table that "start here" speaks of and the report details: those with
 * samples, that hang or that were asked for, but for the kernel's threads and hotrun itself; who
 * is hurt first. at: 0 at first. NULL = end. */
const struct group_row *report_next_row(const struct report *r, size_t *at);

/* A row of processes as words: "Shop.Api 1234", "12 x sh", "kernel threads"; with the
 * scheduler's class where all of it is of one, "backup 77 (nice 19)". */
void report_label(const struct report *r, const struct group_row *row, size_t columns,
		  char buf[static NAME_BYTES]);
/* The method to start with in the samples of a process, else the one that burns most; looked up
 * once a process. Empty text where there is none. 0 or -ENOMEM. */
int report_hottest(const struct report *r, uint32_t process, size_t columns,
		   char buf[static NAME_BYTES]);
/* Where they are kept; owned by the caller, or NULL without memory. Free takes NULL. */
struct hottest_book *report_hottest_new(void);
void report_hottest_free(struct hottest_book *book);

/* Sums by cgroup; owned by the caller, or NULL without memory. */
struct report_throttled *report_throttled_new(const struct model *m);
/* Why requests are not known, or NULL. */
const char *report_requests_off(const struct report *r);
/* Why sched is NULL. */
const char *report_waits_off(const struct report *r);
/* The cgroup whose limit stopped a process: of its group and those above the one that was
 * throttled in most periods, else the one with the smallest limit; MODEL_NONE without any. */
uint32_t report_limit_of(const struct report *r, uint32_t process);
/* "limit 0.50 CPUs (50.0 ms of each 100.0 ms) of /docker/3f2a, reached in 45 of 100 periods". */
void report_limit_text(const struct report *r, uint32_t cgroup, char buf[static NAME_BYTES]);

/* Adds the others that ran most while a process waited, ": wrk 30460 60 %, rt-loop 900 36 %";
 * nothing where that is not known. 0 or -ENOMEM. */
int report_behind(const struct report *r, uint32_t process, struct words *w);

/* Since the recording's start, as --from and --to take it. */
uint64_t report_since_ns(const struct report *r, uint64_t time_ns);

/* CPU time as mean number of CPUs. */
double report_cores(const struct report *r, uint64_t on_cpu_ns);

/* The totals of that row of the model, or NULL. */
const struct total_process *report_find(const struct report *r, uint32_t process);

/* The sections. 0 or -ENOMEM. */
/* The file of report_json_write(). 0 or -ENOMEM. */
int report_verdicts_json(const struct report *r);
void report_host(const struct report *r);
/* What else is known of the host: system, program, switches, run delays, pressure. */
void report_host_words(const struct report *r, struct words *w);
int report_verdict(const struct report *r);
void report_processes(const struct report *r);
int report_who_waits(const struct report *r);
int report_start_here(const struct report *r);
/* One line where nothing is wrong with them, else as report_all_books(). */
int report_books(const struct report *r);
/* " (images 61.0 %, memory 38.8 %)", " (by memory)": what named the .NET code; nothing where
 * nothing did. */
void report_named_by(const struct unnamed *u, struct words *w);
/* Found out once for all who ask; borrowed from r, NULL without memory. */
const struct unnamed *report_unnamed(const struct report *r, uint32_t process);
bool report_books_wrong(const struct report *r);
int report_all_books(const struct report *r);
int report_requests(const struct report *r);
int report_sched(const struct report *r);
int report_contention(const struct report *r);
int report_cgroup_limits(const struct report *r); /* where no accounts are kept */
int report_cgroups(const struct report *r);
int report_process(const struct report *r, const struct total_process *process);
/* Of one process: what it could use, how its wait splits, its threads. */
int report_process_waits(const struct report *r, uint32_t process);
/* Of one process: ports, times to the first answer byte, its worst seconds. */
int report_process_requests(const struct report *r, uint32_t process);
int report_threads(const struct report *r, uint32_t process);
int report_tree(const struct report *r, uint32_t process);
/* Of one process: for how long its threads were blocked, and where. */
int report_process_blocked(const struct report *r, uint32_t process);
/* Where most of its threads wait; false where that is not known, or none does. */
bool report_hang(const struct report *r, uint32_t process, struct hang *ret_hang);
/* Of one that is hurt: whether that tells anything. */
bool report_row_hangs(const struct report *r, const struct group_row *row);
/* That of all processes, or of those asked for, alone; and for machines. */
int report_blocked(const struct report *r);
int report_blocked_json(const struct report *r);
bool report_blocked_is_asked(const struct report *r, const struct blocked_process *p);
void report_losses(const struct report *r);
int report_idle(const struct report *r);
#endif

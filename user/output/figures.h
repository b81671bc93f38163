/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_FIGURES_H
#define HOTRUN_OUTPUT_FIGURES_H
/*
 * The figures that more than one table shows: each once, with its title, unit and how it is had.
 * What a table alone shows stands in its own file. Pure; no threads.
 */
#include "output/table.h"

/* Of the scheduler; they read subject.sched, .m and .elapsed_ns. Exact, by context switches. */
extern const struct figure figure_wanted;	   /* running + waiting + throttled */
extern const struct figure figure_running;	   /* mean threads on a CPU */
extern const struct figure figure_waiting;	   /* mean threads on a run queue */
extern const struct figure figure_behind_others;   /* of waiting */
extern const struct figure figure_behind_own;	   /* of waiting */
extern const struct figure figure_throttled;	   /* mean threads stopped by a limit */
extern const struct figure figure_progress;	   /* running of wanted */
extern const struct figure figure_uninterruptible; /* mean threads in state D */
extern const struct figure figure_slice;	   /* mean time on the CPU at a time */
extern const struct figure figure_delay_p50;	   /* run delay, as are the next two */
extern const struct figure figure_delay_p99;
extern const struct figure figure_delay_max;
extern const struct figure figure_delays; /* run delays that ended */
extern const struct figure figure_switches;
extern const struct figure figure_voluntary;
extern const struct figure figure_involuntary;
extern const struct figure figure_migrations;

/* Of requests; they read subject.requests (NULL: it serves none), .m and .elapsed_ns. */
extern const struct figure figure_requests; /* that came */
extern const struct figure figure_answers;
extern const struct figure figure_time_p50; /* to the first answer byte, as are the next two */
extern const struct figure figure_time_p99;
extern const struct figure figure_time_max;
extern const struct figure figure_slow;
extern const struct figure figure_score; /* Apdex */
extern const struct figure figure_open;	 /* unanswered at the end */
extern const struct figure
	figure_oldest; /* the most at the end of any slice, as are the next two */
extern const struct figure figure_stuck;
extern const struct figure figure_queue;   /* to be accepted, of how many may wait */
extern const struct figure figure_refused; /* connections */

/* Of subject.process, .cnt and .thread. */
extern const struct figure figure_pid;
extern const struct figure figure_process;
extern const struct figure figure_tid;
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_BUILD_MODEL_H
#define HOTRUN_TESTS_BUILD_MODEL_H
/*
 * Captures made by hand, for tests of what reads a model. Times start at BUILD_START_NS; every
 * symbol of a process gets an address of its own. Failures of the model end the test.
 *
 *	struct model *m = build_model(2, 99);
 *	uint32_t p = build_process(m, 100, "Shop.Api", PROCESS_DOTNET);
 *	uint32_t t = build_thread(m, p, 100, ".NET TP Worker", 5 * BUILD_SECOND, 'S');
 *	uint32_t main = build_symbol(m, "Program.Main", "Shop.Api", KIND_JIT, true);
 *	BUILD_SAMPLES(m, t, 30, main, work);		(root first)
 */
#include "model/model.h"

#define BUILD_SECOND   1000000000ull
#define BUILD_START_NS (1000 * BUILD_SECOND)

/* An empty capture of a host "web-1", without slices. */
struct model *build_model(uint32_t cpus, uint32_t hz);
/* A process with facts, born before the capture. */
uint32_t build_process(struct model *m, uint32_t tgid, const char *name, uint32_t flags);
uint32_t build_thread(struct model *m, uint32_t process, uint32_t tid, const char *comm,
		      uint64_t on_cpu_ns, char state);
uint32_t build_symbol(struct model *m, const char *name, const char *module, enum model_kind kind,
		      bool application);
/* A frame without a name, "module+0xoffset". */
uint32_t build_unnamed(struct model *m, const char *module, uint32_t offset, enum model_kind kind,
		       enum model_reason reason);

/* cnt samples of thread with this path of symbols, root first. Kernel symbols form the kernel
 * stack. stack_flags: STACK_TRUNCATED, STACK_BROKEN of the user stack. */
void build_samples(struct model *m, uint32_t thread, uint32_t cnt, uint16_t stack_flags,
		   const uint32_t *symbols, uint32_t symbol_cnt);
#define BUILD_SAMPLES(m, thread, cnt, ...)                                \
	build_samples(m, thread, cnt, 0, (const uint32_t[]){__VA_ARGS__}, \
		      sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define BUILD_BROKEN(m, thread, cnt, flags, ...)                              \
	build_samples(m, thread, cnt, flags, (const uint32_t[]){__VA_ARGS__}, \
		      sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
/* The row of the module where the walk of the newest stack broke. */
void build_broken_at(struct model *m, const char *path);

/* Adds one slice of that length with an equal row for each CPU; idle = length - busy -
 * unaccounted. ticks are those taken on each CPU. */
void build_slice(struct model *m, uint64_t length_ns, uint64_t accounted_ns,
		 uint64_t unaccounted_ns, uint64_t ticks);
/*
 * Adds slices of one second whose books agree with the threads and samples so far: what a thread
 * has beyond its rows of accounts is spread over them evenly, and ticks found nobody waiting.
 */
void build_books(struct model *m, uint32_t seconds);

/* --- waiting; slices and rows may be named before they are there ------------------------------ */

/* Adds figures to those of a thread; build_books() makes the rows of accounts. */
void build_sched(struct model *m, uint32_t thread, const struct sched_figures *figures);
/* Likewise, as a row of accounts of that slice. */
void build_account(struct model *m, uint32_t slice, uint32_t thread,
		   const struct sched_figures *figures);
/* cnt run delays of that length that ended in that slice; the thread's longest is at least that.
 * The time waited is not touched: build_sched(). */
void build_delays(struct model *m, uint32_t slice, uint32_t thread, uint64_t delay_ns,
		  uint64_t cnt);
/* While runner ran, threads of waiter (MODEL_NONE = unknown) waited, summed over ticks, in
 * 1/1000. */
void build_contention(struct model *m, uint32_t slice, uint32_t runner, uint32_t waiter,
		      uint64_t weight);
/* Returns its row. quota_ns 0 = no limit. */
uint32_t build_cgroup(struct model *m, uint64_t id, uint32_t parent, const char *path,
		      uint64_t quota_ns, uint64_t period_ns);
/* All of a process is in that group: to be called before its accounts are made. */
void build_in_cgroup(struct model *m, uint32_t process, uint32_t cgroup);
void build_throttle(struct model *m, uint32_t slice, uint32_t cgroup, uint64_t periods,
		    uint64_t throttled_periods, uint64_t throttled_ns);
/* What a process serves through a listening socket of its own, T 500 ms. Returns its row. */
uint32_t build_endpoint(struct model *m, uint32_t process, const char *address, uint16_t port);
/* Adds figures to the row of that endpoint and slice (both in service); what stands at the end
 * replaces what stood there. */
void build_service(struct model *m, const struct model_service *service);
/* cnt requests that were answered after time_ns each: figures and histogram. */
void build_answers(struct model *m, uint32_t slice, uint32_t endpoint, uint64_t time_ns,
		   uint64_t cnt);
/* At the newest cnt samples so many threads waited for the CPU, or WAITERS_UNKNOWN. */
void build_waiters(struct model *m, uint32_t cnt, uint32_t waiters);
/* A switch or wakeup so long after the start, of which the slice is there; those before it are. */
void build_switch(struct model *m, uint64_t after_ns, struct model_switch row);
/* Of the ticks of a CPU in a slice that found nobody waiting, cnt found that many, 11 = unknown.
 * Adds ticks where there are too few. */
void build_queue(struct model *m, uint32_t slice, uint32_t cpu, uint32_t waiters, uint64_t cnt);
#endif

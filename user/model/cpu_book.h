/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_CPU_BOOK_H
#define HOTRUN_MODEL_CPU_BOOK_H
/*
 * What was last read of each CPU's clock, and what it did since: idle + accounted + unaccounted is
 * the time that passed, by construction. Pure; no threads.
 */
#include <linux/types.h>

#include "bpf/events.h"
#include "model/model.h"

struct cpu_seen {
	bool valid, online;
	struct cpu_clock clock; /* with the running interval added */
	uint64_t now_ns, steal_ns;
	uint64_t gap_ns; /* between two clocks: of the time since then, nobody's */
	/* What the kernel told as idle when it was last certain who runs, and the clock as idle or
	 * nobody's; on line only. */
	bool sure;
	uint64_t sure_kernel_ns, sure_clock_ns;
};

struct cpu_book {
	struct cpu_seen *seen;
	uint32_t cpus;
};

/* For CPUs 0 to cpus - 1. 0 or -ENOMEM. */
int cpu_book_init(struct cpu_book *book, uint32_t cpus);
/* Releases what it holds. Takes a zeroed one. */
void cpu_book_clear(struct cpu_book *book);

/* One reading of a CPU. */
struct cpu_reading {
	const struct cpu_clock *clock;
	uint64_t now_ns;
	uint64_t steal_ns; /* cumulative */
	uint64_t idle_ns;  /* cumulative, by the kernel's count, to a tick of 10 ms */
	bool online;
};
/*
 * Where somebody seems to run whose switch nobody saw, the kernel's idle time tells so. Takes a
 * reading; recording that started at start_ns (0 = not yet: a baseline). Returns true where
 * *ret_row is what the CPU did since the last reading, its slice left at 0: false for the first
 * one, before the start, for a CPU that was and is off line, and for one beyond the book.
 */
bool cpu_book_read(struct cpu_book *book, uint32_t cpu, const struct cpu_reading *reading,
		   uint64_t start_ns, struct model_cpu *ret_row);
/* The clock of that CPU is another one from now on, which goes on from there: the time between the
 * last reading and this one is unaccounted. */
void cpu_book_change(struct cpu_book *book, uint32_t cpu, const struct cpu_clock *clock,
		     uint64_t now_ns);
#endif

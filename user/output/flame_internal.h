/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_FLAME_INTERNAL_H
#define HOTRUN_OUTPUT_FLAME_INTERNAL_H
/*
 * What the parts that make the data block share. Only flame_*.c and diff_page.c include this.
 */
#include "model/model.h"
#include "model/totals.h"
#include "output/flame.h"
#include "output/forest.h"
#include "output/json.h"
#include "output/pack.h"

/* Columns of the block, as flame.h has them. */
#define FLAME_COLUMNS(COLUMN)                            \
	COLUMN(NODE_UP, "node.up")                       \
	COLUMN(NODE_SYMBOL, "node.symbol")               \
	COLUMN(SYMBOL_NAME, "symbol.name")               \
	COLUMN(SYMBOL_RAW, "symbol.raw")                 \
	COLUMN(SYMBOL_MODULE, "symbol.module")           \
	COLUMN(SYMBOL_KIND, "symbol.kind")               \
	COLUMN(SYMBOL_REASON, "symbol.reason")           \
	COLUMN(SYMBOL_APPLICATION, "symbol.application") \
	COLUMN(SYMBOL_LATER, "symbol.later")             \
	COLUMN(TIER_SYMBOL, "tier.symbol")               \
	COLUMN(TIER_NAME, "tier.name")                   \
	COLUMN(TIER_FRAMES, "tier.frames")               \
	COLUMN(THREAD_PROCESS, "thread.process")         \
	COLUMN(THREAD_TID, "thread.tid")                 \
	COLUMN(THREAD_NAME, "thread.name")               \
	COLUMN(THREAD_ROLE, "thread.role")               \
	COLUMN(CPU_SLOT, "cpu.slot")                     \
	COLUMN(CPU_NODE, "cpu.node")                     \
	COLUMN(CPU_THREAD, "cpu.thread")                 \
	COLUMN(CPU_WEIGHT, "cpu.weight")                 \
	COLUMN(CPU_WAITERS, "cpu.waiters")               \
	COLUMN(BLOCKED_SLOT, "blocked.slot")             \
	COLUMN(BLOCKED_NODE, "blocked.node")             \
	COLUMN(BLOCKED_THREAD, "blocked.thread")         \
	COLUMN(BLOCKED_WEIGHT, "blocked.weight")         \
	COLUMN(SLICE_START, "slice.startNs")             \
	COLUMN(SLICE_LENGTH, "slice.lengthNs")           \
	COLUMN(SLICE_CPU_FROM, "slice.cpuFrom")          \
	COLUMN(SLICE_CPU_TO, "slice.cpuTo")              \
	COLUMN(SLICE_BLOCKED_FROM, "slice.blockedFrom")  \
	COLUMN(SLICE_BLOCKED_TO, "slice.blockedTo")      \
	COLUMN(SLICE_ELAPSED, "slice.elapsedNs")         \
	COLUMN(SLICE_IDLE, "slice.idleNs")               \
	COLUMN(SLICE_STEAL, "slice.stealNs")             \
	COLUMN(SLICE_WAITED, "slice.waitedNs")           \
	COLUMN(SLICE_THROTTLED, "slice.throttledNs")     \
	COLUMN(SLICE_EVERY, "slice.sampleEvery")         \
	COLUMN(SLICE_QUIET, "slice.quiet")               \
	COLUMN(SLICE_LOST, "slice.lost")                 \
	COLUMN(ACCOUNT_SLICE, "account.slice")           \
	COLUMN(ACCOUNT_PROCESS, "account.process")       \
	COLUMN(ACCOUNT_ON_CPU, "account.onCpuUs")        \
	COLUMN(ACCOUNT_WAITED, "account.waitedUs")       \
	COLUMN(ACCOUNT_THROTTLED, "account.throttledUs") \
	COLUMN(CONTENTION_SLICE, "contention.slice")     \
	COLUMN(CONTENTION_RUNNER, "contention.runner")   \
	COLUMN(CONTENTION_WAITER, "contention.waiter")   \
	COLUMN(CONTENTION_WEIGHT, "contention.weight")   \
	COLUMN(SERVICE_SLICE, "service.slice")           \
	COLUMN(SERVICE_ENDPOINT, "service.endpoint")     \
	COLUMN(SERVICE_ANSWERED, "service.answered")     \
	COLUMN(SERVICE_SLOW, "service.slow")             \
	COLUMN(SERVICE_ABANDONED, "service.abandoned")   \
	COLUMN(SERVICE_REFUSED, "service.refused")       \
	COLUMN(SERVICE_TIME, "service.timeUs")           \
	COLUMN(SERVICE_LONGEST, "service.longestUs")     \
	COLUMN(SERVICE_OPEN, "service.open")             \
	COLUMN(SERVICE_LATE, "service.late")             \
	COLUMN(SERVICE_STUCK, "service.stuck")           \
	COLUMN(RESPONSE_SLICE, "response.slice")         \
	COLUMN(RESPONSE_ENDPOINT, "response.endpoint")   \
	COLUMN(RESPONSE_SLOT, "response.slot")           \
	COLUMN(RESPONSE_ANSWERS, "response.answers")

#define FLAME_COLUMN_ID(id, name) COLUMN_##id,
enum flame_column { FLAME_COLUMNS(FLAME_COLUMN_ID) COLUMN_CNT };

/* How often a method was sampled in one tier; tier "" where it has none. */
struct flame_tier {
	uint32_t symbol;
	const char *tier;
	uint64_t frames, later;
};

struct flame_data {
	struct model *m;
	const struct flame_options *options;
	struct json json;
	struct varints columns[COLUMN_CNT];
	struct forest forest;
	uint64_t *cpu_samples, *blocked_ms; /* by row of processes */
	bool has_blocked;
	MODEL_TABLE(struct flame_tier, tiers);
	struct hash_index tier_index;
	/* Numbers in the block, in order of first use; by row, MODEL_NONE = not used yet. */
	uint32_t *symbol_number, *thread_number, *process_number;
	MODEL_TABLE(uint32_t, symbols); /* rows */
	MODEL_TABLE(uint32_t, processes);
	MODEL_TABLE(const char *, strings);
	struct hash_index string_index;
};

#define FLAME_PUT(d, column, value)  varints_put(&(d)->columns[COLUMN_##column], value)
#define FLAME_RISE(d, column, value) varints_rise(&(d)->columns[COLUMN_##column], value)

/* flame_data.c: the member "columns" of the JSON; and the block: the length of the JSON, it, the
 * columns. 0, -E2BIG, -EIO, or what a column failed with. */
void flame_put_columns(struct json *j, const struct varints *columns);
int flame_put_parts(FILE *out, const char *json, size_t len, const struct varints *columns);

/* Number of a string; equal strings of the model have one address. 0 or -ENOMEM. */
int flame_string(struct flame_data *d, const char *string, uint32_t *ret_number);
/* Numbers a row of symbols. 0 or -ENOMEM. */
int flame_symbol(struct flame_data *d, uint32_t row, uint32_t *ret_number);

/* flame_stacks.c: samples, nodes, threads and processes; the samples of m are those of blocked time
 * afterwards. 0 or -ENOMEM. */
int flame_stacks(struct flame_data *d);
/* flame_symbols.c: symbols and tiers. 0 or -ENOMEM. */
int flame_count_tier(struct flame_data *d, uint32_t symbol, const struct model_location *location,
		     uint64_t weight);
int flame_symbols(struct flame_data *d);
/* flame_series.c: what has one row a slice, and processes, ports and waits in time. 0 or
 * -ENOMEM. */
int flame_series(struct flame_data *d);
/* Members of the JSON: endpoints, and the bounds of the histogram. */
void flame_put_endpoints(struct flame_data *d);
#endif

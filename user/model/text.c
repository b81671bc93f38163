/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the codes of reasons and losses are called; see model.h. */
#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "model/model.h"

struct code_text {
	const char *id;
	const char *text;
};

static const struct code_text reasons[REASON_CNT] = {
	[REASON_NAMED] = {"named", "named"},
	[REASON_KALLSYMS_HIDDEN] = {"kallsyms-hidden", "kernel symbols are hidden"},
	[REASON_KERNEL_NO_SYMBOL] = {"kernel-no-symbol", "outside every kernel symbol"},
	[REASON_NO_MAPPING] = {"no-mapping", "address in no known mapping"},
	[REASON_NO_SYMBOL] = {"no-symbol", "file has no symbol there (stripped)"},
	[REASON_FILE_GONE] = {"file-gone", "file deleted or out of reach"},
	[REASON_FILE_DENIED] = {"file-denied", "no permission to read the file"},
	[REASON_FILE_UNSAFE] = {"file-unsafe", "not a regular file, or too large"},
	[REASON_FILE_TIMEOUT] = {"file-timeout", "file system did not answer in time"},
	[REASON_FILE_MALFORMED] = {"file-malformed", "file is damaged, or no program"},
	[REASON_FILE_CHANGED] = {"file-changed", "another file lies there now"},
	[REASON_NO_PERF_MAP] = {"no-perf-map", "JIT code without a perf map"},
	[REASON_PERF_MAP_UNSAFE] = {"perf-map-unsafe", "perf map is no plain file of its owner"},
	[REASON_PERF_MAP_STALE] = {"perf-map-stale", "perf map of an earlier process"},
	[REASON_PERF_MAP_NO_ENTRY] = {"perf-map-no-entry", "no entry in the perf map"},
	[REASON_PERF_MAP_REWRITTEN] = {"perf-map-rewritten", "perf map was rewritten"},
	[REASON_PERF_MAP_DAMAGED] = {"perf-map-damaged", "line of the perf map is damaged"},
	[REASON_PRECOMPILED] = {"precompiled", "precompiled image has no name there"},
	[REASON_ANONYMOUS_CODE] = {"anonymous-code", "executable memory without a file"},
	[REASON_PROCESS_GONE] = {"process-gone", "process ended before it could be read"},
	[REASON_COMPAT] = {"compat", "32-bit process"},
	[REASON_VSYSCALL] = {"vsyscall", "vsyscall page"},
	[REASON_STACK_LOST] = {"stack-lost", "stack lost or unreadable"},
	[REASON_TRUNCATED] = {"truncated", "deeper than is walked, or kept"},
	[REASON_LIMIT] = {"limit", "one of hotrun's bounds reached"},
	[REASON_PENDING] = {"pending", "not looked up before the recording ended"},
	[REASON_BROKEN] = {"broken", "walk lost its way: callers are missing"},
	[REASON_COMPRESSED] = {"compressed",
			       "precompiled code unpacked from a single-file program"},
	[REASON_FILE_COSTLY] = {"file-costly",
				"reading the file takes more work than it may cause"},
	[REASON_BUDGET] = {"budget", "its user or container used up what naming may cost"},
	[REASON_UNSURE] = {"caller-unsure", "nothing tells whether its method keeps a frame"},
	[REASON_RUNTIME_SILENT] = {"runtime-silent",
				   "JIT code of a runtime that does not say where it lies"},
	[REASON_MEMORY_DENIED] = {"memory-denied", "no right to read the process's memory"},
	[REASON_MEMORY_NO_CODE] = {"memory-no-code", "no JIT code lay there when memory was read"},
	[REASON_MEMORY_NO_NAME] = {"memory-no-name", "JIT code without a name in memory"},
	[REASON_FROM_MEMORY] = {"from-memory",
				"none; its methods have their names from its memory"},
	[REASON_MEMORY_LATE] = {"memory-late", "JIT code that was freed before it was read"},
};

static const struct code_text losses[LOSS_CAUSE_CNT] = {
	[LOSS_SAMPLE_RING_FULL] = {"sample-ring-full", "samples dropped: ring full"},
	[LOSS_STACK_RING_FULL] = {"stack-ring-full", "stacks not sent: ring full"},
	[LOSS_TASK_RING_FULL] = {"task-ring-full", "last accounts dropped: ring full"},
	[LOSS_USER_STACK_FAULT] = {"user-stack-fault", "user stacks not readable"},
	[LOSS_KERNEL_STACK_FAULT] = {"kernel-stack-fault", "kernel stacks not readable"},
	[LOSS_ACCOUNT_MISSING] = {"account-missing", "switches of threads without account"},
	[LOSS_ACCOUNT_ALLOC] = {"account-alloc", "accounts not created: no memory"},
	[LOSS_CLOCK_BACKWARDS] = {"clock-backwards", "switches before their predecessor"},
	[LOSS_SWITCH_UNSEEN] = {"switch-unseen", "switches that were not seen"},
	[LOSS_SCRATCH] = {"scratch", "ticks without scratch memory"},
	[LOSS_OWN_ESTIMATED] = {"own-estimated",
				"waits whose share behind own threads is estimated"},
	[LOSS_WAKEUP_UNSEEN] = {"wakeup-unseen", "waits whose beginning was not seen"},
	[LOSS_ENDPOINTS] = {"endpoints",
			    "requests of endpoints beyond a process's or cgroup's share"},
	[LOSS_SOCKET_ALLOC] = {"socket-alloc",
			       "sockets whose unanswered requests and queues are not seen"},
	[LOSS_ARRIVAL_UNSEEN] = {"arrival-unseen", "answers whose request was not seen to arrive"},
	[LOSS_LISTENING] = {"listening",
			    "listening sockets whose earlier connections are not followed"},
	[LOSS_SIDEBAND] = {"sideband", "mapping and lifetime records dropped"},
	[LOSS_RECURSION] = {"recursion", "program runs skipped by the kernel"},
	[LOSS_CPU_UNATTACHED] = {"cpu-unattached", "CPUs without a sampling event"},
	[LOSS_MODEL_LIMIT] = {"model-limit", "records beyond hotrun's bounds"},
	[LOSS_BAD_RECORD] = {"bad-record", "malformed records"},
	[LOSS_TICKS_MISSED] = {"ticks-missed", "expected ticks not taken"},
	[LOSS_NAMES_TIMEOUT] = {"names-timeout", "look-ups abandoned at their deadline"},
	[LOSS_ITERATOR] = {"iterator", "accounts or sockets not read"},
	[LOSS_WAKERS] = {"wakers", "waits that were found, but not who ended them"},
	[LOSS_SWITCHES] = {"switches", "single switches"},
	[LOSS_LOCK_HOLDERS] = {"lock-holders",
			       "waits of which nobody was asked who holds their lock"},
};

const char *model_reason_text(enum model_reason reason)
{
	return (unsigned)reason < REASON_CNT ? reasons[reason].text : "unknown reason";
}

const char *model_reason_id(enum model_reason reason)
{
	return (unsigned)reason < REASON_CNT ? reasons[reason].id : "unknown";
}

const char *model_loss_text(uint32_t cause)
{
	return cause < LOSS_CAUSE_CNT && losses[cause].text ? losses[cause].text : "unknown cause";
}

const char *model_loss_id(uint32_t cause)
{
	return cause < LOSS_CAUSE_CNT && losses[cause].id ? losses[cause].id : "unknown";
}

static const struct {
	const char *id, *text;
} ends[STACK_END_CNT] = {
	[STACK_END_UNTOLD] = {"frame-pointers", "code without frame pointers"},
	[STACK_END_ROOT] = {"root", "whole"},
	[STACK_END_NO_TABLE] = {"no-unwind-data", "no unwind data in the file"},
	[STACK_END_NOT_YET] = {"not-yet", "its unwind table was not there yet"},
	[STACK_END_INEXPRESSIBLE] = {"inexpressible", "unwind data that rows cannot express"},
	[STACK_END_UNREADABLE] = {"unreadable", "stack memory that could not be read"},
	[STACK_END_ASTRAY] = {"astray", "unwind data that leads astray"},
	[STACK_END_DEPTH] = {"depth", "deeper than is walked"},
	[STACK_END_MEMORY] = {"memory", "no room for its unwind table"},
	[STACK_END_CODE] = {"code", "code made at run time, without a frame"},
};

const char *model_end_text(enum stack_end end)
{
	return end < STACK_END_CNT ? ends[end].text : "unknown";
}

const char *model_end_id(enum stack_end end)
{
	return end < STACK_END_CNT ? ends[end].id : "unknown";
}

/* Where the capture does not say more. */
static const struct {
	enum feature feature; /* FEATURE_CNT: none */
	const char *text;
} off_texts[OFF_CNT] = {
	/* by bit */
	{FEATURE_COUNTERS, "recorded by a hotrun that kept no waits"},
	{FEATURE_CGROUPS, "this kernel has no group scheduling"},
	{FEATURE_CNT, "this kernel has no pressure stall information (PSI)"},
	{FEATURE_RUN_QUEUES, "this kernel's run queues cannot be read"},
	{FEATURE_FULL_MODE, "told apart only where switches are looked at"},
	{FEATURE_CNT, "no cgroup file system with the cpu controller within reach"},
	{FEATURE_REQUESTS, "recorded without requests"},
	{FEATURE_FULL_MODE, "nobody looked at switches, to keep hotrun's cost within its budget"},
	{FEATURE_UNWIND_TABLES, "stacks were walked along frame pointers alone"},
	{FEATURE_BLOCKED, "nobody looked at threads that do not run"},
};

const char *model_feature_why(const struct model *m, enum feature f)
{
	for (size_t i = 0; i < m->features_cnt; i++)
		if (!strcmp(m->features[i].name, feature_rows[f].id))
			return feature_is_off(m->features[i].status) ? m->features[i].why : NULL;
	return NULL;
}

const char *model_off_text(const struct model *m, uint32_t bit)
{
	const char *why = NULL;
	uint32_t i = 0;

	while (i < OFF_CNT && bit != 1u << i)
		i++;
	if (i == OFF_CNT)
		return "unknown reason";
	if (off_texts[i].feature < FEATURE_CNT)
		why = model_feature_why(m, off_texts[i].feature);
	return why ?: off_texts[i].text;
}

const char *model_waits_why(const struct model *m)
{
	if (!(model_off(m) & OFF_ACCOUNTS))
		return NULL;
	return model_off_text(m, model_off(m) & OFF_SWITCHES ? OFF_SWITCHES : OFF_ACCOUNTS);
}

const char *model_requests_why(const struct model *m)
{
	return model_off(m) & OFF_REQUESTS ? model_off_text(m, OFF_REQUESTS) : NULL;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_ASKER_H
#define HOTRUN_NAMES_ASKER_H
/*
 * Asks processes for things: the loader, together with the memory of who did not answer. A process
 * that let one job hang is not asked again. One thread.
 */
#include "base/hash.h"
#include "model/model.h"
#include "names/loader.h"

/* Who is asked, copied into jobs: they may outlive the model. */
struct asker_target {
	char proc_path[256];
	uint32_t tgid;
	uint64_t start_ns; /* boottime */
	bool start_exact;
	bool exited; /* do not look at /proc: the id may be somebody else's by now */
};

struct asker {
	struct loader *loader;
	char proc_path[256];
	struct hash_index hung; /* rows of processes */
};

/* 0 or -errno. */
int asker_init(struct asker *a, const char *proc_path, uint64_t deadline_ns);
void asker_clear(struct asker *a);

struct asker_target asker_target(const struct asker *a, const struct model *m, uint32_t process);

/*
 * Runs a job on behalf of a process row. Returns REASON_NAMED: it ran; REASON_FILE_TIMEOUT: this
 * or an earlier one hung; REASON_LIMIT: too many hang, or no thread. ret_job: the job where it is
 * still the caller's, NULL where the loader took it.
 */
enum model_reason asker_run(struct asker *a, uint32_t process, struct loader_job *job,
			    struct loader_job **ret_job);

/*
 * Opens /proc/PID of the target (guard_process) once it is sure to be this incarnation: field 22 of
 * stat is its start time in clock ticks. Returns a descriptor owned by the caller, -ESRCH where it
 * is gone, or another -errno. For jobs.
 */
int asker_open(const struct asker_target *target);
/* Whether a start time in clock ticks is the target's. */
bool asker_same_start(const struct asker_target *target, uint64_t start_ticks);
#endif

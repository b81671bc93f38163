/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_STANDING_H
#define HOTRUN_JUDGE_STANDING_H
/*
 * What it means where threads stand: what each waits for, whether that wait is an idle one, and
 * threads that stand at the same place as one group. Rules over stands and the model; no I/O, no
 * threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/role.h"
#include "model/stand.h"

/* What a thread is held by, told from its state, its kernel frames, else its system call. */
enum stand_wait {
	WAIT_RUNS,	/* for nothing: it is on a CPU */
	WAIT_CPU,	/* it could run */
	WAIT_LOCK,	/* futex: locks, conditions, semaphores of user code */
	WAIT_FILE_LOCK, /* flock, and locks of parts of files */
	WAIT_SLEEP,	/* a time to pass */
	WAIT_EPOLL,	/* for whichever of many files */
	WAIT_POLL,	/* the same by poll and select */
	WAIT_PIPE,
	WAIT_NETWORK, /* for one socket, UNIX ones among them */
	WAIT_DISK,    /* for a block device or a file system */
	WAIT_EVENT,   /* eventfd, inotify, signalfd, a terminal */
	WAIT_CHILD,
	WAIT_SIGNAL,
	WAIT_KERNEL,  /* for a lock of the kernel, or work of it */
	WAIT_FROZEN,  /* by its cgroup's freezer */
	WAIT_STOPPED, /* state T */
	WAIT_TRACED,  /* state t */
	WAIT_ENDED,   /* a zombie, or about to be gone */
	WAIT_OTHER,
	WAIT_CNT
};

/* Stable lower-case id; what follows "→" in a line for people. Static. */
const char *stand_wait_id(enum stand_wait wait);
const char *stand_wait_text(enum stand_wait wait);

/* What a stand's frames say; methods: symbols from the root to the leaf, kernel frames last. */
enum stand_wait standing_wait(const struct model *m, const struct model_stand *s,
			      const uint32_t *methods, size_t methods_cnt);

/*
 * Whether nobody is hurt by that wait: a worker of the pool without work, the runtime's own threads
 * at rest, a loop over many files, kernel threads; of shells and service managers the wait for
 * children and signals, too. Not where the application's own .NET code is among the frames, or may
 * be: where the stack is cut, or .NET code in it has no name.
 */
bool standing_is_idle(const struct model *m, const struct model_stand *s, enum stand_wait wait,
		      const uint32_t *methods, size_t methods_cnt);

/* Whether frames are missing, as a note among them says. */
bool standing_is_cut(const struct model *m, const uint32_t *methods, size_t methods_cnt);

/*
 * What its threads are for: by the name, but a thread that a worker of the pool started and nobody
 * named has the worker's; its frames tell (ROLE_OWN).
 */
enum role standing_role(const struct model *m, const struct model_stand *s, const uint32_t *methods,
			size_t methods_cnt);

struct standing_group {
	uint32_t process; /* row */
	enum role role;
	char label[ROLE_LABEL_BYTES]; /* as of struct role_row: untrusted */
	enum stand_wait wait;
	bool idle;
	bool moved;   /* they ran while they were read: nothing is told of their stacks */
	bool sampled; /* their stacks are those of a tick */
	bool cut;     /* their stacks are not whole */
	uint32_t threads;
	uint64_t age_least_ns, age_most_ns; /* of those whose age is known; both 0 = of none */
	uint32_t ages;			    /* that are known */
	uint32_t stand, last_stand; /* rows of stands: the first, whose frames are those of all */
	size_t first_method, methods_cnt; /* in methods[] of the whole: root first */
	uint32_t holder; /* tid of who holds what all of them wait for, 0 = not known */
	bool holds;	 /* one of them holds what others wait for */
};

struct standing {
	struct standing_group *groups; /* hurt ones first, by process; see standing_new() */
	size_t groups_cnt, groups_cap;
	uint32_t *next; /* by row of stands: the next of its group, MODEL_NONE at the end */
	uint32_t *methods;
	size_t methods_cnt, methods_cap;
};

/*
 * Groups those threads of stands: of one process, role, wait and sequence of methods. The order: by
 * process, those with most threads that wait first; in a process what runs or waits before what is
 * idle, most threads first, then the longest wait. Adds symbols to the model. NULL with errno
 * ENOMEM.
 */
struct standing *standing_new(struct model *m, const struct stands *stands);
/* The same of those rows alone that wanted says so of; rows keep their numbers. */
typedef bool (*standing_wanted)(const struct model *m, const struct model_stand *s,
				const void *ctx);
struct standing *standing_new_of(struct model *m, const struct stands *stands,
				 standing_wanted wanted, const void *ctx);
void standing_free(struct standing *s);

/* Symbols that tell a group in a line: the application's method that waits, what it called, and the
 * last of what that led to. Returns how many of at most STANDING_CHAIN. */
#define STANDING_CHAIN 3
size_t standing_chain(const struct model *m, const struct standing *s,
		      const struct standing_group *g, uint32_t chain[STANDING_CHAIN]);
#endif

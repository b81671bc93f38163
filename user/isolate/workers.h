/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_WORKERS_H
#define HOTRUN_ISOLATE_WORKERS_H
/*
 * The pool of processes that work on targets' bytes: forked by the nursery, without rights
 * (sandbox.h), and each with one job at a time. A job brings descriptors and gets a bounded answer
 * and a file in memory that nobody can change any more. One that passes its limits is killed with
 * its worker. Nothing here waits unless it is told how long.
 *
 * Who caused the work pays for it: each job is a party's (a user, or a container), and the CPU time
 * of its jobs is taken from the party's account. In debt, its jobs wait while others' run; the
 * account fills slowly, so that what a party can burn in the long run is WORKERS_PARTY_SHARE of a
 * CPU, and what all parties can is WORKERS_ALL_SHARE, in equal parts where they want more
 * (ledger.h).
 *
 * Used by one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/ledger.h"
#include "isolate/nursery.h"

/* Bytes of a request and of an answer. */
#define WORKERS_REQUEST_BYTES (64u << 10)
#define WORKERS_REPLY_BYTES   (64u << 10)

/*
 * What a party may use at once, and one part in how many of a CPU for ever. The files of a large
 * service take 0.3 s. Nobody keeps accounts of WORKERS_TRUSTED, who comes after all that have not
 * used up half of their allowance.
 */
#define WORKERS_PARTY_BURST_NS 1000000000ull
#define WORKERS_PARTY_SHARE    100u
#define WORKERS_TRUSTED	       0u
/* The same of all parties together: a node of fifty services is named at once. */
#define WORKERS_ALL_BURST_NS 16000000000ull
#define WORKERS_ALL_SHARE    100u
/* Parties that are set aside at a time. */
#define WORKERS_ASIDE_MAX 32u

struct workers_limits {
	uint64_t cpu_ns, wall_ns; /* of a job; 0 = 2 s, 10 s */
	/* of a worker beyond what it begins with, and of a result; 0 = 64 MiB */
	uint64_t memory_bytes;
	unsigned count; /* workers at a time; 0 = 2 */
};

/*
 * A worker's side: does one job. request as given; fds borrowed; result_fd an empty file to write,
 * its length is set by writing, or -1. Writes up to WORKERS_REPLY_BYTES to reply and returns their
 * number. Runs in the sandbox: sandbox.c says which system calls are left.
 */
typedef size_t (*workers_do)(const void *request, size_t request_len, const int *fds,
			     unsigned fd_cnt, int result_fd, void *reply);

struct workers;
struct workers_job;

/* Borrows the nursery until workers_free(). No worker is forked before the first job. Returns
 * owned, or NULL with errno ENOMEM. */
struct workers *workers_new(struct nursery *nursery, workers_do work,
			    const struct workers_limits *limits);
/* The nursery may have SCHED_RR: from the next worker on they are ordinary processes of that nice
 * value, as far as the nursery has it. */
void workers_set_nice(struct workers *w, int nice);
/* Other limits of a job, from now on; of memory, from the next worker on. Their number stays. */
void workers_limit(struct workers *w, const struct workers_limits *limits);
/* Ends all workers. Jobs stay their owners', and never end. */
void workers_free(struct workers *w);

/* A job of a party (any number that stands for it). Copies the request. has_result: it gets a file
 * for a result. Owned, or NULL with errno. */
struct workers_job *workers_job_new(uint64_t party, const void *request, size_t request_len,
				    bool has_result);
/* Gives it a descriptor, in the order of the worker's fds; takes it, on failure too. false: more
 * than MESSAGE_FDS_MAX - 1. */
bool workers_job_give(struct workers_job *job, int fd);
/* Ends it where it runs: its worker is killed. Takes NULL. */
void workers_job_free(struct workers *w, struct workers_job *job);

/* Who does a job: each lane has workers of its own. */
enum workers_lane {
	WORKERS_USUAL,
	WORKERS_URGENT, /* small ones: one worker, so that they need not wait for large ones */
	/* Those that read where a process may let them hang: two workers, one for each party that
	 * keeps accounts, and WORKERS_BRIEF_NS at the most, so that they hold up neither the others
	 * nor each other for long. */
	WORKERS_BRIEF,
};

#define WORKERS_BRIEF_NS 1000000000ull

/* Puts it in the queue. */
void workers_submit(struct workers *w, struct workers_job *job, enum workers_lane lane);

/* Takes answers, kills what is over its limits, starts what may start. Returns whether any job runs
 * or waits for its turn still. */
bool workers_poll(struct workers *w);

/* The same until the job has ended, for ns at the most. Returns whether it has. */
bool workers_wait(struct workers *w, struct workers_job *job, uint64_t ns);
/* Until any job has ended that had not. False: none did in time, or none runs. */
bool workers_wait_any(struct workers *w, uint64_t ns);
/* How many have ended so far, in whatever way. */
uint64_t workers_ended(const struct workers *w);
/* Whether those that have a job all sleep: a file that does not answer; who only lacks a CPU does
 * not sleep. False where none has a job. */
bool workers_are_asleep(const struct workers *w);
/* Whether any runs. */
bool workers_is_busy(const struct workers *w);

/*
 * What became of it: -EINPROGRESS: queued or running; 0: answered; -ETIME: it used more CPU time
 * than it may; -ETIMEDOUT: it took longer than it may, waiting for a file (its party pays for that
 * time, too); -ENOMEM: no memory here; -EPIPE: its worker died of it (memory, a forbidden system
 * call, a crash); -EAGAIN: no worker could be had.
 */
int workers_job_error(const struct workers_job *job);
/* The answer, borrowed from the job. */
const void *workers_job_reply(const struct workers_job *job, size_t *ret_len);
/* The result, sealed against any change, owned by the caller from now on; -1 where it is empty.
 * While too much of a party's results is not taken, its next jobs wait. */
int workers_job_take_result(struct workers_job *job, size_t *ret_bytes);
/* CPU time that it used so far. */
uint64_t workers_job_cpu_ns(const struct workers_job *job);

/* Takes from a party's account what its results cost where they were taken in. */
void workers_charge(struct workers *w, uint64_t party, uint64_t cpu_ns);

/* Whether a party's jobs wait because of what it used already, or all parties did, or because it is
 * set aside. */
bool workers_in_debt(const struct workers *w, uint64_t party);

/* These parties' jobs wait until the next call, whatever they have left; what runs goes on. Those
 * beyond WORKERS_ASIDE_MAX are not. */
void workers_set_aside(struct workers *w, const uint64_t *parties, size_t cnt);
bool workers_is_aside(const struct workers *w, uint64_t party);
size_t workers_aside_cnt(const struct workers *w);

/* Parties by what they used beyond their first allowance since workers_mark(), the most first.
 * Returns their number, max at the most. */
size_t workers_most(const struct workers *w, struct ledger_use *ret_most, size_t max);
void workers_mark(struct workers *w);

struct workers_counters {
	uint64_t jobs, killed, died;
	uint64_t cpu_ns; /* of all workers, those that have ended included */
	/* Of that, and of what was charged: within first allowances, and of WORKERS_TRUSTED within
	 * one that fills again. What everybody may have once is nobody's excess. */
	uint64_t granted_ns;
	uint64_t beyond_ns;    /* the parties' use besides */
	uint64_t memory_bytes; /* resident, of those that live now */
	uint64_t result_bytes; /* of results that nobody has taken yet */
	unsigned stuck;	       /* killed, but held by a file system that does not answer */
	uint32_t without;      /* SANDBOX_WITHOUT_* of the last one started */
};
struct workers_counters workers_counters(const struct workers *w);
#endif

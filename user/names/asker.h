/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_ASKER_H
#define HOTRUN_NAMES_ASKER_H
/*
 * Asks processes for things: the loader (jobs in a thread), the fetcher (files, by a process) and
 * the workers (what is in those files), together with the memory of who did not answer and a budget
 * of waiting. A process that let requests hang is asked no more; what the budget does not
 * allow is asked later. One thread.
 */
#include <signal.h>

#include "isolate/workers.h"
#include "model/model.h"
#include "names/loader.h"

/* Waiting in one slice, for all processes and for each, or one deadline where that is longer: an
 * answer just before its deadline never counts as hung, but a hundred of them would stop the
 * recording. The last one may exceed it. */
#define ASKER_SLICE_NS	 1000000000ull
#define ASKER_PROCESS_NS 400000000ull
/*
 * Waiting for workers in a slice: for one job, for those of one party, and for all. Meanwhile nobody
 * looks at processes that just started, some of which live no longer than 60 ms; what takes longer
 * goes on by itself, and is taken up where the recorder polls. A usual library takes 5 ms.
 */
#define ASKER_JOB_NS   10000000ull
#define ASKER_PARTY_NS 20000000ull
#define ASKER_JOBS_NS  20000000ull

struct asker_environ;
struct fetch;
struct hold;
struct symbol_dirs;
struct fetch_request;
struct fetch_reply;
struct parse_request;
struct parse_reply;

/* Who is asked, copied into jobs: they may outlive the model. */
struct asker_target {
	char proc_path[256];
	uint32_t tgid;
	uint64_t start_ns; /* boottime */
	bool start_exact;
	bool exited; /* do not look at /proc: the id may be somebody else's by now */
};

/*
 * A process that let a request hang is asked again after ASKER_HUNG_NS, then after four times that,
 * and then no more: on a full host its locks or its files may have been late once.
 */
#define ASKER_HUNG_NS	2000000000ull
#define ASKER_HUNG_MOST 3u
struct asker_hung {
	uint32_t process, times;
	uint64_t again_ns;
};

/* What a process let us wait in this slice. */
struct asker_spent {
	uint32_t process;
	uint64_t ns;
};

/* What a party's jobs let us wait in this slice. */
struct asker_waited {
	uint64_t party;
	uint64_t ns;
};

/* What naming a process cost so far. */
struct asker_cost {
	uint64_t cpu_ns;       /* of workers, the opener, and of taking in what they answered */
	uint64_t unread_bytes; /* of its perf map that were not followed */
	uint32_t refused;      /* files of its that were too costly to read */
	bool changed;	       /* since names_tail() looked */
	bool told;	       /* that files were refused or bytes left unread */
};

struct asker {
	struct nursery *nursery, *own_nursery; /* the first one borrowed, or the second */
	struct loader *loader;
	struct fetch *fetch;
	struct workers *workers, *own_workers; /* the same */
	struct hold *hold;		       /* borrowed; NULL = nothing is kept (hold.h) */
	/* Borrowed; NULL = none. What a process does not give is taken from there. */
	struct symbol_dirs *symbols;
	char proc_path[256];
	struct asker_hung *hung;
	size_t hung_cnt, hung_cap;
	struct asker_spent *spent;
	size_t spent_cnt, spent_cap;
	uint64_t spent_ns;
	uint64_t slice_ns, process_ns; /* the budgets */
	struct asker_waited *waited;
	size_t waited_cnt, waited_cap;
	uint64_t waited_ns;
	uint64_t job_ns, party_ns, jobs_ns; /* the budgets */
	uint64_t *parties;		    /* by process row */
	size_t parties_cnt, parties_cap;
	struct asker_cost *costs; /* by process row */
	size_t costs_cnt, costs_cap;
	struct asker_environ **environs; /* by process row, NULL = not asked; see environ.h */
	size_t environs_cnt, environs_cap;
	uint64_t deferred; /* requests refused for the budget; only grows */
	/* Borrowed; NULL = none. Not 0: whoever asks many processes in a row gives up. */
	const volatile sig_atomic_t *stop;
};

/* nursery: borrowed until asker_clear(), or NULL: forks one of its own. 0 or -errno. Its jobs are
 * done by workers of its own. */
int asker_init(struct asker *a, struct nursery *nursery, const char *proc_path,
	       uint64_t deadline_ns);
/* The same with workers that are borrowed until asker_clear(), whose accounts may be older than the
 * asker; NULL: with its own, each of which may use so much memory (0 = as workers.h has it). */
int asker_init_with(struct asker *a, struct nursery *nursery, struct workers *workers,
		    uint64_t worker_bytes, const char *proc_path, uint64_t deadline_ns);
void asker_clear(struct asker *a);

struct asker_target asker_target(const struct asker *a, const struct model *m, uint32_t process);

/*
 * Runs a job on behalf of a process row. Returns REASON_NAMED: it ran; REASON_FILE_TIMEOUT: this
 * or an earlier one hung; REASON_LIMIT: too many hang, no thread, or the budget is spent (deferred
 * has grown then: ask again after asker_slice()). ret_job: the job where it is still the caller's,
 * NULL where the loader took it.
 */
enum model_reason asker_run(struct asker *a, uint32_t process, struct loader_job *job,
			    struct loader_job **ret_job);

/* fetch_ask() on behalf of a process row: target and key are filled in here, and the root directory
 * that is held for it, where a file is asked for. Same results. */
enum model_reason asker_fetch(struct asker *a, const struct model *m, uint32_t process,
			      struct fetch_request *request, int give_fd,
			      struct fetch_reply *ret_reply, int *ret_fd);

/* The same for a process that is no row of a model: process is any number that stands for it with
 * this asker, as for asker_run(). */
enum model_reason asker_fetch_of(struct asker *a, uint32_t process,
				 const struct asker_target *target, struct fetch_request *request,
				 int give_fd, struct fetch_reply *ret_reply, int *ret_fd);

/* A target known by its start in clock ticks (field 22 of stat), which becomes exact. */
struct asker_target asker_target_of(const struct asker *a, uint32_t tgid, uint64_t start_ticks);

/*
 * Who pays for work that a process causes, and for whom its files' tables are: its container, or
 * its user; WORKERS_TRUSTED for root outside of containers, who needs no files to burden a host. A
 * process of a user's session can name its own cgroups as it likes, so that one counts as the
 * user's. One of whom no facts are known is not trusted: its cgroup stands for it, or the container
 * of others in that.
 */
uint64_t asker_party(struct asker *a, const struct model *m, uint32_t process);
/* The same, looked up again for who was trusted so far: root may have become somebody else. */
uint64_t asker_party_now(struct asker *a, const struct model *m, uint32_t process);

/* What tells who pays for a process that is no row of a model; not NULL, "" where it is not told. */
struct asker_facts {
	const char *container_id, *cgroup;
};
/* As asker_party(), of a process that lives. */
uint64_t asker_party_of(const struct asker_target *target, const struct asker_facts *facts);

/* Whether its party has used up its allowance. */
bool asker_in_debt(struct asker *a, const struct model *m, uint32_t process);
/* Whether it has most of it left (workers_is_frugal()). */
bool asker_is_frugal(struct asker *a, const struct model *m, uint32_t process);
/* Why something is not there yet: REASON_BUDGET where that is so, else REASON_PENDING, it takes its
 * time. */
enum model_reason asker_why_pending(struct asker *a, const struct model *m, uint32_t process);

/* The account of a process row, to be added to; NULL without memory. */
struct asker_cost *asker_cost(struct asker *a, uint32_t process);

/* A job for a worker on behalf of a process row; NULL without memory. */
struct workers_job *asker_job_new(struct asker *a, const struct model *m, uint32_t process,
				  const struct parse_request *request);

/*
 * Begins it. Short jobs (a name) are urgent. Then, or at any time later: waits for it as far as the
 * budgets allow. Returns REASON_PENDING: it goes on (deferred has grown); REASON_NAMED with
 * ret_reply, borrowed from the job; or why there is no answer: REASON_FILE_COSTLY,
 * REASON_FILE_MALFORMED, REASON_LIMIT.
 */
void asker_job_begin(struct asker *a, struct workers_job *job, bool urgent);
enum model_reason asker_job_wait(struct asker *a, struct workers_job *job, uint64_t party,
				 const struct parse_reply **ret_reply);

/* A process that need be no row of a model, and a worker's time for it. */
struct asker_subject {
	uint32_t process; /* any number that stands for it with this asker, as for asker_run() */
	uint64_t party;
	struct asker_target target;
	uint64_t wait_ns; /* for one job, at the most: what takes longer is given up */
};

/*
 * Has a worker find a fact (names/parse_fact.h) in a file, takes fd (in_socket: as fetch.h has it).
 * Returns REASON_NAMED with the answer of parse's kind, or why there is none: REASON_FILE_TIMEOUT,
 * also where time is over, REASON_FILE_COSTLY, REASON_FILE_MALFORMED (it is none, or a worker died
 * of it), REASON_LIMIT: its party has used up its allowance, or there is no worker.
 */
enum model_reason asker_find_in(struct asker *a, const struct asker_subject *s,
				struct parse_request *parse, int fd, bool in_socket,
				void *ret_answer);
/* The same in several files, which come one after the other by the socket fd. */
enum model_reason asker_find_files(struct asker *a, const struct asker_subject *s,
				   struct parse_request *parse, int fd, unsigned cnt,
				   void *ret_answer);
/* The same in what a fetcher opens, see asker_fetch_of(). Without an answer where the reply has an
 * error, or a reason. */
enum model_reason asker_find(struct asker *a, const struct asker_subject *s,
			     struct fetch_request *request, struct parse_request *parse,
			     struct fetch_reply *ret_reply, void *ret_answer);

/* CPU time of this thread; what it took since then is booked on a process row and paid by its
 * party, as a job is: a table is not free because its bytes were read elsewhere. */
uint64_t asker_cpu_ns(void);
void asker_charge(struct asker *a, const struct model *m, uint32_t process, uint64_t since_cpu_ns);
/* The same of so much CPU time. */
void asker_charge_ns(struct asker *a, const struct model *m, uint32_t process, uint64_t cpu_ns);
/* Frees a job, done or not, and books what it took on the process row. */
void asker_job_end(struct asker *a, uint32_t process, struct workers_job *job);

/* A new slice: its budget begins. */
void asker_slice(struct asker *a);
/* Nothing more is asked in this slice. */
bool asker_is_spent(const struct asker *a);

/* The process runs another program now: it may be asked again. */
void asker_forget(struct asker *a, uint32_t process);

/* The clock of its budgets, monotonic. */
uint64_t asker_now_ns(void);

/* Requests that hung since asker_init(). */
uint64_t asker_timeouts(const struct asker *a);

/*
 * Opens /proc/PID of the target (guard_process) once it is sure to be this incarnation: field 22 of
 * stat is its start time in clock ticks. Returns a descriptor owned by the caller, -ESRCH where it
 * is gone, or another -errno. For jobs.
 */
int asker_open(const struct asker_target *target);
/* A start time of boottime as wall-clock time, to tell maps of earlier processes of the same id; 0
 * where the clocks do not answer. */
uint64_t asker_started_wall_ns(uint64_t start_ns);
/* Whether a start time in clock ticks is the target's. */
bool asker_same_start(const struct asker_target *target, uint64_t start_ticks);
#endif

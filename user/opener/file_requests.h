/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_FILE_REQUESTS_H
#define HOTRUN_OPENER_FILE_REQUESTS_H
/*
 * What hotrun asks of watched processes, and how long it waits: files by the opener (a process),
 * what is in those files by workers, and files of /proc by the loader (a thread); with the memory
 * of who did not answer, who pays for it, and a budget of waiting. A process that let requests hang
 * is asked no more; what the budget does not allow is asked later. One thread.
 */
#include <signal.h>

#include "isolate/workers.h"
#include "model/model.h"
#include "opener/file_request.h"
#include "opener/loader.h"
#include "opener/target_process.h"

/* Waiting in one slice, for all processes and for each, or one deadline where that is longer: an
 * answer just before its deadline never counts as hung, but a hundred of them would stop the
 * recording. The last one may exceed it. */
#define FILE_REQUESTS_SLICE_NS	 1000000000ull
#define FILE_REQUESTS_PROCESS_NS 400000000ull
/*
 * Waiting for workers in a slice: for one job, for those of one party, and for all. Meanwhile
 * nobody looks at processes that just started, some of which live no longer than 60 ms; what takes
 * longer goes on by itself, and is taken up where the recorder polls. A usual library takes 5 ms.
 */
#define FILE_REQUESTS_JOB_NS   10000000ull
#define FILE_REQUESTS_PARTY_NS 20000000ull
#define FILE_REQUESTS_JOBS_NS  20000000ull

struct opener;
struct parse_request;
struct parse_reply;

/*
 * A process that let a request hang is asked again after FILE_REQUESTS_HUNG_NS, then after four
 * times that, and then no more: on a full host its locks or its files may have been late once.
 */
#define FILE_REQUESTS_HUNG_NS	2000000000ull
#define FILE_REQUESTS_HUNG_MOST 3u
struct file_requests_hung {
	uint32_t process, times;
	uint64_t again_ns;
};

/* What a process let us wait in this slice. */
struct file_requests_spent {
	uint32_t process;
	uint64_t ns;
};

/* What a party's jobs let us wait in this slice. */
struct file_requests_waited {
	uint64_t party;
	uint64_t ns;
};

/* What naming a process cost so far. */
struct file_requests_cost {
	uint64_t cpu_ns;       /* of workers, the opener, and of taking in what they answered */
	uint64_t unread_bytes; /* of its perf map that were not followed */
	uint32_t refused;      /* files of its that were too costly to read */
	bool changed;	       /* since names_tail() looked */
	bool told;	       /* that files were refused or bytes left unread */
};

struct file_requests {
	struct nursery *nursery, *own_nursery; /* the first one borrowed, or the second */
	struct loader *loader;
	struct opener *opener;
	struct workers *workers, *own_workers; /* the same */
	char proc_path[256];
	struct file_requests_hung *hung;
	size_t hung_cnt, hung_cap;
	struct file_requests_spent *spent;
	size_t spent_cnt, spent_cap;
	uint64_t spent_ns;
	uint64_t slice_ns, process_ns; /* the budgets */
	uint64_t until_ns;	       /* then nothing more is asked, and no job is waited for until
				   * it is 0 again; 0 = never */
	struct file_requests_waited *waited;
	size_t waited_cnt, waited_cap;
	uint64_t waited_ns;
	uint64_t job_ns, party_ns, jobs_ns; /* the budgets */
	uint64_t *parties;		    /* by process row */
	size_t parties_cnt, parties_cap;
	/* Mount namespaces that see the host's files; 0 = not known. */
	struct file_requests_namespace {
		uint64_t dev, inode;
	} hosts[2];
	bool hosts_known;
	/* Of a process without facts, asked about file after file: found anew after a while. */
	struct {
		uint32_t process;
		uint64_t party, until_ns;
	} guess;
	struct file_requests_cost *costs; /* by process row */
	size_t costs_cnt, costs_cap;
	uint64_t deferred; /* requests refused for the budget; only grows */
	/* Borrowed; NULL = none. Not 0: whoever asks many processes in a row gives up. */
	const volatile sig_atomic_t *stop;
};

/* nursery: borrowed until file_requests_clear(), or NULL: forks one of its own. 0 or -errno. Its
 * jobs are done by workers of its own. */
int file_requests_init(struct file_requests *fr, struct nursery *nursery, const char *proc_path,
		       uint64_t deadline_ns);
/* The same with workers that are borrowed until file_requests_clear(), whose accounts may be
 * older than these requests; NULL: with its own, each of which may use so much memory (0 = as
 * workers.h has it). */
int file_requests_init_with(struct file_requests *fr, struct nursery *nursery,
			    struct workers *workers, uint64_t worker_bytes, const char *proc_path,
			    uint64_t deadline_ns);
void file_requests_clear(struct file_requests *fr);

struct target_process file_requests_target(const struct file_requests *fr, const struct model *m,
					   uint32_t process);

/*
 * Runs a job on behalf of a process row. Returns REASON_NAMED: it ran; REASON_FILE_TIMEOUT: this or
 * an earlier one hung; REASON_LIMIT: too many hang, no thread, or the budget is spent (deferred has
 * grown then: ask again after file_requests_slice()). ret_job: the job where it is still the
 * caller's, NULL where the loader took it.
 */
enum model_reason file_requests_run(struct file_requests *fr, uint32_t process,
				    struct loader_job *job, struct loader_job **ret_job);

/* opener_ask() on behalf of a process row: target and key are filled in here, and
 * their time is booked and charged. give_fd: as opener_ask() has it. Same results. */
enum model_reason file_requests_open(struct file_requests *fr, const struct model *m,
				     uint32_t process, struct file_request *request, int give_fd,
				     struct file_reply *ret_reply, int *ret_fd);

/* The same for a process that is no row of a model: process is any number that stands for it with
 * it here, as for file_requests_run(). */
enum model_reason file_requests_open_of(struct file_requests *fr, uint32_t process,
					const struct target_process *target,
					struct file_request *request, int give_fd,
					struct file_reply *ret_reply, int *ret_fd);

/* A target known by its start in clock ticks (field 22 of stat), which becomes exact. */
struct target_process file_requests_target_of(const struct file_requests *fr, uint32_t tgid,
					      uint64_t start_ticks);

/*
 * Who pays for work that a process causes, and for whom its files' tables are: its container, or
 * its user; WORKERS_TRUSTED for root outside of containers, who needs no files to burden a host. A
 * process of a user's session can name its own cgroups as it likes, so that one counts as the
 * user's. One of whom no facts are known is its user's if it sees the files that the host's first
 * process sees; else its cgroup stands for it, or the container of others in that.
 */
uint64_t file_requests_party(struct file_requests *fr, const struct model *m, uint32_t process);
/* The same, looked up again for who was trusted so far: root may have become somebody else. */
uint64_t file_requests_party_now(struct file_requests *fr, const struct model *m, uint32_t process);

/* The process runs another program, maybe in a container or as another user. */
void file_requests_party_forget(struct file_requests *fr, uint32_t process);

/* What tells who pays for a process that is no row of a model; not NULL, "" where it is not
 * told. */
struct file_requests_facts {
	const char *container_id, *cgroup;
};
/* As file_requests_party(), of a process that lives. */
uint64_t file_requests_party_of(const struct target_process *target,
				const struct file_requests_facts *facts);

/* Whether its party has used up its allowance. */
bool file_requests_in_debt(struct file_requests *fr, const struct model *m, uint32_t process);
/* Why something is not there yet: REASON_BUDGET where that is so, else REASON_PENDING, it takes its
 * time. */
enum model_reason file_requests_why_pending(struct file_requests *fr, const struct model *m,
					    uint32_t process);

/* The account of a process row, to be added to; NULL without memory. */
struct file_requests_cost *file_requests_cost(struct file_requests *fr, uint32_t process);

/* A job for a worker on behalf of a process row; NULL without memory. */
struct workers_job *file_requests_job_new(struct file_requests *fr, const struct model *m,
					  uint32_t process, const struct parse_request *request);

/*
 * Begins it. Then, or at any time later: waits for it as far as the
 * budgets allow. Returns REASON_PENDING: it goes on (deferred has grown); REASON_NAMED with
 * ret_reply, borrowed from the job; or why there is no answer: REASON_FILE_COSTLY,
 * REASON_FILE_MALFORMED, REASON_LIMIT.
 */
void file_requests_job_begin(struct file_requests *fr, struct workers_job *job,
			     enum workers_lane lane);
enum model_reason file_requests_job_wait(struct file_requests *fr, struct workers_job *job,
					 uint64_t party, const struct parse_reply **ret_reply);

/* A process that need be no row of a model, and a worker's time for it. */
struct file_requests_subject {
	uint32_t process; /* any number that stands for it, as for file_requests_run() */
	uint64_t party;
	struct target_process target;
	uint64_t wait_ns; /* for one job, at the most: what takes longer is given up */
};

/*
 * Has a worker find a fact (parse/parse_fact.h) in a file, takes fd (in_socket: as opener.h has
 * it). Returns REASON_NAMED with the answer of parse's kind, or why there is none:
 * REASON_FILE_TIMEOUT, also where time is over, REASON_FILE_COSTLY, REASON_FILE_MALFORMED (it is
 * none, or a worker died of it), REASON_LIMIT: its party has used up its allowance, or there is no
 * worker.
 */
enum model_reason file_requests_find_in(struct file_requests *fr,
					const struct file_requests_subject *s,
					struct parse_request *parse, int fd, bool in_socket,
					void *ret_answer);
/* The same in several files, which come one after the other by the socket fd. */
enum model_reason file_requests_find_in_many(struct file_requests *fr,
					     const struct file_requests_subject *s,
					     struct parse_request *parse, int fd, unsigned cnt,
					     void *ret_answer);
/* The same in what the opener opens, see file_requests_open_of(). Without an answer where the
 * reply has an error, or a reason. */
enum model_reason file_requests_find(struct file_requests *fr,
				     const struct file_requests_subject *s,
				     struct file_request *request, struct parse_request *parse,
				     struct file_reply *ret_reply, void *ret_answer);

/* What this thread has used since it had used so much (CLOCK_THREAD_CPUTIME_ID) is booked on a
 * process row and paid by its party, as a job is: a table is not free because its bytes were read
 * elsewhere. */
void file_requests_charge(struct file_requests *fr, const struct model *m, uint32_t process,
			  uint64_t since_cpu_ns);
/* The same of so much CPU time. */
void file_requests_charge_ns(struct file_requests *fr, const struct model *m, uint32_t process,
			     uint64_t cpu_ns);
/* Frees a job, done or not, and books what it took on the process row. */
void file_requests_job_end(struct file_requests *fr, uint32_t process, struct workers_job *job);

/* A new slice: its budget begins. */
void file_requests_slice(struct file_requests *fr);
/* Nothing more is asked in this slice, or not before until_ns is set anew. */
bool file_requests_is_spent(const struct file_requests *fr);

/* The process runs another program now: it may be asked again. */
void file_requests_forget(struct file_requests *fr, uint32_t process);

/* Requests that hung since file_requests_init(). */
uint64_t file_requests_timeouts(const struct file_requests *fr);
#endif

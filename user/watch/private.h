/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_PRIVATE_H
#define HOTRUN_WATCH_PRIVATE_H
/*
 * The state of the resident recorder, for the files of the loop alone.
 */
#include <pthread.h>
#include <stdbool.h>

#include "output/metrics.h"
#include "output/verdict_words.h"
#include "watch/set_aside.h"
#include "watch/control.h"
#include "watch/folder.h"
#include "judge/trunks.h"
#include "watch/governor.h"
#include "watch/history.h"
#include "watch/hook.h"
#include "watch/http.h"
#include "watch/loop.h"
#include "watch/artifacts.h"
#include "watch/policy.h"
#include "watch/ring.h"
#include "watch/series.h"
#include "watch/slower.h"
#include "watch/capture_writer.h"
#include "watch/state.h"
#include "watch/suspects.h"

/* Captures under way at a time: some that were asked for, one by itself, one that rotates. */
#define JOBS_ASKED 4
#define JOBS_MAX   (JOBS_ASKED + 2)

struct job {
	struct capture_writer *writer; /* NULL = free */
	enum folder_by by;
	uint64_t rotate_ns; /* of the setting when it began */
	uint64_t end_ns;    /* of the last slice, about; UINT64_MAX = none */
	uint64_t look_ns;   /* when to look again at where every thread stands; 0 = no more */
	char name[FOLDER_NAME_BYTES];
};

/* The thickest trunks of who a capture was taken for. */
struct auto_trunks {
	char names[TRUNKS_MAX][TRUNKS_NAME_BYTES]; /* untrusted bytes */
	double shares[TRUNKS_MAX];		   /* of its samples */
	size_t cnt;
};

#define AUTO_WHO_BYTES	 320
#define AUTO_TAKEN_BYTES (POLICY_TEXT_BYTES + AUTO_WHO_BYTES + 64)
/* Captures by itself whose artifacts are not there yet; of more than that less is told. */
#define AUTO_NOTES 8

/* What is told of a capture by itself when it is there. */
struct auto_note {
	char name[FOLDER_NAME_BYTES]; /* "" = free */
	struct suspect who;	      /* as it was when it was taken */
	char taken[AUTO_TAKEN_BYTES];
	struct auto_trunks trunks;
};

struct watch {
	struct watch_options options;
	struct watch_config config;
	int signals; /* signalfd(2) */
	/* Together, or none of them while the folder cannot be opened. */
	int dir, lock_fd;
	struct control *control;
	struct artifacts *artifacts;
	struct history *history; /* or NULL, without memory */
	struct slower slower;
	struct http *http;
	struct ring *ring;
	struct collector *collector; /* NULL while the host is not observed */
	struct governor governor;
	uint64_t start_cpu_ns; /* own CPU time that beginning to observe took, again and again */
	uint64_t bpf_ns;       /* of collectors that are gone */
	uint64_t helpers_ns, granted_ns, beyond_ns; /* the same of their naming */
	struct set_aside set_aside;
	size_t set_aside_cnt;	   /* of them, when collector_set_aside() was told last */
	uint64_t marked_ns;	   /* the governor's window, when collector_mark() was called */
	struct state state, saved; /* saved: as it is in the folder */
	struct job jobs[JOBS_MAX];
	/* Captures by itself. */
	struct suspects suspects;
	bool looks_closely;  /* suspects_want_look() */
	uint64_t stepped_ns; /* when it was asked */
	struct policy policy;
	int64_t policy_base_s; /* its time is this and CLOCK_BOOTTIME */
	struct auto_note notes[AUTO_NOTES];
	size_t notes_next;
	uint64_t refusals[POLICY_ANSWER_CNT];
	uint64_t last_bytes;   /* of the newest capture that did not rotate, with artifacts */
	uint64_t children_ns;  /* CPU time of children, when it was charged last */
	uint32_t maps_process; /* whom a capture has just begun for, or MODEL_NONE */
	struct hook *hook;
	bool hook_failed;	  /* told once */
	bool stop, reload, asked; /* by signals */
	bool unsaved;		  /* the folder is another one than that of saved */
	uint64_t attach_ns;	  /* when to try (again) to observe the host */
	uint64_t judged_ns, kept_ns, told_ns, followed_ns;
	/* Why the last capture could not be written or removed, and the folder not opened; told
	 * once. */
	int failed_err, remove_err;
	char home_why[512];

	/* What the thread of the HTTP server reads, too. */
	pthread_mutex_t mutex;
	struct series *series;
	struct metrics_own own;
	char why[1024];		    /* why it is not ready, "" it is */
	uint64_t start_ns, beat_ns; /* the loop's last turn */
};

/* --- save.c ---------------------------------------------------------------------------------- */

/* Writes the state into the folder where it differs from what is there. */
void save_state(struct watch *w);

/* --- jobs.c: captures ------------------------------------------------------------------------ */

struct job_options {
	enum folder_by by;
	uint64_t before_ns; /* so long ago it begins, */
	uint64_t after_ns;  /* and ends so long from now; UINT64_MAX: when it is ended */
	const char *taken;  /* why it was taken by itself (model_host.taken), or NULL */
};
/* Begins a capture. 0, or a negative errno with a sentence. */
int jobs_begin(struct watch *w, const struct job_options *options,
	       char ret_name[static FOLDER_NAME_BYTES], char *why, size_t why_bytes);
/* A slice has closed: writes it, ends what is over, begins the next capture of the rotation. */
void jobs_slice(struct watch *w);
/* The model goes away. */
void jobs_leave(struct watch *w);
/* Ends all of them, as they are; one that has no slice yet is withdrawn. */
void jobs_end(struct watch *w);
/* True while one is under way that was asked for, or taken by itself. */
bool jobs_asked(const struct watch *w);
/* The one that was taken by itself and is under way, or NULL. */
const struct job *jobs_auto(const struct watch *w);
/* Gives all of them up, without an end mark. */
void jobs_drop(struct watch *w);
/* Looks for artifacts that are done, and once in a while for captures that have to go. */
void jobs_look(struct watch *w, uint64_t now_ns);

/* --- automatic.c: captures by itself ---------------------------------------------------------- */

/* The policy remembers what the state says of earlier runs. */
void automatic_take_over(struct watch *w);
/* A slice has closed: judges it, and begins a capture where somebody has been hurt for long enough
 * and the policy says so. Before jobs_slice(). */
void automatic_slice(struct watch *w);
/* Who is suspected to be in trouble for longest, and since when (since_ns), long before it is
 * certain; NULL = nobody. For who wants to look closer from the first bad second on. Borrowed until
 * the next slice. */
const struct suspect *automatic_suspect(const struct watch *w);
/* --- finished.c: what is told of a capture when it is there ----------------------------------- */

/* Near Unix time, and no step of that clock changes it: what the policy remembers is by it. */
int64_t finished_now_s(const struct watch *w);
/* "inelastic Shop.Web 4242 since 12:13:14 UTC"; and what that rests on first. Safe to show. */
void finished_who(char buf[static AUTO_WHO_BYTES], const struct suspect *s);
void finished_evidence(char buf[static VERDICT_WORDS_BYTES], const struct suspect *s);
/* Its trunks in the slices since from_ns, as far as they are in memory. 0 or -ENOMEM. */
int finished_trunks(struct watch *w, const struct suspect *who, uint64_t from_ns,
		    struct auto_trunks *ret);
/* The policy is to know them. */
void finished_see(struct watch *w, const struct suspect *s, const struct auto_trunks *trunks);
/* A capture by itself was begun, for who is copied. */
void finished_expect(struct watch *w, const char *name, const struct suspect *s, const char *taken);
/* Its last slice is written. */
void finished_capture(struct watch *w, const char *name);
/* The artifacts of a capture (of any but those that rotate) are there, or err says why not: tells
 * it, and has the operator's program run. */
void finished_artifacts(struct watch *w, const char *name, int err);
/* Looks after the operator's program. Never waits. */
void finished_look(struct watch *w, uint64_t now_ns);

/* --- home.c: the folder ---------------------------------------------------------------------- */

/* Opens and locks it, with the socket in it. Errors as watch_run(). */
int home_open(struct watch *w, char *why, size_t why_bytes);
/* What earlier runs left is cleaned up, their state taken over. */
void home_take_over(struct watch *w);
/* Somebody may have removed the folder, or put another one there: what is under way is lost with it
 * then, and it is made anew. */
void home_follow(struct watch *w, uint64_t now_ns);
void home_close(struct watch *w);

/* --- budget.c: what may be observed ----------------------------------------------------------- */

/* Once a slice, in place of collector_begin_slice(): gives up or takes back what the governor says.
 * Returns 0 when it began nothing, 1 when it did; or a negative errno with a sentence: the host is
 * observed no longer. */
int budget_step(struct watch *w, char *why, size_t why_bytes);
/* What the BPF programs have cost since the start of this process, ns. Only grows. */
uint64_t budget_bpf_ns(const struct watch *w);
/* CPU time of observing so far, ns: of this process and its helpers, without what it takes to
 * answer over HTTP: that is no cost of observing, and whoever asks without end must not have it
 * given up; and without what naming may take of everybody once: a service that starts is no
 * excess. */
uint64_t budget_own_ns(const struct watch *w);
/* CPU time of its helper processes so far, ns. Only grows. */
uint64_t budget_helpers_ns(const struct watch *w);
/* Before the collector goes: what it has cost is kept. */
void budget_detach(struct watch *w);
/* A new one is there: who is set aside still is. */
void budget_attach(struct watch *w);
/* The gear that the next slice is to have; and samples a second of the full one, that samples stand
 * for in every gear. */
struct collector_gear budget_gear(const struct watch *w);
uint32_t budget_full_hz(const struct watch *w);
/* Requests a second that are followed at the most: collector_options.follow_most. */
uint32_t budget_follow_most(const struct watch *w);
/* The configuration is another one. */
void budget_follow_config(struct watch *w);
/* CPU time so far, ns, of RUSAGE_SELF or RUSAGE_CHILDREN. */
uint64_t budget_cpu_ns(int who);

/* --- page.c: what others are told ------------------------------------------------------------ */

/* Serves HTTP where that is asked for. Errors as watch_run(). */
int page_open(struct watch *w, char *why, size_t why_bytes);
/* Why the host is not observed, NULL = it is. */
void page_not_ready(struct watch *w, const char *why);
/* Takes the figures of a closed slice. */
void page_slice(struct watch *w);
/* "KEY VALUE" lines for the control socket. */
void page_status(struct watch *w, char *text, size_t bytes);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_VERDICT_H
#define HOTRUN_JUDGE_VERDICT_H
/*
 * Is anybody hurt, and by what: a verdict for the host and for each process, with the figures that
 * it rests on. High CPU alone is never a problem: a process has to be hurt first, then it is asked
 * what explains it. Rules over plain figures, in one order (verdict_of()); pure, no threads. Ids
 * and thresholds are those of the README's table of verdicts. Beyond it:
 *
 * - Too little of anything is no evidence. Progress is judged where a process wanted at least
 *   wanted_min threads on a CPU, and without a service signal only where it missed as much; the p99
 *   of run delay from delays_min delays on.
 * - Fewer than requests_min requests have no slow share either, unless a quarter of that many were
 *   slow (5 of 19: by chance less than once in 25 where a tenth is slow).
 * - Where not all connections were followed (verdict_input.unseen), requests that were seen count,
 *   and a share is bad only where the lower end of its 95 % interval is. One that is only perhaps
 *   bad is not fast either: then requests tell nothing.
 * - Clients that give up before the threshold for slow leave nothing that is slow: where half of
 *   the requests end without an answer, that is a service that serves nobody.
 * - Whose harm nobody sees, by requests or by a signal of its own, is not hurt by waits, however
 *   long: builds, batch jobs and load generators on a full host are contended, which alarms nobody.
 *   The operator can declare that somebody minds (hurt_by). Who may serve, though requests tell too
 *   little, is judged by its waits all the same: what is slow must not look calm.
 * - Where requests were not measured, a process that listens on a TCP port is unknown, whatever it
 *   waits for: neither healthy nor hurt, unless a signal of its own or hurt_by decides.
 * - What was asked to run behind everybody (background: nice > 0, batch, idle class) and waits gets
 *   what it was promised: without a service signal it is neither hurt nor contended by that. No
 *   nice value asked for a CPU limit: of one that stops it, it is told as contended, and hurt where
 *   that was declared.
 * - Requests that are fast though the CPU limit keeps stopping it: nobody is hurt, but there is no
 *   room left (verdict_result.at_limit).
 * - A cause has to explain: a process that hardly waits is not starved, however its wait splits,
 *   and one that wants no CPU is not short of it. Such a one is inelastic: that is what a hang
 *   looks like.
 * - Some waits delay no request, and so explain no slow one (verdict_input.excused): of idle
 *   workers of .NET's thread pool, which call sched_yield(), and of the thread that recompiles hot
 *   methods.
 * - Less than own_waiting threads for each CPU behind its own are no reason: then what it waits
 *   behind others decides by itself, and without a service signal a process that waits so has what
 *   it can use. So inelastic is never said without a signal.
 * - Where own and others' threads cannot be told apart, the wait splits as the host's running
 *   threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stable ids, part of every machine-readable output: verdict_id(). */
enum verdict {
	VERDICT_HEALTHY,
	VERDICT_BUSY_ELASTIC,
	VERDICT_BUSY_UNMEASURED,
	VERDICT_HOST_OVERLOADED,
	VERDICT_INELASTIC,
	VERDICT_THROTTLED,
	VERDICT_STARVED,
	VERDICT_OVERSUBSCRIBED,
	VERDICT_STOLEN,
	VERDICT_NO_EVIDENCE,
	VERDICT_CONTENDED,
	VERDICT_UNKNOWN,
	VERDICT_CNT
};

/* What hurts a process without a service signal. */
enum verdict_hurt_by {
	HURT_BY_REQUESTS, /* nothing: only requests and signals tell of harm */
	HURT_BY_WAITING,  /* to get less CPU than it wants, or to wait long for it */
	HURT_BY_CNT
};

/* Shares are 0..1. Defaults: verdict_limits_default(). */
struct verdict_limits {
	double high_cpu;	 /* ran of the CPUs available: 0.7 */
	double slow_share;	 /* of requests: 0.1 */
	double unanswered;	 /* of requests that ended, without an answer: 0.5 */
	uint64_t stuck_ns;	 /* an unanswered request: 10 s */
	double progress;	 /* ran / wanted, under it: 0.8 */
	uint64_t delay_ns;	 /* p99 of run delay, over it: 20 ms */
	double steal;		 /* of the host's CPU time: 0.1 */
	double throttled;	 /* of wanted: 0.1 */
	double host_busy;	 /* of all CPUs: 0.95 */
	double host_waiting_min; /* waiting threads, or half the CPUs where that is more: 10 */
	double own_waiting;	 /* threads behind its own, for each CPU available: 1 */
	uint64_t requests_min;	 /* fewer tell nothing of a slow share: 20 */
	double signal_bad;	 /* the operator's own number, at or over it: 0.1 */
	double slower;		 /* times as slow as usual, at or over it: 2; 0 = never */
	double wanted_min;	 /* mean threads; of less there is no progress to speak of: 0.1 */
	uint64_t delays_min;	 /* fewer have no p99: 100 */
	uint64_t episode_ns;	 /* hurt on end so long, though not over the whole window: 3 s */
	uint64_t hurt_by;	 /* enum verdict_hurt_by: HURT_BY_REQUESTS */
	bool no_capture;	 /* none of its own, however hurt it is (hotrun watch): false */
};

/* What is known of one process over a window; the host's own figures come with each. */
struct verdict_input {
	uint64_t elapsed_ns;
	double running, waiting, throttled; /* mean threads */
	double behind_own;		    /* of waiting */
	double excused;			    /* of waiting: what delays no request */
	bool own_known;			    /* waits behind own threads were told apart */
	double cpus_available;		    /* 0 = not known */
	bool background;		    /* all of it asked to run behind others */
	uint64_t delay_p99_ns, delays;	    /* delays: run delays that ended */
	/* Service signal. */
	bool has_requests; /* it serves, and requests were seen or are unanswered */
	uint64_t requests; /* that a share can be taken of */
	double slow_share;
	uint64_t unseen;       /* of requests, on connections that were not followed */
	double slow_below;     /* so much less slow_share may be, since not all were seen */
	uint64_t answered;     /* of requests; the others stand unanswered for too long */
	double answered_share; /* of answered, slow */
	bool serves_enough; /* over the whole recording: a second with fewer requests tells, too */
	/* Over the whole recording, too: few of its requests were seen where not all connections
	 * were followed. That tells nothing, neither that it serves little. */
	bool partly_seen;
	bool may_serve; /* over the whole recording: somebody asked it */
	/* Requests are not measured, and it listens on a TCP port, or nobody knows whether it does.
	 * Of the host: one process is unknown for that. */
	bool unmeasured;
	double unanswered;	 /* mean requests on their way to an answer; 0 = not known */
	uint64_t ended;		 /* that ended, answered or not, where that can be told */
	double unanswered_share; /* of ended, without an answer */
	double unanswered_below; /* as slow_below */
	uint64_t stuck;
	uint64_t oldest_ns; /* of those unanswered */
	uint64_t refused;   /* of accept queues that were full */
	bool has_signal;    /* the operator's own */
	double signal;
	double slower; /* times as slow as its past at this rate at the most; 0 = as usual */
	uint64_t median_ns, usual_ns; /* that it is told by, where so: the time of its answers */
	double slow_now, usual_slow;  /* or, without a time: the share that was slow */
	/* The host. */
	double host_busy, host_waiting, host_steal; /* shares; waiting in threads */
	uint32_t host_cpus;
	bool books_gap; /* the switch books have a gap: figures above are not to be trusted */
};

/* Its requests, or its operator, say whether it is hurt. */
static inline bool verdict_has_signal(const struct verdict_input *input)
{
	return input->has_requests || input->has_signal;
}

enum verdict_figure {
	FIGURE_SLOW_SHARE,
	FIGURE_STUCK,
	FIGURE_UNANSWERED,
	FIGURE_REFUSED,
	FIGURE_SIGNAL,
	FIGURE_SLOWER,
	FIGURE_PROGRESS,
	FIGURE_DELAY,
	FIGURE_CPU,
	FIGURE_THROTTLED,
	FIGURE_BEHIND_OTHERS,
	FIGURE_BEHIND_OWN,
	FIGURE_STEAL,
	FIGURE_HOST_BUSY,
	FIGURE_HOST_WAITING,
	FIGURE_REQUESTS,
	FIGURE_BOOKS,
	FIGURE_CNT
};

/* A figure against its threshold. */
struct verdict_evidence {
	enum verdict_figure figure;
	double value, limit; /* in the figure's own unit: share, ns, threads, count, times */
	bool bad;	     /* on the far side of the limit; of FIGURE_CPU: high */
};

#define VERDICT_EVIDENCE_MAX 8

struct verdict_result {
	enum verdict verdict;
	bool hurt;
	bool at_limit;		   /* its requests are fast, and its CPU limit leaves no room */
	enum verdict_figure cause; /* what explains that it is hurt or contended; else FIGURE_CPU */
	struct verdict_evidence evidence[VERDICT_EVIDENCE_MAX]; /* what decided first */
	size_t evidence_cnt;
};

void verdict_limits_default(struct verdict_limits *ret_limits);
void verdict_of(const struct verdict_input *input, const struct verdict_limits *limits,
		struct verdict_result *ret_result);
/*
 * The host: input has its figures alone, and its requests summed. seen: a bit (VERDICT_BIT) for the
 * verdict of each process that is hurt or contended, 0 = none (verdict_bit()). stolen where steal
 * explains one who is hurt, overloaded where it is saturated and any is hurt, else the most urgent
 * of theirs, else what is true of all of it: unknown where input is unmeasured.
 */
#define VERDICT_BIT(verdict) (1u << (verdict))
static inline uint32_t verdict_bit(const struct verdict_result *result)
{
	return result->hurt || result->verdict == VERDICT_CONTENDED ? VERDICT_BIT(result->verdict)
								    : 0;
}

void verdict_of_host(const struct verdict_input *host, uint32_t seen,
		     const struct verdict_limits *limits, struct verdict_result *ret_result);
/* True where the host's CPUs are all taken: CPU share, or threads that wait. */
bool verdict_saturated(const struct verdict_input *host, const struct verdict_limits *limits);

/* How far a figure is beyond its limit, as a part of the limit: 1 = twice as bad, negative = as
 * much room is left. Sides are of the figure: progress is bad below. */
double verdict_distance(const struct verdict_evidence *evidence);

/* Stable, "slow-share"; and what its value and limit are: "share", "ns", "threads", "count",
 * "times" or "".
 * Static. */
const char *verdict_figure_id(enum verdict_figure figure);
const char *verdict_figure_unit(enum verdict_figure figure);

/* "busy-elastic"; one sentence on what it means; what to do, "" nothing. Static. */
const char *verdict_id(enum verdict verdict);
const char *verdict_text(enum verdict verdict);
const char *verdict_remedy(enum verdict verdict);
/* The remedy of that result: where it stands at its limit another one. Static. */
const char *verdict_result_remedy(const struct verdict_result *result);
/* The more urgent of two comes first: < 0, 0, > 0. */
int verdict_compare(enum verdict a, enum verdict b);
#endif

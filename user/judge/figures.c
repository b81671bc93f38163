/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/figures.h"

/* Of requests_min: so many slow ones tell even among fewer. */
#define SLOW_TELLS 4

/* Who wants a CPU half of the time is slow for want of it: requests may wait inside for a
 * thread. */
#define WANTED_TELLS 0.5
/* Of the time that requests are on their way: so much of it in waits for a CPU tells, too. */
#define WAIT_TELLS 0.1

static void set(struct figures *f, enum verdict_figure figure, double value, double limit, bool bad)
{
	f->all[figure] = (struct verdict_evidence){figure, value, limit, bad};
	f->known[figure] = true;
}

static void add_signal(struct figures *f, const struct verdict_input *in,
		       const struct verdict_limits *l)
{
	uint64_t seen = in->requests > in->unseen ? in->requests - in->unseen : 0;
	double slow = in->slow_share * (double)seen;
	bool enough = seen && seen >= l->requests_min;
	bool fast = in->slow_share < l->slow_share;
	bool sure = fast || in->slow_share - in->slow_below >= l->slow_share;

	enough = enough || (slow > 0 && slow * SLOW_TELLS >= l->requests_min);
	if (in->has_requests && enough && sure)
		set(f, FIGURE_SLOW_SHARE, in->slow_share, l->slow_share, !fast);
	else if (in->serves_enough && fast)
		set(f, FIGURE_SLOW_SHARE, in->slow_share, l->slow_share, false);
	else if (in->has_requests && in->requests)
		set(f, FIGURE_REQUESTS, (double)seen, (double)l->requests_min, false);
	if (in->has_requests && in->oldest_ns)
		set(f, FIGURE_STUCK, (double)in->oldest_ns, (double)l->stuck_ns,
		    in->oldest_ns > l->stuck_ns);
	if (in->ended && in->ended >= l->requests_min)
		set(f, FIGURE_UNANSWERED, in->unanswered_share, l->unanswered,
		    in->unanswered_share > 0 &&
			    in->unanswered_share - in->unanswered_below >= l->unanswered);
	if (in->refused)
		set(f, FIGURE_REFUSED, (double)in->refused, 0, true);
	if (in->has_signal)
		set(f, FIGURE_SIGNAL, in->signal, l->signal_bad, in->signal >= l->signal_bad);
	if (in->slower > 0 && l->slower > 0)
		set(f, FIGURE_SLOWER, in->slower, l->slower, in->slower >= l->slower);
}

/* Of what it waited, that behind its own threads. */
static double own_of(const struct verdict_input *in)
{
	double ran = in->host_busy * in->host_cpus;

	if (in->own_known)
		return in->behind_own < in->waiting ? in->behind_own : in->waiting;
	return ran > in->running ? in->waiting * in->running / ran : in->waiting;
}

/* What hangs while others are answered in time does not hang for want of a CPU. */
static bool only_hangs(const struct figures *f, const struct verdict_input *in,
		       const struct verdict_limits *l)
{
	return figures_bad(f, FIGURE_STUCK) && in->answered && in->answered >= l->requests_min &&
	       in->answered_share < l->slow_share && !figures_bad(f, FIGURE_REFUSED) &&
	       !figures_bad(f, FIGURE_UNANSWERED) && !figures_bad(f, FIGURE_SIGNAL) &&
	       !figures_bad(f, FIGURE_SLOWER);
}

/* A service that sleeps in its requests is not slow for the little that it waits. */
static bool wait_tells(const struct figures *f, const struct verdict_input *in,
		       const struct verdict_limits *l)
{
	double missed = in->waiting - in->excused + in->throttled, wanted = in->running + missed;
	double cpus = in->cpus_available > 0 && in->cpus_available < 1 ? in->cpus_available : 1;

	if (only_hangs(f, in, l))
		return false;
	if (wanted >= WANTED_TELLS * cpus)
		return true;
	/* How long those were on their way whose clients gave up, nobody knows. */
	if (in->unanswered <= 0)
		return !in->ended;
	return missed >= WAIT_TELLS * in->unanswered;
}

static void add_scheduler(struct figures *f, const struct verdict_input *in,
			  const struct verdict_limits *l)
{
	double wanted = in->running + in->waiting + in->throttled;
	double own = own_of(in), others = in->waiting - own;
	bool is_short;

	if (in->cpus_available > 0)
		set(f, FIGURE_CPU, in->running / in->cpus_available, l->high_cpu,
		    in->running / in->cpus_available >= l->high_cpu);
	if (wanted <= 0 || wanted < l->wanted_min)
		return;
	set(f, FIGURE_PROGRESS, in->running / wanted, l->progress,
	    in->running / wanted < l->progress);
	if (in->delays && in->delays >= l->delays_min)
		set(f, FIGURE_DELAY, (double)in->delay_p99_ns, (double)l->delay_ns,
		    in->delay_p99_ns > l->delay_ns);
	set(f, FIGURE_THROTTLED, in->throttled / wanted, l->throttled,
	    in->throttled > 0 && in->throttled / wanted >= l->throttled);
	is_short = figures_short(f);
	if (in->cpus_available > 0)
		set(f, FIGURE_BEHIND_OWN, own / in->cpus_available, l->own_waiting,
		    is_short && own > others && own / in->cpus_available >= l->own_waiting);
	set(f, FIGURE_BEHIND_OTHERS, others, own,
	    is_short && others > 0 && !figures_bad(f, FIGURE_BEHIND_OWN) &&
		    (others >= own || in->running / (in->running + others) < l->progress));
}

static void add_host(struct figures *f, const struct verdict_input *in,
		     const struct verdict_limits *l)
{
	double half = in->host_cpus / 2.0;
	double most = half > l->host_waiting_min ? half : l->host_waiting_min;

	if (!in->host_cpus)
		return;
	set(f, FIGURE_STEAL, in->host_steal, l->steal,
	    in->host_steal > 0 && in->host_steal >= l->steal);
	set(f, FIGURE_HOST_BUSY, in->host_busy, l->host_busy, in->host_busy >= l->host_busy);
	set(f, FIGURE_HOST_WAITING, in->host_waiting, most, in->host_waiting > most);
}

void figures_of(const struct verdict_input *in, const struct verdict_limits *l,
		struct figures *ret_figures)
{
	struct figures f = {0};

	if (in->books_gap || !in->elapsed_ns)
		set(&f, FIGURE_BOOKS, 1, 0, true);
	add_signal(&f, in, l);
	add_scheduler(&f, in, l);
	f.wait_tells = wait_tells(&f, in, l);
	add_host(&f, in, l);
	*ret_figures = f;
}

enum service_signal figures_signal(const struct figures *f)
{
	if (figures_bad(f, FIGURE_SLOW_SHARE) || figures_bad(f, FIGURE_STUCK) ||
	    figures_bad(f, FIGURE_UNANSWERED) || figures_bad(f, FIGURE_REFUSED) ||
	    figures_bad(f, FIGURE_SIGNAL) || figures_bad(f, FIGURE_SLOWER))
		return SIGNAL_SLOW;
	return f->known[FIGURE_SLOW_SHARE] || f->known[FIGURE_SIGNAL] ? SIGNAL_FAST : SIGNAL_NONE;
}

bool figures_short(const struct figures *f)
{
	return figures_bad(f, FIGURE_PROGRESS) || figures_bad(f, FIGURE_DELAY);
}

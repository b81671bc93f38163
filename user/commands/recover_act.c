/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/recover_act.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "commands/command.h"
#include "process/dotnet_ask.h"
#include "process/resume.h"

/* For its threads to run, on a host full of others; and for a runtime to start. */
#define RUNS_NS	  3000000000ull
#define STARTS_NS 10000000000ull
#define LOOK_NS	  50000000
#define LASTS_NS  200000000
#define ANSWER_NS 5000000000ull
/* Groups above each other may be frozen each. */
#define THAWS_MAX   4u
#define LETTERS_MAX 200

static void say(struct recover_done *done, bool ok, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct recover_done *done, bool ok, const char *format, ...)
{
	va_list args;

	done->ok = ok;
	va_start(args, format);
	vsnprintf(done->text, sizeof(done->text), format, args);
	va_end(args);
}

static const char *why(int err)
{
	switch (err) {
	case -ESRCH:
		return "it is gone by now";
	case -EPERM:
	case -EACCES:
		return "no permission; run as root";
	case -ENOENT:
		return "its group is gone, or not seen from here";
	case -ETIMEDOUT:
		return "it does not end, not even by SIGKILL: it hangs in the kernel";
	default:
		return strerror(-err);
	}
}

/* --- the acts --------------------------------------------------------------------------------- */

static void thaw(const struct left_process *p, struct recover_done *done)
{
	int err = freezer_thaw(&p->freeze);

	if (err)
		say(done, false, "group %s is not thawed: %s", p->freeze.group, why(err));
	else
		say(done, true, "group %s thawed", p->freeze.group);
}

static void send_continue(const char *proc_path, const struct left_process *p,
			  struct recover_done *done)
{
	int err = resume_signal(proc_path, p->tgid, p->start_ticks, SIGCONT);

	if (err)
		say(done, false, "SIGCONT not sent: %s", why(err));
	else
		say(done, true, "SIGCONT sent");
}

static void end_tracer(const char *proc_path, const struct left_process *p,
		       struct recover_done *done)
{
	const struct left_other *tracer = &p->tracer;
	bool killed = false;
	int err;

	if (tracer->tgid <= 1 || resume_is_above(proc_path, tracer->tgid)) {
		say(done, false, "tracer %s %u is not ended: this command runs below it",
		    tracer->comm, tracer->tgid);
		return;
	}
	err = resume_end(proc_path, tracer->tgid, tracer->start_ticks, &killed);
	if (err)
		say(done, false, "tracer %s %u is not ended: %s", tracer->comm, tracer->tgid,
		    why(err));
	else
		say(done, true, "tracer %s %u ended by %s", tracer->comm, tracer->tgid,
		    killed ? "SIGKILL" : "SIGTERM");
}

/* Over each port that it waits at: it goes on when all have said so. */
static void resume_runtime(struct recover_look *l, const struct left_process *p,
			   struct recover_done *done)
{
	_cleanup_free_ struct dotnet_switch *s = calloc(1, sizeof(*s));
	struct dotnet_list list = {0};
	char text[512];
	int err = s ? dotnet_read(l->reader.requests, p->tgid, &list) : -ENOMEM;

	if (err) {
		say(done, false, "its runtime is not resumed: %s", why(err));
		return;
	}
	say(done, true, "its runtime was told to go on");
	for (uint32_t i = 0; i < p->dotnet.ports_cnt && done->ok; i++) {
		const struct left_port *left = &p->dotnet.ports[i];

		dotnet_resume(l->reader.requests, &list.rows[0], left->path, ANSWER_NS, s);
		if (!s->outcome)
			continue;
		dotnet_resume_text(s, text, sizeof(text));
		say(done, false, "its runtime is not resumed at %s: %s",
		    left->by_default ? "its diagnostics socket" : left->path, text);
	}
	dotnet_clear(&list);
}

static void switch_map_off(struct recover_look *l, const struct left_process *p,
			   struct recover_done *done)
{
	_cleanup_free_ struct dotnet_switch *s = calloc(1, sizeof(*s));
	char text[1024];

	if (!s) {
		say(done, false, "perf map: %s", strerror(ENOMEM));
		return;
	}
	dotnet_disable(l->reader.requests, p->tgid, p->start_ticks, ANSWER_NS, s);
	dotnet_switch_text(s, text, sizeof(text));
	say(done, s->outcome == DOTNET_DONE || s->outcome == DOTNET_ALREADY, "perf map: %s", text);
}

static void do_act(struct recover_look *l, const struct left_process *p, struct recover_done *done)
{
	const char *proc_path = l->reader.requests->proc_path;

	switch (done->act) {
	case RECOVER_THAW:
		thaw(p, done);
		break;
	case RECOVER_END_TRACER:
		end_tracer(proc_path, p, done);
		break;
	case RECOVER_CONTINUE:
		send_continue(proc_path, p, done);
		break;
	case RECOVER_RESUME:
		resume_runtime(l, p, done);
		break;
	case RECOVER_MAP_OFF:
		switch_map_off(l, p, done);
		break;
	default:
		break;
	}
}

/* --- whether it helped ------------------------------------------------------------------------ */

/* Whether an act did its own part, and something else holds it now: a group above, a stop that its
 * tracer left. */
static bool is_held_otherwise(const struct left_process *before, const struct left_process *now,
			      enum recover_act act)
{
	if (act == RECOVER_THAW && now->freeze.frozen != LEFT_NOT_FROZEN)
		return strcmp(now->freeze.group, before->freeze.group) != 0;
	if (act == RECOVER_CONTINUE || now->trace_stop_cnt)
		return false;
	return act == RECOVER_END_TRACER && now->stopped_cnt && !now->traced_cnt;
}

/* Waits until its threads run. 0, -ETIMEDOUT, -EAGAIN: something else holds it now, or -ESRCH: it
 * ended. */
static int wait_until_it_runs(struct recover_look *l, const struct left_process *before,
			      enum recover_act act)
{
	_cleanup_free_ struct left_process *now = malloc(sizeof(*now));
	bool lasted = false;
	uint64_t end_ns = clock_now_ns() + (act == RECOVER_RESUME ? STARTS_NS : RUNS_NS);

	while (now) {
		int err;

		*now = *before;
		err = left_behind_read_again(&l->reader, now);
		if (!err && is_held_otherwise(before, now, act))
			return -EAGAIN;
		if (err == -ESRCH)
			return err;
		if (!err && recover_runs(before, now, act)) {
			/* One that its tracer takes along runs, too, to its end. */
			if (act != RECOVER_END_TRACER || lasted)
				return 0;
			lasted = true;
		}
		if (clock_now_ns() >= end_ns || stop_requested)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){.tv_nsec = lasted ? LASTS_NS : LOOK_NS}, NULL);
	}
	return -ETIMEDOUT;
}

static void tell_whether_it_runs(struct recover_done *done, int err)
{
	size_t len = strlen(done->text);
	char *end = done->text + len;
	size_t room = sizeof(done->text) - len;

	if (done->act == RECOVER_MAP_OFF)
		return;
	if (!err || err == -EAGAIN) {
		snprintf(end, room, "%s",
			 !err			     ? "; it runs"
			 : done->act == RECOVER_THAW ? "; a group above it is frozen, too"
						     : "; its threads are stopped now");
		return;
	}
	done->ok = err == -ESRCH && done->act != RECOVER_END_TRACER;
	if (err != -ESRCH)
		snprintf(end, room, "; but it does not run");
	else if (done->act == RECOVER_END_TRACER)
		snprintf(end, room, "; the process ended with it (PTRACE_O_EXITKILL?)");
	else
		snprintf(end, room, "; it ran, and has ended");
}

/* --- one after the other ---------------------------------------------------------------------- */

static unsigned int done_so_often(const struct recover_row *row, enum recover_act act)
{
	unsigned int cnt = 0;

	for (size_t i = 0; i < row->done_cnt; i++)
		cnt += row->done[i].act == act;
	return cnt;
}

/* The next act that its state asks for; RECOVER_NOTHING: there is none. */
static enum recover_act next_act(struct recover_row *row, const struct left_process *p,
				 struct recover_finding *findings, bool may_end_tracer)
{
	size_t cnt = recover_judge(p, findings);
	bool stands = false;

	row->tracer_spared = false;
	for (size_t i = 0; i < cnt; i++) {
		enum recover_act act = findings[i].act;

		/* A dump is waited for: nothing else is done meanwhile. */
		if (!strcmp(findings[i].id, "dump"))
			return RECOVER_NOTHING;
		stands |= findings[i].level == RECOVER_STANDS;
		if (act == RECOVER_END_TRACER && !may_end_tracer) {
			row->tracer_spared = true;
			continue;
		}
		/* Who stands answers nobody. */
		if (act == RECOVER_NOTHING || (act == RECOVER_MAP_OFF && stands) ||
		    done_so_often(row, act) >= (act == RECOVER_THAW ? THAWS_MAX : 1))
			continue;
		return act;
	}
	return RECOVER_NOTHING;
}

/* One act. False: it has ended, or cannot be looked at any more. */
static bool act_once(struct recover_look *l, struct recover_row *row, struct left_process *p,
		     enum recover_act act)
{
	struct recover_done *done = &row->done[row->done_cnt++];
	const char *name = p->name;
	int err = 0;

	*done = (struct recover_done){.act = act};
	log_info("%u %.*s: %s ...", p->tgid, LETTERS_MAX, name, recover_act_id(act));
	do_act(l, p, done);
	if (done->ok)
		err = wait_until_it_runs(l, p, act);
	if (done->ok)
		tell_whether_it_runs(done, err);
	if (done->ok)
		log_info("%u %.*s: %s", p->tgid, LETTERS_MAX, name, done->text);
	else
		log_error("%u %.*s: %s", p->tgid, LETTERS_MAX, name, done->text);
	err = recover_look_now(l, &row->found, p);
	row->ended = err == -ESRCH;
	return !err;
}

void recover_perform(struct recover_look *l, struct recover_row *row, bool end_tracer)
{
	_cleanup_free_ struct recover_finding *findings =
		calloc(RECOVER_FINDINGS_MAX, sizeof(*findings));
	enum recover_act act = RECOVER_NOTHING;

	row->after = row->found;
	row->acted = true;
	if (row->ended)
		return;
	while (findings && !stop_requested && row->done_cnt < RECOVER_DONE_MAX) {
		act = next_act(row, &row->after, findings, end_tracer);
		if (act == RECOVER_NOTHING || !act_once(l, row, &row->after, act))
			break;
	}
}

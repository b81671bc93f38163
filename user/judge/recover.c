/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/recover.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of .NET: writes a dump at the process's own wish, or a tool's, and is gone then. */
#define DUMPER "createdump"

static void __attribute__((format(printf, 2, 3)))
say(struct recover_finding *f, const char *format, ...)
{
	size_t len = strlen(f->text);
	va_list args;

	va_start(args, format);
	vsnprintf(f->text + len, sizeof(f->text) - len, format, args);
	va_end(args);
}

static void __attribute__((format(printf, 2, 3)))
step(struct recover_finding *f, const char *format, ...)
{
	va_list args;

	if (f->steps_cnt >= RECOVER_STEPS_MAX)
		return;
	va_start(args, format);
	vsnprintf(f->steps[f->steps_cnt++], RECOVER_STEP_BYTES, format, args);
	va_end(args);
}

/* What comes after each of the ways out. */
static void step_answers(const struct left_process *p, struct recover_finding *f)
{
	step(f,
	     "see whether it answers: `hotrun requests -p %u -d 5`; if not, take it out of "
	     "traffic and restart it in quiet",
	     p->tgid);
}

static const char *plural(uint32_t cnt)
{
	return cnt == 1 ? "" : "s";
}

/* What another process does, as the rest of a sentence. */
static const char *state_text(char state)
{
	switch (state) {
	case 'R':
		return "runs";
	case 'D':
		return "hangs in the kernel (D)";
	case 'T':
		return "is itself stopped (T)";
	case 't':
		return "is itself held by a tracer (t)";
	case 'Z':
	case 'X':
		return "has ended";
	case 0:
		return "is gone by now";
	default:
		return "is alive and waits";
	}
}

/* --- stopped ---------------------------------------------------------------------------------- */

static const struct left_tracer *find_dumper(const struct left_process *p)
{
	for (uint32_t i = 0; i < p->tracers_cnt; i++)
		if (!strcmp(p->tracers[i].who.comm, DUMPER))
			return &p->tracers[i];
	return NULL;
}

static bool is_dumping(const struct left_process *p)
{
	return p->core_dumping || find_dumper(p);
}

static void say_stopped(const struct left_process *p, struct recover_finding *f)
{
	say(f, "%u of %u%s threads stopped (T); parent ", p->stopped_cnt, p->threads_cnt,
	    p->threads_cut ? " or more" : "");
	if (p->parent.tgid)
		say(f, "%s %u, which %s; ", *p->parent.comm ? p->parent.comm : "process",
		    p->parent.tgid, state_text(p->parent.state));
	else
		say(f, "not seen from here; ");
	if (p->session)
		say(f, "session %u, ", p->session);
	say(f,
	    "%s. Who sent the signal is not known, the kernel keeps no record of it; a tracer "
	    "that died while it held the process leaves it like this, too",
	    p->has_terminal ? "with a terminal" : "no terminal");
}

static bool judge_stopped(const struct left_process *p, struct recover_finding *f)
{
	if (!p->stopped_cnt || p->core_dumping)
		return false;
	if (p->moves) {
		f->level = RECOVER_LEFT;
		say(f, "its threads are stopped and go on again in turns, as cpulimit does it");
		step(f, "find what stops it, and end that: nothing is to be continued here");
		return true;
	}
	f->level = RECOVER_STANDS;
	say_stopped(p, f);
	if (p->has_terminal)
		step(f, "if it was stopped at a terminal (Ctrl-Z), continue it there: `fg`");
	step(f, "is the tool that stopped it alive (a profiler, a debugger, a script)? End it "
		"there first, or it stops it again");
	/* A signal is held back by a tracer. */
	if (p->traced_cnt) {
		step(f, "it has a tracer, which decides: see there");
		return true;
	}
	f->act = RECOVER_CONTINUE;
	step(f, "`hotrun recover %u --resume` sends SIGCONT and checks that its threads run",
	     p->tgid);
	step_answers(p, f);
	return true;
}

/* --- traced ----------------------------------------------------------------------------------- */

const struct left_tracer *recover_tracer(const struct left_process *p, uint32_t tgid)
{
	for (uint32_t i = 0; i < p->tracers_cnt; i++)
		if (p->tracers[i].who.tgid == tgid)
			return &p->tracers[i];
	return NULL;
}

bool recover_is_parent(const struct left_process *p, const struct left_tracer *tracer)
{
	return tracer->who.tgid && tracer->who.tgid == p->parent.tgid;
}

static const char *comm_of(const struct left_tracer *tracer)
{
	return *tracer->who.comm ? tracer->who.comm : "process";
}

static bool is_stopped_itself(const struct left_tracer *tracer)
{
	return tracer->who.state == 'T' || tracer->who.state == 't';
}

static void say_tracer(const struct left_process *p, const struct left_tracer *tracer,
		       struct recover_finding *f)
{
	if (!tracer->who.tgid) {
		say(f, "a process that cannot be seen from this pid namespace");
		return;
	}
	say(f, "%s %u, which %s", comm_of(tracer), tracer->who.tgid, state_text(tracer->who.state));
	if (recover_is_parent(p, tracer))
		say(f, " (its own parent, by PTRACE_TRACEME, perhaps unknowingly)");
}

/* holders: those alone that hold threads. */
static void say_tracers(const struct left_process *p, bool holders, struct recover_finding *f)
{
	for (uint32_t i = 0; i < p->tracers_cnt; i++) {
		if (holders && !p->tracers[i].held_cnt)
			continue;
		say(f, "%s", i ? "; and " : "");
		say_tracer(p, &p->tracers[i], f);
	}
	say(f, "%s", p->tracers_cut ? "; and others" : "");
}

static bool judge_dump(const struct left_process *p, struct recover_finding *f)
{
	const struct left_tracer *dumper = find_dumper(p);

	if (!is_dumping(p))
		return false;
	f->level = RECOVER_STANDS;
	if (p->core_dumping) {
		say(f, "the kernel writes its core: it is dying, and nothing brings it back");
		step(f, "wait until it is written: SIGKILL now cuts it short");
		step(f, "it is restarted when it has ended; the core tells why");
		return true;
	}
	say(f, "a dump of it is written, by ");
	say_tracer(p, dumper, f);
	step(f, "wait until it is done: it goes on by itself, or ends if it crashed");
	if (is_stopped_itself(dumper))
		step(f, "what writes it stands itself: `hotrun recover %u` says why",
		     dumper->who.tgid);
	return true;
}

/* Of a parent that may not know that it traces. */
static void step_parent(const struct left_process *p, struct recover_finding *f)
{
	for (uint32_t i = 0; i < p->tracers_cnt; i++) {
		const struct left_tracer *tracer = &p->tracers[i];

		if (!tracer->held_cnt || !recover_is_parent(p, tracer))
			continue;
		step(f,
		     "look what %s %u is: a process can make any parent its tracer, a service "
		     "that serves others among them. One that is no debugger is to be left alone, "
		     "and what stands ended instead: `kill -KILL %u` reaches it",
		     comm_of(tracer), tracer->who.tgid, p->tgid);
		return;
	}
}

/* The command that ends those that hold it. */
static void step_end(const struct left_process *p, struct recover_finding *f)
{
	char pids[LEFT_TRACERS_MAX * 11 + 1] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < p->tracers_cnt; i++)
		if (p->tracers[i].held_cnt && p->tracers[i].who.tgid)
			len += (size_t)snprintf(pids + len, sizeof(pids) - len, "%s%u",
						len ? "," : "", p->tracers[i].who.tgid);
	step(f,
	     "`hotrun recover %u --resume --end-tracer=%s` ends what is named there (SIGTERM, then "
	     "SIGKILL; not one that has other children, or is the main process of a unit or "
	     "container), sends SIGCONT, and checks that its threads run",
	     p->tgid, pids);
}

/* What to do about the tracers that hold threads. */
static void step_tracers(const struct left_process *p, struct recover_finding *f)
{
	bool seen = false;

	for (uint32_t i = 0; i < p->tracers_cnt && p->tracers[i].held_cnt; i++) {
		const struct left_tracer *tracer = &p->tracers[i];

		if (!tracer->who.tgid)
			step(f, "look for what is not seen on the host, or in the container beside "
				"this one");
		else if (is_stopped_itself(tracer) && !seen)
			step(f,
			     "the tracer stands itself: `hotrun recover %u` says why, with "
			     "--resume it goes on",
			     tracer->who.tgid);
		seen |= tracer->who.tgid != 0;
	}
	if (!seen)
		return;
	step_parent(p, f);
	step(f, "end it there first, by its own way: `detach` or `quit` in gdb and lldb, Ctrl-C "
		"at strace");
	step(f, "take the service out of traffic: where the tracer set PTRACE_O_EXITKILL its death "
		"kills the process, and a debugger that started the process itself may end it, "
		"too. Neither can be seen from outside");
	step_end(p, f);
	step_answers(p, f);
}

/* Whether one of those that hold it can be ended from here. */
static bool has_holder(const struct left_process *p)
{
	for (uint32_t i = 0; i < p->tracers_cnt; i++)
		if (p->tracers[i].held_cnt && p->tracers[i].who.tgid)
			return true;
	return false;
}

static bool judge_traced(const struct left_process *p, struct recover_finding *f)
{
	if (!p->traced_cnt || is_dumping(p))
		return false;
	if (p->trace_stop_cnt && !p->moves) {
		f->level = RECOVER_STANDS;
		f->act = has_holder(p) ? RECOVER_END_TRACER : RECOVER_NOTHING;
		say(f, "%u of %u%s threads stand in a trace stop (t), held by ", p->trace_stop_cnt,
		    p->threads_cnt, p->threads_cut ? " or more" : "");
		say_tracers(p, true, f);
		step_tracers(p, f);
		return true;
	}
	f->level = RECOVER_LEFT;
	say(f, "%u of %u threads are traced, and run, by ", p->traced_cnt, p->threads_cnt);
	say_tracers(p, false, f);
	step(f, "if nobody needs it any more, end it there: each event of a traced thread costs "
		"two switches, and when the tracer stands the process does");
	return true;
}

/* --- frozen ----------------------------------------------------------------------------------- */

static bool judge_frozen(const struct left_process *p, struct recover_finding *f)
{
	const struct left_freeze *freeze = &p->freeze;

	if (freeze->frozen == LEFT_NOT_FROZEN)
		return false;
	f->level = RECOVER_STANDS;
	say(f, "its group is %s (cgroup v%d): %s", freeze->freezing ? "being frozen" : "frozen",
	    freeze->frozen == LEFT_FROZEN_V1 ? 1 : 2, freeze->group);
	if (freeze->found)
		say(f, ", with %u%s process%s", freeze->processes_cnt,
		    freeze->processes_cut ? " or more" : "",
		    freeze->processes_cnt == 1 ? "" : "es");
	if (*p->container)
		step(f,
		     "a paused container looks like this: unpause %.64s where it was paused "
		     "(docker, podman, ctr, crictl), or its runtime takes it for paused still",
		     p->container);
	else if (*p->unit)
		step(f, "if it was frozen by systemd: `systemctl thaw %.200s`", p->unit);
	if (!freeze->found) {
		step(f, "which group was frozen cannot be seen from here: thaw it on the host");
		return true;
	}
	f->act = RECOVER_THAW;
	step(f,
	     "`hotrun recover %u --resume` thaws all processes of the group, and checks that "
	     "its threads run",
	     p->tgid);
	step_answers(p, f);
	return true;
}

/* --- .NET ------------------------------------------------------------------------------------- */

static void say_port(const struct left_port *port, struct recover_finding *f)
{
	if (port->by_default)
		say(f, "its usual diagnostics socket");
	else
		say(f, "%s, to which it connects; %s there", port->path,
		    port->answered ? "a tool listens" : "nobody is seen to listen");
}

static bool judge_port(const struct left_process *p, struct recover_finding *f)
{
	const struct left_dotnet *d = &p->dotnet;
	bool answered = false;

	if (!d->is || d->has_finalizer || !d->ports_cnt)
		return false;
	f->level = RECOVER_STANDS;
	say(f, "its runtime waits at its start, before any code of it ran, for word at its "
	       "diagnostic port: ");
	for (uint32_t i = 0; i < d->ports_cnt; i++) {
		say(f, "%s", i ? "; and " : "");
		say_port(&d->ports[i], f);
		answered |= d->ports[i].answered;
	}
	if (answered) {
		step(f, "the tool that listens there says when it goes on (dotnet-monitor, "
			"dotnet-trace, a tracer at start): let it, or end it");
	} else {
		f->act = RECOVER_RESUME;
		step(f, "start the tool that it waits for, if it is to be traced from its start");
		step(f,
		     "`hotrun recover %u --resume` tells the runtime to go on, and checks that "
		     "it does",
		     p->tgid);
	}
	step(f, "start it without DOTNET_DiagnosticPorts the next time, or with `,nosuspend` "
		"behind the path (DOTNET_DefaultDiagnosticPortSuspend likewise)");
	return true;
}

static bool judge_session(const struct left_process *p, struct recover_finding *f)
{
	uint32_t cnt = p->dotnet.sessions_cnt;

	if (!p->dotnet.is || !cnt)
		return false;
	f->level = RECOVER_LEFT;
	say(f,
	    "%u connection%s to its diagnostics socket stay%s: who reads events of it "
	    "(dotnet-trace, dotnet-counters, dotnet-monitor) costs it CPU",
	    cnt, plural(cnt), cnt == 1 ? "s" : "");
	step(f, "end it there if nobody needs it: `ss -xp` has who is at the other end; the "
		"session of a reader that was killed ends with the next events written to it");
	step(f, "nobody else can end a session: its number is known to its reader alone");
	return true;
}

static bool judge_map(const struct left_process *p, struct recover_finding *f)
{
	const struct left_dotnet *d = &p->dotnet;

	/* Those that its environment asks for are meant. */
	if (!d->is || (d->map != DOTNET_MAP_SWITCHED_ON && d->map != DOTNET_MAP_DELETED))
		return false;
	f->level = RECOVER_LEFT;
	f->act = RECOVER_MAP_OFF;
	say(f, "its runtime writes a perf map that somebody switched on: %s%s", d->map_path,
	    d->map == DOTNET_MAP_DELETED ? ", to a file that was deleted" : "");
	step(f, "is it of a recording that goes on (`hotrun record --enable-perf-maps`, perf-maps "
		"of `hotrun watch`)? That one switches it off");
	step(f, "else `hotrun recover %u --resume` or `hotrun perfmap disable %u` does", p->tgid,
	     p->tgid);
	return true;
}

static bool judge_profiler(const struct left_process *p, struct recover_finding *f)
{
	const struct left_dotnet *d = &p->dotnet;

	if (!d->is || !*d->profiler)
		return false;
	f->level = RECOVER_LEFT;
	say(f, "a CLR profiler is loaded: %s (%s)", d->profiler,
	    d->profiler_exports ? "exports DllGetClassObject" : "by its name");
	step(f, "what it costs: `hotrun record -d 30`, then `hotrun report -p %u`", p->tgid);
	step(f, "nobody outside can unload it: to be without it, take the service out of traffic "
		"and restart it in quiet without CORECLR_ENABLE_PROFILING");
	return true;
}

/* ---------------------------------------------------------------------------------------------- */

/* In the order of acts; those that only cost come last. */
static const struct {
	const char *id;
	bool (*judge)(const struct left_process *p, struct recover_finding *f);
} rules[] = {
	{"frozen", judge_frozen},   {"dump", judge_dump},	  {"traced", judge_traced},
	{"stopped", judge_stopped}, {"port", judge_port},	  {"session", judge_session},
	{"map", judge_map},	    {"profiler", judge_profiler},
};

size_t recover_judge(const struct left_process *p,
		     struct recover_finding ret_findings[static RECOVER_FINDINGS_MAX])
{
	size_t cnt = 0;

	_Static_assert(sizeof(rules) / sizeof(rules[0]) <= RECOVER_FINDINGS_MAX, "room for each");
	if (p->kernel)
		return 0;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct recover_finding *f = &ret_findings[cnt];

		*f = (struct recover_finding){.id = rules[i].id};
		cnt += rules[i].judge(p, f);
	}
	return cnt;
}

const char *recover_refusal(const struct left_process *p, uint32_t own)
{
	if (p->tgid == 1)
		return "the first process of all, which keeps the others";
	if (p->tgid == own)
		return "hotrun itself";
	return p->kernel ? "a kernel thread, which no signal reaches" : NULL;
}

bool recover_runs(const struct left_process *before, const struct left_process *after,
		  enum recover_act act, uint32_t tracer)
{
	/* Who sleeps in a system call is woken by each of these, and goes back to it. */
	bool ran = after->switches != before->switches || after->wants_cpu;

	switch (act) {
	case RECOVER_THAW:
		return after->freeze.frozen == LEFT_NOT_FROZEN &&
		       (ran || after->stopped_cnt || after->trace_stop_cnt);
	case RECOVER_END_TRACER:
		return !after->trace_stop_cnt && !recover_tracer(after, tracer) && ran;
	case RECOVER_CONTINUE:
		return !after->stopped_cnt && ran;
	case RECOVER_RESUME:
		return after->dotnet.has_finalizer;
	default:
		return true;
	}
}

const char *recover_level_text(enum recover_level level)
{
	static const char *const texts[RECOVER_LEVELS] = {
		[RECOVER_STANDS] = "stands",
		[RECOVER_LEFT] = "left",
	};

	return texts[level];
}

const char *recover_act_id(enum recover_act act)
{
	static const char *const ids[RECOVER_ACTS] = {
		[RECOVER_NOTHING] = "",
		[RECOVER_THAW] = "thaw",
		[RECOVER_END_TRACER] = "end-tracer",
		[RECOVER_CONTINUE] = "continue",
		[RECOVER_RESUME] = "resume-runtime",
		[RECOVER_MAP_OFF] = "map-off",
	};

	return ids[act];
}

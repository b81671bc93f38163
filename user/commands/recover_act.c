/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/recover_act.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/command.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"
#include "process/dotnet_ask.h"
#include "process/proc.h"
#include "process/resume.h"
#include "process/tracer_tie.h"

/* For its threads to run, on a host full of others; and for a runtime to start. */
#define RUNS_NS	  3000000000ull
#define STARTS_NS 10000000000ull
#define LOOK_NS	  50000000
#define LASTS_NS  200000000
#define ANSWER_NS 5000000000ull
/* Groups above each other may be frozen each. */
#define THAWS_MAX   4u
#define LETTERS_MAX 200
#define OWN_COMM    "hotrun"
/* As short as getopt(3) takes it. */
#define MAPS_OPTION	"--enable-p"
#define ARGUMENTS_BYTES 4096

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

static const char *why(enum recover_act act, int err)
{
	switch (err) {
	case -ESRCH:
		return "it is gone by now";
	case -EPERM:
	case -EACCES:
		return "no permission; run as root";
	case -ENOENT:
		return act == RECOVER_THAW     ? "its group is gone, or not seen from here"
		       : act == RECOVER_RESUME ? "it is no .NET process any more"
					       : "it is gone by now";
	case -ETIMEDOUT:
		return act == RECOVER_END_TRACER
			       ? "it does not end, not even by SIGKILL: it hangs in the kernel"
			       : "it did not answer in time";
	default:
		return strerror(-err);
	}
}

/* --- the acts --------------------------------------------------------------------------------- */

static void thaw(const struct left_process *p, struct recover_done *done)
{
	int err = freezer_thaw(&p->freeze);

	if (err)
		say(done, false, "group %s is not thawed: %s", p->freeze.group,
		    why(RECOVER_THAW, err));
	else
		say(done, true, "group %s thawed", p->freeze.group);
}

static void send_continue(const char *proc_path, const struct left_process *p,
			  struct recover_done *done)
{
	int err = resume_signal(proc_path, p->tgid, p->start_ticks, SIGCONT);

	if (err)
		say(done, false, "SIGCONT not sent: %s", why(RECOVER_CONTINUE, err));
	else
		say(done, true, "SIGCONT sent");
}

static bool is_named(const struct recover_wish *wish, uint32_t tgid)
{
	for (size_t i = 0; i < wish->tracers_cnt; i++)
		if (wish->tracers[i] == tgid)
			return true;
	return false;
}

/* Whether what else hangs on a tracer forbids to end it; then done says so. */
static bool is_tied(const char *proc_path, const struct left_process *p,
		    const struct left_tracer *tracer, struct recover_done *done)
{
	const struct left_other *who = &tracer->who;
	enum tracer_tie tie = TRACER_FREE;
	uint32_t child = 0;
	int err = tracer_tie_read(proc_path, who->tgid, recover_is_parent(p, tracer), &tie, &child);

	if (err)
		say(done, false, "tracer %s %u is not ended: %s", who->comm, who->tgid,
		    why(RECOVER_END_TRACER, err));
	else if (tie == TRACER_HAS_CHILDREN)
		say(done, false,
		    "tracer %s %u is not ended: it has other children, %u among them, that it "
		    "does not trace; end it there if it is a debugger",
		    who->comm, who->tgid, child);
	else if (tie == TRACER_IS_MAIN)
		say(done, false,
		    "tracer %s %u is not ended: it is the main process of a unit or container; "
		    "stop that if it is a debugger's",
		    who->comm, who->tgid);
	return err || tie != TRACER_FREE;
}

static void end_tracer(const char *proc_path, const struct left_process *p,
		       const struct recover_wish *wish, struct recover_done *done)
{
	const struct left_tracer *tracer = recover_tracer(p, done->tracer);
	const struct left_other *who = &tracer->who;
	bool killed = false;
	int err;

	if (!is_named(wish, who->tgid)) {
		say(done, false, "tracer %s %u is not ended: --end-tracer names another one",
		    who->comm, who->tgid);
		return;
	}
	if (who->tgid <= 1 || resume_is_above(proc_path, who->tgid)) {
		say(done, false, "tracer %s %u is not ended: this command runs below it", who->comm,
		    who->tgid);
		return;
	}
	if (is_tied(proc_path, p, tracer, done))
		return;
	err = resume_end(proc_path, who->tgid, who->start_ticks, &killed);
	if (err)
		say(done, false, "tracer %s %u is not ended: %s", who->comm, who->tgid,
		    why(RECOVER_END_TRACER, err));
	else
		say(done, true, "tracer %s %u ended by %s", who->comm, who->tgid,
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

	/* Another one of that pid was never asked for. */
	if (!err && list.rows[0].process.start_ticks != p->start_ticks)
		err = -ESRCH;
	if (err) {
		say(done, false, "its runtime is not resumed: %s", why(RECOVER_RESUME, err));
		dotnet_clear(&list);
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

/* Whether a process is a recording that has maps switched on, and off again: it keeps no mark of
 * them that others could read, so its command line tells. One of root's or of this user's: anybody
 * else may be called so. */
static bool is_recording_with_maps(int process_fd)
{
	char text[ARGUMENTS_BYTES];
	struct proc_stat stat;
	ssize_t n;

	uint32_t uid;

	if (proc_stat_read(process_fd, &stat) || strcmp(stat.comm, OWN_COMM) || stat.state == 'Z' ||
	    guard_read(process_fd, "status", text, sizeof(text)) <= 0)
		return false;
	uid = proc_parse_uid(text);
	if (uid && uid != getuid())
		return false;
	n = guard_read(process_fd, "cmdline", text, sizeof(text));
	return n > 0 && memmem(text, (size_t)n, MAPS_OPTION, strlen(MAPS_OPTION));
}

/* Such a recording, 0 = none runs. */
static uint32_t find_recording(const char *proc_path)
{
	DIR *dir = opendir(proc_path);
	const struct dirent *entry;
	uint32_t found = 0;
	uint64_t tgid;

	while (dir && !found && (entry = readdir(dir))) {
		_cleanup_close_ int fd = -1;

		if (text_parse_u64(entry->d_name, 1, UINT32_MAX, &tgid) ||
		    tgid == (uint64_t)getpid())
			continue;
		fd = guard_process(proc_path, (uint32_t)tgid);
		if (fd >= 0 && is_recording_with_maps(fd))
			found = (uint32_t)tgid;
	}
	if (dir)
		closedir(dir);
	return found;
}

static void switch_map_off(struct recover_look *l, const struct left_process *p,
			   struct recover_done *done)
{
	_cleanup_free_ struct dotnet_switch *s = calloc(1, sizeof(*s));
	uint32_t other = find_recording(l->reader.requests->proc_path);
	char text[1024];

	if (other) {
		say(done, false,
		    "perf map: left on, hotrun %u records with maps and switches off what it "
		    "switched on; `hotrun perfmap disable %u` does it all the same",
		    other, p->tgid);
		return;
	}
	if (!s) {
		say(done, false, "perf map: %s", strerror(ENOMEM));
		return;
	}
	dotnet_disable(l->reader.requests, p->tgid, p->start_ticks, ANSWER_NS, s);
	dotnet_switch_text(s, text, sizeof(text));
	say(done, s->outcome == DOTNET_DONE || s->outcome == DOTNET_ALREADY, "perf map: %s", text);
}

static void do_act(struct recover_look *l, const struct left_process *p,
		   const struct recover_wish *wish, struct recover_done *done)
{
	const char *proc_path = l->reader.requests->proc_path;

	switch (done->act) {
	case RECOVER_THAW:
		thaw(p, done);
		break;
	case RECOVER_END_TRACER:
		end_tracer(proc_path, p, wish, done);
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

/* What an act that did its own part left: something else that holds it now. */
enum held { HELD_NOT, HELD_ABOVE, HELD_TRACED, HELD_STOPPED };

static enum held held_otherwise(const struct left_process *before, const struct left_process *now,
				const struct recover_done *done)
{
	if (done->act == RECOVER_THAW && now->freeze.frozen != LEFT_NOT_FROZEN)
		return strcmp(now->freeze.group, before->freeze.group) ? HELD_ABOVE : HELD_NOT;
	if (done->act != RECOVER_END_TRACER || recover_tracer(now, done->tracer))
		return HELD_NOT;
	if (now->trace_stop_cnt)
		return HELD_TRACED;
	return now->stopped_cnt && !now->traced_cnt ? HELD_STOPPED : HELD_NOT;
}

/* Waits until its threads run, or something else holds it. 0; -ETIMEDOUT; -EINTR; -ESRCH: it
 * ended. */
static int wait_until_it_runs(struct recover_look *l, const struct left_process *before,
			      const struct recover_done *done, enum held *ret_held)
{
	_cleanup_free_ struct left_process *now = malloc(sizeof(*now));
	uint64_t end_ns = clock_now_ns() + (done->act == RECOVER_RESUME ? STARTS_NS : RUNS_NS);
	bool lasted = false;

	while (now) {
		int err;

		*now = *before;
		err = left_behind_read_again(&l->reader, now);
		if (err == -ESRCH)
			return err;
		*ret_held = err ? HELD_NOT : held_otherwise(before, now, done);
		if (*ret_held != HELD_NOT)
			return 0;
		if (!err && recover_runs(before, now, done->act, done->tracer)) {
			/* One that its tracer takes along runs, too, to its end. */
			if (done->act != RECOVER_END_TRACER || lasted)
				return 0;
			lasted = true;
		}
		if (stop_requested)
			return -EINTR;
		if (clock_now_ns() >= end_ns)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){.tv_nsec = lasted ? LASTS_NS : LOOK_NS}, NULL);
	}
	return -ENOMEM;
}

static void tell_whether_it_runs(struct recover_done *done, int err, enum held held)
{
	static const char *const runs[] = {
		[HELD_NOT] = "; it runs",
		[HELD_ABOVE] = "; a group above it is frozen, too",
		[HELD_TRACED] = "; another tracer holds it still",
		[HELD_STOPPED] = "; its threads are stopped now",
	};
	size_t len = strlen(done->text);
	char *end = done->text + len;
	size_t room = sizeof(done->text) - len;

	if (done->act == RECOVER_MAP_OFF)
		return;
	done->ok = !err || (err == -ESRCH && done->act != RECOVER_END_TRACER);
	done->in_vain = err == -ETIMEDOUT;
	switch (err) {
	case 0:
		snprintf(end, room, "%s", runs[held]);
		break;
	case -ETIMEDOUT:
		snprintf(end, room, "; but it does not run");
		break;
	case -EINTR:
		snprintf(end, room, "; interrupted: whether it runs was not waited for");
		break;
	case -ESRCH:
		snprintf(end, room,
			 done->act == RECOVER_END_TRACER
				 ? "; the process ended with it (PTRACE_O_EXITKILL, or its "
				   "debugger ended it)"
				 : "; it ran, and has ended");
		break;
	default:
		snprintf(end, room, "; whether it runs cannot be told: %s", strerror(-err));
		break;
	}
}

/* --- one after the other ---------------------------------------------------------------------- */

static unsigned int done_so_often(const struct recover_row *row, enum recover_act act,
				  uint32_t tracer)
{
	unsigned int cnt = 0;

	for (size_t i = 0; i < row->done_cnt; i++)
		cnt += row->done[i].act == act && row->done[i].tracer == tracer;
	return cnt;
}

/* The next of those that hold it, each is asked once; 0 = none. */
static uint32_t next_tracer(const struct recover_row *row, const struct left_process *p)
{
	for (uint32_t i = 0; i < p->tracers_cnt; i++) {
		uint32_t tgid = p->tracers[i].who.tgid;

		if (p->tracers[i].held_cnt && tgid && !done_so_often(row, RECOVER_END_TRACER, tgid))
			return tgid;
	}
	return 0;
}

/* The next act that its state asks for; RECOVER_NOTHING: there is none. */
static enum recover_act next_act(struct recover_row *row, const struct left_process *p,
				 struct recover_finding *findings, const struct recover_wish *wish,
				 uint32_t *ret_tracer)
{
	size_t cnt = recover_judge(p, findings);
	bool stands = false;

	row->tracer_spared = false;
	for (size_t i = 0; i < cnt; i++) {
		enum recover_act act = findings[i].act;
		uint32_t tracer = act == RECOVER_END_TRACER ? next_tracer(row, p) : 0;

		/* A dump is waited for: nothing else is done meanwhile. */
		if (!strcmp(findings[i].id, "dump"))
			return RECOVER_NOTHING;
		stands |= findings[i].level == RECOVER_STANDS;
		if (act == RECOVER_END_TRACER && !wish->tracers_cnt) {
			row->tracer_spared = true;
			continue;
		}
		/* Who stands answers nobody. */
		if (act == RECOVER_NOTHING || (act == RECOVER_MAP_OFF && stands) ||
		    (act == RECOVER_END_TRACER && !tracer) ||
		    done_so_often(row, act, tracer) >= (act == RECOVER_THAW ? THAWS_MAX : 1))
			continue;
		*ret_tracer = tracer;
		return act;
	}
	return RECOVER_NOTHING;
}

/* Looks again right before an act: what it rests on may have been seen long ago. False: it is not
 * to be done any more, done says why. */
static bool is_still_asked_for(struct recover_look *l, struct left_process *p,
			       struct recover_finding *findings, struct recover_done *done)
{
	_cleanup_free_ struct left_process *before = malloc(sizeof(*before));
	const struct left_tracer *was, *is;
	bool asked = false, dumped = false;
	size_t cnt;
	int err;

	if (!before) {
		say(done, false, "%s", strerror(ENOMEM));
		return false;
	}
	*before = *p;
	err = left_behind_read_again(&l->reader, p);
	if (err) {
		say(done, false, "nothing was done: %s", why(RECOVER_NOTHING, err));
		return false;
	}
	cnt = recover_judge(p, findings);
	for (size_t i = 0; i < cnt; i++) {
		asked |= findings[i].act == done->act;
		dumped |= !strcmp(findings[i].id, "dump");
	}
	was = recover_tracer(before, done->tracer);
	is = recover_tracer(p, done->tracer);
	if (done->act == RECOVER_END_TRACER)
		asked &= was && is && is->held_cnt && is->who.start_ticks == was->who.start_ticks;
	if (done->act == RECOVER_THAW)
		asked &= !strcmp(p->freeze.group, before->freeze.group);
	if (dumped)
		say(done, false, "nothing was done: a dump of it is written by now");
	else if (!asked)
		say(done, false, "nothing was done: its state is another one by now; look again");
	return asked && !dumped;
}

/* One act. False: it has ended, or cannot be looked at any more. */
static bool act_once(struct recover_look *l, struct recover_row *row, struct left_process *p,
		     struct recover_finding *findings, const struct recover_wish *wish,
		     const struct recover_done *what)
{
	struct recover_done *done = &row->done[row->done_cnt++];
	const char *name = row->found.name;
	enum held held = HELD_NOT;
	int err = 0;

	*done = *what;
	log_info("%u %.*s: %s ...", p->tgid, LETTERS_MAX, name, recover_act_id(done->act));
	if (is_still_asked_for(l, p, findings, done))
		do_act(l, p, wish, done);
	if (done->ok)
		err = wait_until_it_runs(l, p, done, &held);
	if (done->ok)
		tell_whether_it_runs(done, err, held);
	if (done->ok)
		log_info("%u %.*s: %s", p->tgid, LETTERS_MAX, name, done->text);
	else
		log_error("%u %.*s: %s", p->tgid, LETTERS_MAX, name, done->text);
	err = recover_look_now(l, &row->found, p);
	row->ended = err == -ESRCH;
	return !err;
}

void recover_perform(struct recover_look *l, struct recover_row *row,
		     const struct recover_wish *wish)
{
	_cleanup_free_ struct recover_finding *findings =
		calloc(RECOVER_FINDINGS_MAX, sizeof(*findings));

	row->after = row->found;
	row->acted = true;
	if (row->ended || !findings)
		return;
	/* Others came before it in this run. */
	row->ended = recover_look_anew(l, &row->found, &row->after) == -ESRCH;
	while (!row->ended && !stop_requested && row->done_cnt < RECOVER_DONE_MAX) {
		struct recover_done what = {0};

		what.act = next_act(row, &row->after, findings, wish, &what.tracer);
		if (what.act == RECOVER_NOTHING ||
		    !act_once(l, row, &row->after, findings, wish, &what))
			break;
	}
}

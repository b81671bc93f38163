/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one thread waits for, and whether that is an idle wait; see standing.h. */
#include <string.h>

#include "judge/standing.h"

static const struct {
	const char *id, *text;
} words[WAIT_CNT] = {
	[WAIT_RUNS] = {"runs", "runs"},
	[WAIT_CPU] = {"cpu", "waits for a CPU"},
	[WAIT_LOCK] = {"lock", "futex"},
	[WAIT_FILE_LOCK] = {"file-lock", "lock of a file"},
	[WAIT_SLEEP] = {"sleep", "sleep"},
	[WAIT_EPOLL] = {"epoll", "epoll"},
	[WAIT_POLL] = {"poll", "poll"},
	[WAIT_PIPE] = {"pipe", "pipe"},
	[WAIT_NETWORK] = {"network", "socket"},
	[WAIT_DISK] = {"disk", "disk or file system"},
	[WAIT_EVENT] = {"event", "event"},
	[WAIT_CHILD] = {"child", "child"},
	[WAIT_SIGNAL] = {"signal", "signal"},
	[WAIT_KERNEL] = {"kernel", "kernel"},
	[WAIT_FROZEN] = {"frozen", "frozen by its cgroup"},
	[WAIT_STOPPED] = {"stopped", "stopped"},
	[WAIT_TRACED] = {"traced", "stopped by a tracer"},
	[WAIT_ENDED] = {"ended", "ended"},
	[WAIT_OTHER] = {"other", "waits"},
};

const char *stand_wait_id(enum stand_wait wait)
{
	return words[wait].id;
}

const char *stand_wait_text(enum stand_wait wait)
{
	return words[wait].text;
}

/* Functions of the kernel by the start of their names; the frame nearest to the leaf decides, and
 * of one frame the first row. */
static const struct {
	const char *start;
	enum stand_wait wait;
} kernel_frames[] = {
	{"futex_", WAIT_LOCK},
	{"do_futex", WAIT_LOCK},
	{"flock_lock_", WAIT_FILE_LOCK},
	{"posix_lock_", WAIT_FILE_LOCK},
	{"locks_lock_", WAIT_FILE_LOCK},
	{"fcntl_setlk", WAIT_FILE_LOCK},
	{"__do_sys_flock", WAIT_FILE_LOCK},
	{"do_nanosleep", WAIT_SLEEP},
	{"hrtimer_nanosleep", WAIT_SLEEP},
	{"common_nsleep", WAIT_SLEEP},
	{"timerfd_read", WAIT_SLEEP},
	{"ep_poll", WAIT_EPOLL},
	{"do_epoll_wait", WAIT_EPOLL},
	{"do_sys_poll", WAIT_POLL},
	{"do_poll", WAIT_POLL},
	{"do_select", WAIT_POLL},
	{"poll_schedule_timeout", WAIT_POLL},
	{"pipe_read", WAIT_PIPE},
	{"pipe_write", WAIT_PIPE},
	{"anon_pipe_", WAIT_PIPE},
	{"fifo_open", WAIT_PIPE},
	{"wait_for_partner", WAIT_PIPE},
	{"do_wait", WAIT_CHILD},
	{"kernel_wait", WAIT_CHILD},
	{"do_sigtimedwait", WAIT_SIGNAL},
	{"sigsuspend", WAIT_SIGNAL},
	{"__do_sys_pause", WAIT_SIGNAL},
	{"do_freezer_trap", WAIT_FROZEN},
	{"__refrigerator", WAIT_FROZEN},
	{"__skb_wait_", WAIT_NETWORK},
	{"sk_wait_", WAIT_NETWORK},
	{"sk_stream_wait_", WAIT_NETWORK},
	{"inet_csk_", WAIT_NETWORK},
	{"inet_", WAIT_NETWORK},
	{"tcp_", WAIT_NETWORK},
	{"udp_", WAIT_NETWORK},
	{"unix_", WAIT_NETWORK},
	{"sock_", WAIT_NETWORK},
	{"eventfd_read", WAIT_EVENT},
	{"inotify_read", WAIT_EVENT},
	{"signalfd_read", WAIT_EVENT},
	{"n_tty_read", WAIT_EVENT},
	{"io_cqring_wait", WAIT_EVENT},
	{"io_schedule", WAIT_DISK},
	{"folio_wait", WAIT_DISK},
	{"wait_on_page", WAIT_DISK},
	{"request_wait_answer", WAIT_DISK},
	{"fuse_", WAIT_DISK},
	{"nfs_", WAIT_DISK},
	{"rpc_wait", WAIT_DISK},
	{"jbd2_", WAIT_DISK},
	{"ext4_", WAIT_DISK},
	{"xfs_", WAIT_DISK},
	{"btrfs_", WAIT_DISK},
	{"blk_", WAIT_DISK},
	{"rwsem_", WAIT_KERNEL},
	{"down_", WAIT_KERNEL},
	{"__mutex_lock", WAIT_KERNEL},
	{"mutex_lock", WAIT_KERNEL},
	{"worker_thread", WAIT_KERNEL},
	{"kthread", WAIT_KERNEL},
};

/* System calls of x86-64, for hosts that hide the kernel's names. */
static const struct {
	uint16_t call;
	enum stand_wait wait;
} calls[] = {
	{7, WAIT_POLL},	    {23, WAIT_POLL},	 {34, WAIT_SIGNAL},   {35, WAIT_SLEEP},
	{42, WAIT_NETWORK}, {43, WAIT_NETWORK},	 {44, WAIT_NETWORK},  {45, WAIT_NETWORK},
	{46, WAIT_NETWORK}, {47, WAIT_NETWORK},	 {61, WAIT_CHILD},    {73, WAIT_FILE_LOCK},
	{128, WAIT_SIGNAL}, {130, WAIT_SIGNAL},	 {202, WAIT_LOCK},    {230, WAIT_SLEEP},
	{232, WAIT_EPOLL},  {247, WAIT_CHILD},	 {270, WAIT_POLL},    {271, WAIT_POLL},
	{281, WAIT_EPOLL},  {288, WAIT_NETWORK}, {299, WAIT_NETWORK}, {441, WAIT_EPOLL},
	{449, WAIT_LOCK},
};

static enum stand_wait by_call(uint64_t call)
{
#ifdef __x86_64__
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].call == call)
			return calls[i].wait;
#else
	(void)call;
	(void)calls;
#endif
	return WAIT_OTHER;
}

static enum stand_wait by_frames(const struct model *m, const uint32_t *methods, size_t cnt)
{
	for (size_t i = cnt; i-- > 0 && m->symbols[methods[i]].kind == KIND_KERNEL;) {
		const char *name = m->symbols[methods[i]].name;

		for (size_t k = 0; k < sizeof(kernel_frames) / sizeof(kernel_frames[0]); k++)
			if (!strncmp(name, kernel_frames[k].start, strlen(kernel_frames[k].start)))
				return kernel_frames[k].wait;
	}
	return WAIT_OTHER;
}

/* What the class library does by a futex, or by asking others, and is called something else by who
 * looks for it. */
static const struct {
	const char *start;
	enum stand_wait wait;
} library_frames[] = {
	{"System.Threading.Thread.Sleep", WAIT_SLEEP},
	{"System.Diagnostics.Process.WaitForExit", WAIT_CHILD},
	{"System.Diagnostics.ProcessWaitState.", WAIT_CHILD},
	{"System.Net.Dns.", WAIT_NETWORK},
};

/* By methods of it that the application called. */
static enum stand_wait by_library(const struct model *m, const uint32_t *methods, size_t cnt,
				  enum stand_wait otherwise)
{
	for (size_t i = cnt; i-- > 0;) {
		const struct model_symbol *s = &m->symbols[methods[i]];

		if (!model_is_managed(s))
			continue;
		if (s->application || s->reason != REASON_NAMED)
			break;
		for (size_t k = 0; k < sizeof(library_frames) / sizeof(library_frames[0]); k++)
			if (!strncmp(s->name, library_frames[k].start,
				     strlen(library_frames[k].start)))
				return library_frames[k].wait;
	}
	return otherwise;
}

enum stand_wait standing_wait(const struct model *m, const struct model_stand *s,
			      const uint32_t *methods, size_t methods_cnt)
{
	enum stand_wait wait;

	if (s->flags & STAND_RUNS)
		return WAIT_RUNS;
	switch (s->state) {
	case 'R':
		return WAIT_CPU;
	case 'T':
		return WAIT_STOPPED;
	case 't':
		return WAIT_TRACED;
	case 'X':
	case 'Z':
		return WAIT_ENDED;
	default:
		break;
	}
	wait = by_frames(m, methods, methods_cnt);
	if (wait == WAIT_OTHER)
		wait = by_call(s->call);
	return wait == WAIT_LOCK || wait == WAIT_POLL ? by_library(m, methods, methods_cnt, wait)
						      : wait;
}

/* --- idle ------------------------------------------------------------------------------------ */

/* The application's own .NET code; perhaps it is, where it has no name. */
static bool has_application(const struct model *m, const uint32_t *methods, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct model_symbol *s = &m->symbols[methods[i]];

		if (model_is_managed(s) && s->application && s->reason == REASON_NAMED)
			return true;
	}
	return false;
}

static bool has_named(const struct model *m, const uint32_t *methods, size_t cnt, const char *part)
{
	for (size_t i = 0; i < cnt; i++)
		if (model_is_managed(&m->symbols[methods[i]]) &&
		    strstr(m->symbols[methods[i]].name, part))
			return true;
	return false;
}

enum role standing_role(const struct model *m, const struct model_stand *s, const uint32_t *methods,
			size_t methods_cnt)
{
	const struct model_thread *t = &m->threads[s->at.thread];
	enum role role = role_of(t->comm, t->tid == m->processes[t->process].tgid);

	if (role == ROLE_POOL_WORKER &&
	    has_named(m, methods, methods_cnt, "Thread.StartCallback") &&
	    !has_named(m, methods, methods_cnt, "ThreadPool"))
		return ROLE_OWN;
	return role;
}

/* Threads of the runtime that wait for something to do when they do nothing. */
static bool is_service(enum role role)
{
	switch (role) {
	case ROLE_POOL_GATE:
	case ROLE_POOL_WAIT:
	case ROLE_TIMER:
	case ROLE_FINALIZER:
	case ROLE_GC_SERVER:
	case ROLE_GC_BACKGROUND:
	case ROLE_TIERING:
	case ROLE_SOCKETS:
	case ROLE_DIAGNOSTICS:
	case ROLE_SIGNALS:
	case ROLE_FILE_WATCH:
	case ROLE_CONSOLE_LOGGER:
		return true;
	default:
		return false;
	}
}

/* Programs that wait for others to end, or for a word: shells, and what keeps services. */
static bool is_keeper(const char *comm)
{
	static const char *const names[] = {
		"bash",	  "sh",		 "dash",	 "zsh",		 "ksh",
		"fish",	  "ash",	 "systemd",	 "init",	 "(sd-pam)",
		"runit",  "runsv",	 "tini",	 "dumb-init",	 "catatonit",
		"pause",  "supervisord", "s6-svscan",	 "conmon",	 "sudo",
		"su",	  "login",	 "sshd",	 "cron",	 "crond",
		"agetty", "atd",	 "tmux: server", "s6-supervise", "containerd-shim",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(comm, names[i]))
			return true;
	return false;
}

/* Loops over what may come; a wait for one file alone is for an answer. */
static bool is_loop(const struct model *m, const struct model_stand *s, enum stand_wait wait)
{
	switch (wait) {
	case WAIT_EPOLL:
	case WAIT_EVENT:
		return true;
	case WAIT_POLL:
		return s->poll_files != 1;
	case WAIT_CHILD:
	case WAIT_SIGNAL:
		return is_keeper(m->processes[m->threads[s->at.thread].process].comm);
	default:
		return false;
	}
}

bool standing_is_cut(const struct model *m, const uint32_t *methods, size_t methods_cnt)
{
	for (size_t i = 0; i < methods_cnt; i++)
		if (m->symbols[methods[i]].kind == KIND_NOTE)
			return true;
	return false;
}

/* Whether what is to be seen of its stack is all there is: without user frames, and where .NET code
 * has no name, the application's may be anywhere in it. */
static bool is_whole(const struct model *m, const struct model_stand *s, const uint32_t *methods,
		     size_t cnt)
{
	if (!s->at.user_stack || standing_is_cut(m, methods, cnt))
		return false;
	for (size_t i = 0; i < cnt; i++)
		if (model_is_managed(&m->symbols[methods[i]]) &&
		    m->symbols[methods[i]].reason != REASON_NAMED)
			return false;
	return true;
}

/* Without work: in the semaphore that hands it out, and in no work item. */
static bool is_spare(const struct model *m, const uint32_t *methods, size_t cnt)
{
	return has_named(m, methods, cnt, "LowLevelLifoSemaphore.") &&
	       !has_named(m, methods, cnt, "ThreadPoolWorkQueue.Dispatch");
}

/* Kestrel's thread that wakes once a second to see whose time has run out. */
static bool is_heartbeat(const struct model *m, const uint32_t *methods, size_t cnt)
{
	return has_named(m, methods, cnt, "Heartbeat.TimerLoop");
}

bool standing_is_idle(const struct model *m, const struct model_stand *s, enum stand_wait wait,
		      const uint32_t *methods, size_t methods_cnt)
{
	enum role role = standing_role(m, s, methods, methods_cnt);

	if (wait == WAIT_ENDED)
		return true;
	if (s->state != 'S' && s->state != 'I' && s->state != 'P')
		return false;
	if (s->flags & STAND_KERNEL_THREAD)
		return true;
	if (!is_whole(m, s, methods, methods_cnt) || has_application(m, methods, methods_cnt))
		return false;
	if (role == ROLE_POOL_WORKER)
		return is_spare(m, methods, methods_cnt);
	return is_service(role) || is_loop(m, s, wait) || is_heartbeat(m, methods, methods_cnt);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/dotnet_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "opener/opener.h"
#include "parse/parse_fact.h"
#include "perfmap/socket/diagnostics.h"

/* The reply comes after the file was written or closed; a look may still come too early. */
#define LOOKS	      5
#define LOOK_PAUSE_NS 40000000
/* Times of files are as coarse as a clock tick. */
#define MTIME_SLACK_NS 20000000ull

static void pause_a_little(void)
{
	nanosleep(&(struct timespec){.tv_nsec = LOOK_PAUSE_NS}, NULL);
}

/* --- one request ------------------------------------------------------------------------------ */

/* Whether the process itself is at the other end, as this pid namespace sees it. */
static bool is_peer(int fd, uint32_t tgid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && len == sizeof(peer) &&
	       peer.pid > 0 && (uint32_t)peer.pid == tgid;
}

static enum dotnet_outcome connect_outcome(int err)
{
	switch (err) {
	case -EACCES:
		return DOTNET_NO_RIGHT;
	case -ESRCH:
		return DOTNET_GONE;
	case -EAGAIN: /* its queue is full: it accepts nobody */
		return DOTNET_SILENT;
	default:
		return DOTNET_NO_SOCKET;
	}
}

static enum dotnet_outcome exchange_outcome(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return DOTNET_SILENT;
	case -EPROTO:
		return DOTNET_GARBAGE;
	case -ECONNRESET:
		return DOTNET_HUNG_UP;
	case -EINTR:
		return DOTNET_INTERRUPTED;
	default:
		return DOTNET_FAILED;
	}
}

/* Has a worker take apart what the runtime said. 0 or -errno. */
static int decode(struct file_requests *requests, const struct file_requests_subject *who,
		  enum diagnostics_request what, const uint8_t *bytes, size_t len,
		  struct diagnostics_reply *ret_reply)
{
	struct parse_request parse = {.kind = PARSE_REPLY, .fact.what = what};
	_cleanup_close_ int fd = memfd_create("hotrun-reply", MFD_CLOEXEC);
	struct parse_answer answer;
	enum model_reason reason;

	if (fd < 0 || pwrite(fd, bytes, len, 0) != (ssize_t)len)
		return -ENOMEM;
	reason = file_requests_find_in(requests, who, &parse, take_fd(&fd), false, &answer);
	if (reason == REASON_FILE_MALFORMED || reason == REASON_FILE_COSTLY)
		return -EPROTO;
	if (reason)
		return -EAGAIN;
	if (!answer.error)
		*ret_reply = answer.reply;
	return answer.error;
}

/* Sends the request and waits for the answer. 0 or -errno. */
static int exchange(struct file_requests *requests, const struct file_requests_subject *who, int fd,
		    enum diagnostics_request what, struct dotnet_switch *s,
		    struct diagnostics_reply *ret_reply)
{
	_cleanup_free_ uint8_t *bytes = malloc(DIAGNOSTICS_REPLY_BYTES_MAX);
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	size_t len;
	int err;

	if (!bytes)
		return -ENOMEM;
	err = diagnostics_exchange(fd, what, start_ns + who->wait_ns, bytes, &len);
	s->round_trip_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
	return err ? err : decode(requests, who, what, bytes, len, ret_reply);
}

static struct file_requests_subject subject_of(struct file_requests *requests,
					       const struct dotnet_target *t, uint64_t timeout_ns)
{
	const struct dotnet_process *p = &t->process;

	return (struct file_requests_subject){
		p->tgid, t->party, file_requests_target_of(requests, p->tgid, p->start_ticks),
		timeout_ns};
}

/* Has the opener do what there is to do at its usual socket, "", or at a port. 0 with a
 * descriptor, owned, or -1; -ETIMEDOUT; or what the opener says. */
static int at_socket(struct file_requests *requests, const struct dotnet_target *t,
		     const struct target_process *target, enum file_request_kind what,
		     const char *path, int *ret_fd)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct file_reply reply;

	*ret_fd = -1;
	if (!request)
		return -ENOMEM;
	request->kind = what;
	request->runtime.env = t->env;
	if (snprintf(request->runtime.port, sizeof(request->runtime.port), "%s", path) >=
	    (int)sizeof(request->runtime.port))
		return -ENAMETOOLONG;
	file_requests_slice(requests);
	if (file_requests_open_of(requests, t->process.tgid, target, request, -1, &reply, ret_fd))
		return -ETIMEDOUT;
	return reply.error;
}

/* Connects, checks who listens, asks. DOTNET_DONE with the reply, or the outcome. */
static enum dotnet_outcome ask(struct file_requests *requests, const struct dotnet_target *t,
			       enum diagnostics_request what, uint64_t timeout_ns,
			       struct dotnet_switch *s, struct diagnostics_reply *ret_reply)
{
	const struct file_requests_subject who = subject_of(requests, t, timeout_ns);
	_cleanup_close_ int fd = -1;

	s->error = at_socket(requests, t, &who.target, FILE_REQUEST_CONNECT, "", &fd);
	if (s->error == -ETIMEDOUT)
		return DOTNET_NO_ANSWER;
	if (s->error)
		return connect_outcome(s->error);
	if (!is_peer(fd, t->process.tgid))
		return DOTNET_FOREIGN;
	/* Whatever comes of it from here on, unless it says no. */
	s->may_be_on |= what == DIAGNOSTICS_ENABLE_PERF_MAP;
	s->error = exchange(requests, &who, fd, what, s, ret_reply);
	if (s->error)
		return exchange_outcome(s->error);
	s->hresult = ret_reply->hresult;
	s->may_be_on &= ret_reply->ok;
	return ret_reply->ok ? DOTNET_DONE : DOTNET_SAYS_NO;
}

/* The runtime is as old as its socket: the process may have been a shell script before. */
static bool is_young(const struct dotnet_process *p)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME), wall_ns = clock_ns(CLOCK_REALTIME);

	if (boot_ns < p->start_ticks * tick_ns + DOTNET_AGE_MIN_NS)
		return true;
	return p->socket_mtime_ns && p->socket_mtime_ns <= wall_ns &&
	       wall_ns - p->socket_mtime_ns < DOTNET_AGE_MIN_NS;
}

void dotnet_ask_version(struct file_requests *requests, uint64_t timeout_ns,
			struct dotnet_target *target)
{
	struct dotnet_process *p = &target->process;
	struct diagnostics_reply reply = {0};
	struct dotnet_switch s = {0};

	_Static_assert(sizeof(reply.version) <= sizeof(p->version), "fits");
	if (*p->version || p->socket != DOTNET_SOCKET_THERE || is_young(p))
		return;
	s.outcome = ask(requests, target, DIAGNOSTICS_PROCESS_INFO, timeout_ns, &s, &reply);
	if (s.outcome || !*reply.version)
		return;
	strcpy(p->version, reply.version);
	strcpy(p->version_source, "socket");
}

/* --- before and after ------------------------------------------------------------------------- */

/* Looks at the process anew. DOTNET_DONE, or why there is no look; s->target is the last one. */
static enum dotnet_outcome look(struct file_requests *requests, uint32_t tgid, uint64_t start_ticks,
				struct dotnet_switch *s)
{
	struct dotnet_list list = {0};
	int err = dotnet_read(requests, tgid, &list);

	s->error = err;
	if (err == -ENOENT)
		return DOTNET_NOT_DOTNET;
	if (err == -ESRCH)
		return DOTNET_GONE;
	if (err == -EACCES || err == -EPERM)
		return DOTNET_NO_RIGHT;
	if (err == -ETIMEDOUT)
		return DOTNET_NO_ANSWER;
	if (err)
		return DOTNET_FAILED;
	if (start_ticks && list.rows[0].process.start_ticks != start_ticks) {
		dotnet_clear(&list);
		return DOTNET_GONE;
	}
	s->target = list.rows[0];
	dotnet_clear(&list);
	return DOTNET_DONE;
}

static enum dotnet_outcome check_socket(const struct dotnet_process *p)
{
	if (p->socket == DOTNET_SOCKET_DENIED)
		return DOTNET_NO_RIGHT;
	if (p->socket == DOTNET_SOCKET_UNKNOWN)
		return DOTNET_NO_ANSWER;
	return p->socket == DOTNET_SOCKET_THERE ? DOTNET_DONE : DOTNET_NO_SOCKET;
}

static enum dotnet_outcome check_enable(const struct dotnet_process *p)
{
	if (dotnet_has_map(p))
		return DOTNET_ALREADY;
	if (p->native_aot)
		return DOTNET_NATIVE;
	if (dotnet_is_old(p))
		return DOTNET_TOO_OLD;
	if (p->map == DOTNET_MAP_DENIED)
		return DOTNET_NO_RIGHT;
	if (p->map == DOTNET_MAP_UNKNOWN)
		return DOTNET_NO_ANSWER;
	if (p->map_refusal)
		return DOTNET_PATH;
	if (check_socket(p))
		return check_socket(p);
	return is_young(p) ? DOTNET_TOO_YOUNG : DOTNET_DONE;
}

static bool has_appeared(const struct dotnet_process *before, const struct dotnet_process *after,
			 uint64_t asked_wall_ns)
{
	if (!dotnet_has_map(after) || !after->map_entries)
		return false;
	return after->map_ino != before->map_ino || after->map_dev != before->map_dev ||
	       after->map_mtime_ns + MTIME_SLACK_NS >= asked_wall_ns;
}

/* 0 or -errno. */
static int place(struct file_requests *requests, const struct dotnet_target *t,
		 enum file_request_kind what)
{
	const struct dotnet_process *p = &t->process;
	struct target_process target = file_requests_target_of(requests, p->tgid, p->start_ticks);
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct file_reply reply;
	int fd;

	if (!request)
		return -ENOMEM;
	request->kind = what;
	request->runtime.env = t->env;
	file_requests_slice(requests);
	if (file_requests_open_of(requests, p->tgid, &target, request, -1, &reply, &fd))
		return -ETIMEDOUT;
	return reply.error;
}

static enum dotnet_outcome ask_to_write(struct file_requests *requests, uint64_t timeout_ns,
					struct dotnet_switch *s)
{
	const struct dotnet_target before = s->target;
	uint64_t asked_ns = clock_ns(CLOCK_REALTIME);
	struct diagnostics_reply reply = {0};
	enum dotnet_outcome outcome = DOTNET_DONE;

	/* It would go on in the file that nobody can open any more. */
	if (before.process.map == DOTNET_MAP_DELETED)
		outcome =
			ask(requests, &before, DIAGNOSTICS_DISABLE_PERF_MAP, timeout_ns, s, &reply);
	if (!outcome)
		outcome =
			ask(requests, &before, DIAGNOSTICS_ENABLE_PERF_MAP, timeout_ns, s, &reply);
	for (int i = 0; i < LOOKS && !outcome; i++) {
		if (i)
			pause_a_little();
		outcome = look(requests, before.process.tgid, before.process.start_ticks, s);
		if (outcome || has_appeared(&before.process, &s->target.process, asked_ns))
			return outcome;
	}
	return outcome ? outcome : DOTNET_NO_FILE;
}

/* Where the file cannot be made beforehand, e.g. without CHOWN, the look at the path must do. */
static enum dotnet_outcome enable(struct file_requests *requests, uint64_t timeout_ns,
				  struct dotnet_switch *s)
{
	const struct dotnet_target before = s->target;
	int err = before.process.map == DOTNET_MAP_DELETED
			  ? 0
			  : place(requests, &before, FILE_REQUEST_RESERVE);
	enum dotnet_outcome outcome;

	/* What was not there a moment ago may be a link. */
	if (err == -EEXIST && (before.process.map == DOTNET_MAP_ABSENT ||
			       before.process.map == DOTNET_MAP_UNWRITABLE)) {
		s->error = err;
		s->target.process.map_refusal = -EEXIST;
		return DOTNET_PATH;
	}
	outcome = ask_to_write(requests, timeout_ns, s);
	if (outcome && !err && !s->may_be_on)
		place(requests, &before, FILE_REQUEST_RELEASE);
	return outcome;
}

void dotnet_enable(struct file_requests *requests, uint32_t tgid, uint64_t start_ticks,
		   uint64_t timeout_ns, struct dotnet_switch *ret_switch)
{
	struct dotnet_switch *s = ret_switch;

	*s = (struct dotnet_switch){0};
	s->outcome = look(requests, tgid, start_ticks, s);
	if (!s->outcome)
		s->outcome = check_enable(&s->target.process);
	if (!s->outcome)
		s->outcome = enable(requests, timeout_ns, s);
}

static enum dotnet_outcome disable(struct file_requests *requests, uint64_t timeout_ns,
				   struct dotnet_switch *s)
{
	const struct dotnet_target before = s->target;
	struct diagnostics_reply reply = {0};
	enum dotnet_outcome outcome =
		ask(requests, &before, DIAGNOSTICS_DISABLE_PERF_MAP, timeout_ns, s, &reply);

	for (int i = 0; i < LOOKS && !outcome; i++) {
		if (i)
			pause_a_little();
		outcome = look(requests, before.process.tgid, before.process.start_ticks, s);
		if (outcome || !dotnet_is_writing(&s->target.process))
			return outcome;
	}
	return outcome ? outcome : DOTNET_GOES_ON;
}

void dotnet_disable(struct file_requests *requests, uint32_t tgid, uint64_t start_ticks,
		    uint64_t timeout_ns, struct dotnet_switch *ret_switch)
{
	struct dotnet_switch *s = ret_switch;

	*s = (struct dotnet_switch){0};
	s->outcome = look(requests, tgid, start_ticks, s);
	if (s->outcome)
		return;
	if (dotnet_is_old(&s->target.process))
		s->outcome = DOTNET_TOO_OLD;
	else if (s->target.process.map == DOTNET_MAP_DENIED)
		s->outcome = DOTNET_NO_RIGHT;
	else if (s->target.process.map == DOTNET_MAP_UNKNOWN)
		s->outcome = DOTNET_NO_ANSWER;
	else if (!dotnet_is_writing(&s->target.process))
		s->outcome = DOTNET_ALREADY;
	else
		s->outcome = check_socket(&s->target.process);
	if (!s->outcome)
		s->outcome = disable(requests, timeout_ns, s);
}

void dotnet_withdraw(struct file_requests *requests, uint32_t tgid, uint64_t start_ticks,
		     uint64_t timeout_ns, struct dotnet_switch *ret_switch)
{
	struct dotnet_switch *s = ret_switch;

	*s = (struct dotnet_switch){0};
	s->outcome = look(requests, tgid, start_ticks, s);
	if (!s->outcome)
		s->outcome = disable(requests, timeout_ns, s);
}

/* --- a runtime that waits at its start -------------------------------------------------------- */

/* Waits until the process itself connects; others are turned away. 0 with the connection, owned. */
static int accept_process(int listener, uint32_t tgid, uint64_t deadline_ns, int *ret_fd)
{
	for (;;) {
		_cleanup_close_ int fd =
			accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct pollfd p = {.fd = listener, .events = POLLIN};
		uint64_t now_ns = clock_now_ns();

		if (fd >= 0 && is_peer(fd, tgid)) {
			*ret_fd = take_fd(&fd);
			return 0;
		}
		if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED)
			return -errno;
		if (now_ns >= deadline_ns)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)((deadline_ns - now_ns) / 1000000) + 1) < 0)
			return -errno;
	}
}

/* In the stead of the tool that the runtime tries to connect to. */
static enum dotnet_outcome resume_caller(struct file_requests *requests,
					 const struct dotnet_target *t, const char *path,
					 uint64_t timeout_ns, struct dotnet_switch *s,
					 struct diagnostics_reply *reply)
{
	const struct file_requests_subject who = subject_of(requests, t, timeout_ns);
	uint64_t deadline_ns = clock_now_ns() + timeout_ns;
	_cleanup_close_ int listener = -1, fd = -1;
	enum dotnet_outcome outcome = DOTNET_DONE;
	int none;

	s->error = at_socket(requests, t, &who.target, FILE_REQUEST_LISTEN, path, &listener);
	if (s->error == -EADDRINUSE)
		return DOTNET_FOREIGN;
	if (s->error)
		return s->error == -ETIMEDOUT ? DOTNET_NO_ANSWER : connect_outcome(s->error);
	s->error = accept_process(listener, t->process.tgid, deadline_ns, &fd);
	if (!s->error)
		s->error = diagnostics_take_advert(fd, deadline_ns);
	if (!s->error)
		s->error = exchange(requests, &who, fd, DIAGNOSTICS_RESUME, s, reply);
	if (s->error)
		outcome = exchange_outcome(s->error);
	/* Closed before it is removed: what somebody listens at is left alone. */
	close(take_fd(&listener));
	at_socket(requests, t, &who.target, FILE_REQUEST_UNLISTEN, path, &none);
	return outcome;
}

void dotnet_resume(struct file_requests *requests, const struct dotnet_target *target,
		   const char *path, uint64_t timeout_ns, struct dotnet_switch *ret_switch)
{
	struct diagnostics_reply reply = {0};
	struct dotnet_switch *s = ret_switch;

	*s = (struct dotnet_switch){.target = *target};
	s->outcome = *path ? resume_caller(requests, target, path, timeout_ns, s, &reply)
			   : ask(requests, target, DIAGNOSTICS_RESUME, timeout_ns, s, &reply);
	s->hresult = reply.hresult;
	if (!s->outcome && !reply.ok)
		s->outcome = DOTNET_SAYS_NO;
}

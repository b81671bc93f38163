/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper_names.h"
#include "base/privileges.h"
#include "base/process_state.h"
#include "isolate/message.h"

/* The only descriptor of a helper besides /dev/null. */
#define SOCKET_FD 3

struct nursery {
	pid_t pid;
	int socket;
	bool locks;
};

/* Nursery and helpers are images of this very process: a function is where it is here. */
struct order {
	nursery_life life;
	char name[16];
	bool locks; /* memory */
};

/* Nothing is read in for it. A lock is no child's. Not of memory to come: without the capability,
 * which most helpers give up, there would be none beyond RLIMIT_MEMLOCK. */
static void lock_memory(void)
{
	mlockall(MCL_CURRENT | MCL_ONFAULT);
}

/* Keeps nothing of the parent's but the socket. */
static void settle(int socket, const char *name)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < SOCKET_FD && null >= 0; fd++)
		dup2(null, fd);
	if (socket != SOCKET_FD && dup2(socket, SOCKET_FD) < 0)
		_exit(1);
	syscall(SYS_close_range, SOCKET_FD + 1, ~0u, 0);
	if (chdir("/"))
		_exit(1);
	prctl(PR_SET_NAME, name);
}

static void live(int socket, const struct order *order, pid_t nursery)
{
	pid_t pid = getpid();

	settle(socket, order->name);
	/* hotrun's end is the nursery's, and the nursery's is theirs, whatever they are busy
	 * with. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (order->locks)
		lock_memory();
	if (getppid() == nursery && !message_send(SOCKET_FD, &pid, sizeof(pid), NULL, 0))
		order->life(SOCKET_FD);
	_exit(0);
}

static void nurse(int socket, uint64_t capabilities)
{
	struct order order;
	bool locked = false;
	pid_t pid;
	int fd;

	settle(socket, HELPER_NURSERY);
	/* Ctrl-C is for hotrun; helpers end with its sockets. */
	pid = setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	privileges_keep(capabilities);
	while (!message_receive_exact(SOCKET_FD, &order, sizeof(order), &fd)) {
		if (order.locks && !locked)
			lock_memory();
		locked |= order.locks;
		if (fd >= 0 && !fork())
			live(fd, &order, pid);
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

struct nursery *nursery_new(uint64_t capabilities)
{
	struct nursery *n = calloc(1, sizeof(*n));
	int pair[2], err;

	if (!n)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(n);
		return NULL;
	}
	n->pid = fork();
	if (!n->pid)
		nurse(pair[1], capabilities);
	err = errno;
	close(pair[1]);
	n->socket = pair[0];
	if (n->pid > 0)
		return n;
	close(pair[0]);
	free(n);
	errno = err;
	return NULL;
}

void nursery_free(struct nursery *n)
{
	if (!n)
		return;
	close(n->socket);
	waitpid(n->pid, NULL, 0);
	free(n);
}

void nursery_lock_memory(struct nursery *n)
{
	n->locks = true;
}

int nursery_spawn(struct nursery *n, nursery_life life, const char *name, int *ret_socket)
{
	struct order order = {.life = life, .locks = n->locks};
	int pair[2], err;

	snprintf(order.name, sizeof(order.name), "%s", name);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -EAGAIN;
	err = message_send(n->socket, &order, sizeof(order), &pair[1], 1);
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return -EAGAIN;
	}
	/* A helper that does not read must not make us wait. */
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	*ret_socket = pair[0];
	return 0;
}

pid_t nursery_pid(const struct nursery *n)
{
	return n->pid;
}

uint64_t nursery_cpu_ns(const struct nursery *n)
{
	return process_cpu_ns(n->pid);
}

bool nursery_is_gone(const struct nursery *n)
{
	/* It never says anything. */
	return message_wait(n->socket, 0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_NURSERY_H
#define HOTRUN_ISOLATE_NURSERY_H
/*
 * A small process that forks hotrun's helper processes. It is itself forked before there is any BPF
 * object, so that no helper ever holds one: a helper stuck in a target's file system is beyond
 * SIGKILL and keeps what it holds. It touches nothing of a target, so it never hangs. Make one
 * early, and keep it as long as hotrun runs. Used by one thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A helper's life: serves its socket and returns when the other side is gone. */
typedef void (*nursery_life)(int socket);

struct nursery;

/* Forks. capabilities: those that helpers keep, as far as there are any (base/privileges.h).
 * Returns owned, or NULL with errno. */
struct nursery *nursery_new(uint64_t capabilities);
/* Its helpers should have been left by now: their sockets closed. */
void nursery_free(struct nursery *n);
/* Its memory, and what helpers have of it that it forks from now on, stays where it is once it is
 * there, as far as that is allowed: with CAP_IPC_LOCK among the capabilities, else within
 * RLIMIT_MEMLOCK. Code they share with this process, whose own lock keeps it. */
void nursery_lock_memory(struct nursery *n);

/*
 * Forks a helper that calls life with its end of a socket, which is all that it has, and then ends.
 * name: of the process, at most 15 bytes. Does not wait for it: its first message is a pid_t, its
 * own. Returns 0 with our end of the socket, owned, on which nothing blocks, or -EAGAIN (the
 * nursery is gone, no descriptors).
 */
int nursery_spawn(struct nursery *n, nursery_life life, const char *name, int *ret_socket);

/* The process itself. */
pid_t nursery_pid(const struct nursery *n);

/* CPU time that it used itself so far; 0 when it is gone. */
uint64_t nursery_cpu_ns(const struct nursery *n);

/* Whether it ended, e.g. because somebody killed it, and its helpers with it. There is no other:
 * a process that is forked now would hold BPF objects. Does not wait. */
bool nursery_is_gone(const struct nursery *n);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_CHILD_H
#define HOTRUN_COMMANDS_CHILD_H
/*
 * The command of `record -- CMD`: made before the recording starts, let go when it runs. It
 * outlives a killed hotrun: nothing ties it to us.
 */
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;  /* 0 = none */
	int gate;   /* the write end; closing it without a byte lets the child exit unstarted */
	int report; /* the errno of a failed exec comes over it */
};

/* Says whether execvp(3) would find a program of that name: 0, -ENOENT or -EACCES. */
int child_find(const char *name);
/* Forks a child that waits at the gate. 0 or negative errno. */
int child_prepare(char **argv, struct child *ret_child);
/* Lets it execute. Returns 0, or the errno of the exec as -ENOENT, -EACCES, ... */
int child_release(struct child *child);
/* True when it has ended; *ret_code is then its exit code, 128 + n after signal n. */
bool child_ended(struct child *child, int *ret_code);
/* Drops an unreleased child and closes what is open; a released one runs on. */
void child_close(struct child *child);
#endif

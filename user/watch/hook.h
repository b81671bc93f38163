/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_HOOK_H
#define HOTRUN_WATCH_HOOK_H
/*
 * The operator's own program, run when a capture and its artifacts are there:
 *
 *	COMMAND CAPTURE REPORT PAGE PROCESS VERDICT	and JSON on its standard input
 *
 * Executed as it is, without a shell, one at a time, as this user and without any capability
 * (base/confine.h), with an environment of its own; what it says goes nowhere. After HOOK_LIMIT_NS
 * it is killed, and whatever else is in its process group; so is what it leaves behind when it
 * ends. Names in its arguments are those that watched processes chose, made printable, and with
 * _ for a - at their begin. Nothing waits for it. No threads; the caller leaves its children to it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOOK_QUEUE    16
#define HOOK_LIMIT_NS 10000000000ull
#define HOOK_ARGS     5

struct hook;

/* Returns it owned, or NULL with errno ENOMEM. limit_ns: for one run. */
struct hook *hook_new(uint64_t limit_ns);
/* Puts a run into the queue; all is copied. 0; -E2BIG where HOOK_QUEUE wait; -ENOMEM. */
int hook_add(struct hook *h, const char *command, const char *const args[static HOOK_ARGS],
	     const char *json, size_t json_len);
/* Looks whether the one that runs has ended, or has to, and starts the next. now_ns:
 * CLOCK_MONOTONIC. Returns 1 where one is over: *ret_err 0, or why it failed: negative errno,
 * -ETIMEDOUT it was killed, -EIO it returned something else than 0. Never waits. */
int hook_look(struct hook *h, uint64_t now_ns, int *ret_err);
/* That run, or wait. */
size_t hook_pending(const struct hook *h);
/* Kills the one that runs. Takes NULL. */
void hook_free(struct hook *h);
#endif

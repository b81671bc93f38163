/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_CONTROL_H
#define HOTRUN_WATCH_CONTROL_H
/*
 * The control socket of the resident recorder, DIR/control: a stream of lines, mode 0600, callers
 * of another user but root are sent away (SO_PEERCRED). Served by the recorder's loop without ever
 * waiting; a caller that is slow, silent or talkative loses its connection, at most CONTROL_CLIENTS
 * at a time.
 *
 * > trigger BEFORE_NS AFTER_NS            decimal
 * < begun NAME                            or: failed WHY
 * < done NAME                             it and its artifacts are whole; or: failed WHY
 * > snapshot WORDS                        see snapshot_request.h
 * < snapshot                              and the text, or JSON, with a byte 0 behind it, unless
 *                                         it failed in the middle; or: failed WHY
 * > status
 * < KEY VALUE                             lines, then the connection ends
 *
 * A request a connection: what follows its line is not read. A caller that goes away while its
 * capture is taken changes nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/folder.h"
#include "watch/snapshot_request.h"

#define CONTROL_NAME	     "control" /* in the folder */
#define CONTROL_CLIENTS	     8
#define CONTROL_LINE_BYTES   512
#define CONTROL_STATUS_BYTES 8192
#define CONTROL_IDLE_NS	     5000000000ull /* a caller that has not said its line after so long */
#define CONTROL_DAY_NS	     86400000000000ull

struct control;

struct control_ops {
	void *ctx;
	/* Begins a capture: 0 and its name, or a negative errno and a sentence. */
	int (*trigger)(void *ctx, uint64_t before_ns, uint64_t after_ns,
		       char ret_name[static FOLDER_NAME_BYTES], char *why, size_t why_bytes);
	/* Writes lines "KEY VALUE\n", with a 0 byte behind the last. */
	void (*status)(void *ctx, char *text, size_t bytes);
	/* Answers such a request into the connection, which is borrowed; NULL: nobody can. */
	void (*snapshot)(void *ctx, int fd, const struct snapshot_request *request);
};

enum control_request {
	CONTROL_NOTHING,
	CONTROL_TRIGGER,
	CONTROL_STATUS,
	CONTROL_SNAPSHOT, /* what follows the word is for snapshot_request_read() */
	CONTROL_BAD
};
/* Parses one line without its newline. Pure. */
enum control_request control_parse(const char *line, size_t len, uint64_t *ret_before_ns,
				   uint64_t *ret_after_ns);

/* Listens in the folder, in place of what an earlier run left under that name (a folder there:
 * -EISDIR). For who holds the lock. Needs /proc. dir is borrowed until control_free(), ops are
 * copied. 0 or negative errno; *ret_control owned. */
int control_new(int dir, const struct control_ops *ops, struct control **ret_control);
/* Descriptor to wait for (it is readable when control_look() has work); owned by the control. */
int control_fd(const struct control *c);
/* Serves what is there, and sends away who was silent for too long: also for once a slice. Never
 * waits. ops are called from here alone. now_ns: CLOCK_MONOTONIC. */
void control_look(struct control *c, uint64_t now_ns);
/* The capture of that name is done; err 0 or negative errno: tells those who asked for it. Not from
 * within ops. */
void control_done(struct control *c, const char *name, int err);
/* Removes the socket. Takes NULL. */
void control_free(struct control *c);

/* For who answers: the whole of it, or false. Never waits. */
bool control_say(int fd, const char *bytes, size_t len);

/* The caller's side of a request that is not answered by lines: connects and sends the line.
 * *ret_fd owned, to be read until its end. Errors as control_ask(). */
int control_open(int dir, const char *line, uint64_t timeout_ns, int *ret_fd);
/* The caller's side: connects to the recorder of that folder, sends a line and hands over each line
 * of the answer (made safe to show) until the connection ends, answer() returns non-zero (returned
 * as it is), or there was no line for so long (-ETIMEDOUT): the first for first_ns, each other one
 * for next_ns. -ENOENT, -ECONNREFUSED: no recorder runs there; -EACCES: not permitted; -ENOTSOCK:
 * what lies there is no socket of the folder's owner; -EBADMSG: an answer longer than a line;
 * -EINTR: a signal came. */
int control_ask(int dir, const char *line, uint64_t first_ns, uint64_t next_ns,
		int (*answer)(void *ctx, const char *line), void *ctx);
#endif

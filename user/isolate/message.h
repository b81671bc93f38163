/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_MESSAGE_H
#define HOTRUN_ISOLATE_MESSAGE_H
/*
 * One message with descriptors over a SOCK_SEQPACKET socket between hotrun and its helper
 * processes. The other side may be hostile (a parser that a target's bytes took over): lengths and
 * numbers of descriptors are checked here, contents by the caller. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_FDS_MAX 12u

/* Sends len bytes and the descriptors, which stay the caller's. 0 or -errno. */
int message_send(int socket, const void *bytes, size_t len, const int *fds, unsigned fd_cnt);

/*
 * Receives one message of at most cap bytes. fds holds room for MESSAGE_FDS_MAX; those received are
 * the caller's, close-on-exec. Returns 0; -EPIPE: the other side is gone; -EBADMSG: longer than
 * cap, or more descriptors than there is room for, nothing is handed out then; or another -errno.
 */
int message_receive(int socket, void *bytes, size_t cap, size_t *ret_len, int *fds,
		    unsigned *ret_fd_cnt);

/* message_receive() from who has no descriptors to hand out: what comes along is dropped by the
 * kernel, and never ours to close, which may hang. */
int message_receive_bytes(int socket, void *bytes, size_t cap, size_t *ret_len);

/* message_receive() of exactly len bytes and at most one descriptor; ret_fd is -1 without one. */
int message_receive_exact(int socket, void *bytes, size_t len, int *ret_fd);

/* Waits until there is something to receive, or the other side is gone. Signals do not end it. */
bool message_wait(int socket, int timeout_ms);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_ROWS_H
#define HOTRUN_KERNEL_ROWS_H
/*
 * Gives rows of the map `endpoints` back when nobody writes them any more: their process is gone,
 * its socket does not listen any more, or nothing happened there for ten seconds. Without it a
 * session of months would run out of them over servers that start a process for each connection, or
 * listen anew. A connection that outlives its row gets another one. Keeps the accounts of who holds
 * how many, by which the programs give them out.
 */
#include "kernel/session_private.h"

/*
 * To be called where sockets were just read into s->socket_rows, cnt of them; all: there are no
 * others. Every two seconds it takes back the rows that did not change between two of its calls, so
 * that the caller has seen their last figures.
 */
void rows_give_back(struct session *s, uint32_t cnt, bool all);

/* Hands over who was refused a row since the last call, and for how many requests. 0 or negative
 * errno. */
int rows_read_refused(struct session *s, const struct session_ops *ops);
#endif

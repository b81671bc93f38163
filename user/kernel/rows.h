/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_ROWS_H
#define HOTRUN_KERNEL_ROWS_H
/*
 * Gives rows of the map `endpoints` back when nobody writes them any more: their process is gone, or its socket does
 * not listen any more. Without it a session of months would run out of them over servers that start a
 * process for each connection, or listen anew. A connection that outlives its row gets another one.
 */
#include "kernel/session_private.h"

/*
 * To be called where all sockets were just read into s->readings, of which cnt are there. Every two seconds it takes
 * back the rows that did not change between two of its looks, so that the caller has seen their last figures.
 */
void rows_give_back(struct session *s, uint32_t cnt);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_POLICY_H
#define HOTRUN_MODEL_POLICY_H
/*
 * What a thread's place with the scheduler is called: its class and what ranks it there. A thread
 * that starves, or starves others, mostly does so by its class. Pure; no threads.
 */
#include "model/model.h"

#define POLICY_BYTES 16

/* "" for a normal thread of nice 0, else "nice 19", "fifo 50", "rr 1", "batch", "batch 5" (nice 5),
 * "idle class", "deadline", "ext" (a scheduler loaded by BPF), or "policy 9". */
void policy_text(char buf[static POLICY_BYTES], const struct model_thread *thread);
/* True for those that run before every normal thread: fifo, rr and deadline. */
bool policy_is_realtime(const struct model_thread *thread);
/* True for those that asked to run behind others: nice above 0, batch, the idle class. */
bool policy_is_background(const struct model_thread *thread);
/*
 * The same for a process: the class of its threads where those that wanted a tenth of what it
 * wanted, or more, are all of one class; else "". Linear in the threads of m. Returns such a
 * thread's row, MODEL_NONE for "".
 */
uint32_t policy_of_process(const struct model *m, uint32_t process, char buf[static POLICY_BYTES]);
#endif

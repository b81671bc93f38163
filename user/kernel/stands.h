/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_STANDS_H
#define HOTRUN_KERNEL_STANDS_H
/* Asks where threads stand (bpf/stands.bpf.c), of programs that are loaded. stands_attach() and
 * stands_open() are private to this room. */
#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/events.h"
#include "kernel/session.h"

struct feature_set;
struct hotrun_bpf;

struct stands_ask {
	const uint32_t *tgids; /* of these processes, FILTER_TGIDS_MAX at the most */
	size_t tgid_cnt;       /* 0 = of all */
	uint32_t tid;	       /* that thread alone; 0 = all */
	uint64_t awake_ns;     /* not who has slept for longer; 0 = all */
	unsigned int place;    /* as of session_set_stand_reader() */
	uint32_t stuck;
};

/* FEATURE_THREAD_STACKS can be used then, or is off: only present pages of user stacks are read,
 * for which it has to be known how the kernel's page tables are. */
void stands_attach(struct feature_set *features, struct hotrun_bpf *bpf);

/* A descriptor, owned, whose reading is one pass, or negative errno. One at a time: what is asked
 * for is kept in one place. */
int stands_open(struct hotrun_bpf *bpf, const struct stands_ask *ask);
#endif

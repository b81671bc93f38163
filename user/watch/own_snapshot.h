/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_OWN_SNAPSHOT_H
#define HOTRUN_WATCH_OWN_SNAPSHOT_H
/* What the resident recorder answers to `hotrun snapshot`: the last seconds, out of its memory. */
#include "watch/snapshot_request.h"

/* As control_ops.snapshot; ctx: the struct watch. Never waits. */
void own_snapshot_answer(void *ctx, int fd, const struct snapshot_request *request);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_ENVIRON_H
#define HOTRUN_PROCESS_ENVIRON_H
/*
 * What the environment of a process says of its perf map: read by a worker once a program, and
 * remembered with the file requests. Nobody else looks at an environment. One thread.
 */
#include "model/model.h"
#include "opener/file_requests.h"
#include "perfmap/maps/locate.h"

/*
 * Returns REASON_NAMED: of one that cannot be read, or whose process is gone, nothing is known (all
 * 0); REASON_PENDING: it is being read, ask again (deferred has grown); or a reason of the file requests.
 */
enum model_reason environ_of(struct file_requests *fr, const struct model *m, uint32_t process,
			     struct perfmap_environment *ret_env);

/* The process runs another program. */
void environ_forget(struct file_requests *fr, uint32_t process);
/* With the file requests; its workers live still. */
void environ_clear(struct file_requests *fr);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_ENVIRONS_H
#define HOTRUN_PROCESS_ENVIRONS_H
/*
 * What the environments of processes say of their perf maps: read by a worker once a program, and
 * remembered. Nobody else looks at an environment. One thread.
 */
#include "model/model.h"
#include "opener/file_requests.h"
#include "perfmap/maps/locate.h"

struct environs;

/* Borrows the file requests until environs_free(). Owned, or NULL with errno ENOMEM. */
struct environs *environs_new(struct file_requests *requests);
void environs_free(struct environs *e);

/*
 * Returns REASON_NAMED: of one that cannot be read, or whose process is gone, nothing is known (all
 * 0); REASON_PENDING: it is being read, ask again (deferred has grown); or a reason of the file
 * requests.
 */
enum model_reason environs_read(struct environs *e, const struct model *m, uint32_t process,
				struct perfmap_environment *ret_env);

/* The process runs another program. */
void environs_forget(struct environs *e, uint32_t process);
#endif

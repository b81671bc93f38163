/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/asker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "names/guard.h"
#include "names/proc.h"

/* A start time guessed from the fork event lies after the true one: by how much at the most. */
#define GUESS_SLACK_TICKS 100u

int asker_init(struct asker *a, const char *proc_path, uint64_t deadline_ns)
{
	if (snprintf(a->proc_path, sizeof(a->proc_path), "%s", proc_path) >=
	    (int)sizeof(a->proc_path))
		return -ENAMETOOLONG;
	a->hung = (struct hash_index){0};
	a->loader = loader_new(deadline_ns);
	return a->loader ? 0 : -ENOMEM;
}

void asker_clear(struct asker *a)
{
	loader_free(a->loader);
	hash_clear(&a->hung);
}

struct asker_target asker_target(const struct asker *a, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	struct asker_target target = {
		.tgid = p->tgid,
		.start_ns = p->start_ns,
		.start_exact = p->start_exact,
		.exited = p->exit_ns || (p->flags & PROCESS_GONE),
	};

	snprintf(target.proc_path, sizeof(target.proc_path), "%s", a->proc_path);
	return target;
}

static bool same_row(const void *owner, uint32_t row, const void *key)
{
	(void)owner;
	return row == *(const uint32_t *)key;
}

enum model_reason asker_run(struct asker *a, uint32_t process, struct loader_job *job,
			    struct loader_job **ret_job)
{
	uint64_t hash = hash_u64(process);
	int err;

	*ret_job = job;
	if (hash_find(&a->hung, hash, same_row, NULL, &process) != HASH_NONE)
		return REASON_FILE_TIMEOUT;
	err = loader_run(a->loader, job);
	if (!err)
		return REASON_NAMED;
	if (err != -ETIMEDOUT)
		return REASON_LIMIT;
	*ret_job = NULL;
	hash_add(&a->hung, hash, process); /* without memory it is asked again, and bounded then */
	return REASON_FILE_TIMEOUT;
}

bool asker_same_start(const struct asker_target *target, uint64_t start_ticks)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t wanted = target->start_ns / tick_ns;

	if (target->start_exact)
		return start_ticks == wanted;
	return start_ticks <= wanted + 1 && start_ticks + GUESS_SLACK_TICKS >= wanted;
}

int asker_open(const struct asker_target *target)
{
	_cleanup_free_ struct proc_facts *facts = NULL;
	_cleanup_close_ int fd = -1;
	char stat[2048];
	ssize_t n;

	if (target->exited)
		return -ESRCH;
	fd = guard_process(target->proc_path, target->tgid);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	facts = malloc(sizeof(*facts));
	if (!facts)
		return -ENOMEM;
	n = guard_read(fd, "stat", stat, sizeof(stat));
	if (n < 0)
		return (int)n;
	if (proc_parse_stat(stat, (size_t)n, facts) ||
	    !asker_same_start(target, facts->start_ticks))
		return -ESRCH;
	return take_fd(&fd);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/environ.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "opener/fetch.h"
#include "parse/parse_fact.h"

struct asker_environ {
	struct workers_job *job; /* owned: what reads it now, or NULL */
	bool known;
	enum perfmap_enabled enabled;
	char *dump_dir, *temp_dir; /* owned; NULL = "" */
};

/* NULL without memory. */
static struct asker_environ *row_of(struct asker *a, uint32_t process)
{
	while (a->environs_cnt <= process) {
		if (GROW(a->environs, a->environs_cnt, a->environs_cap))
			return NULL;
		a->environs[a->environs_cnt++] = NULL;
	}
	if (!a->environs[process])
		a->environs[process] = calloc(1, sizeof(**a->environs));
	return a->environs[process];
}

static void free_row(struct asker *a, struct asker_environ *e)
{
	if (!e)
		return;
	workers_job_free(a->workers, e->job);
	free(e->dump_dir);
	free(e->temp_dir);
	free(e);
}

void environ_forget(struct asker *a, uint32_t process)
{
	if (process >= a->environs_cnt)
		return;
	free_row(a, a->environs[process]);
	a->environs[process] = NULL;
}

void environ_clear(struct asker *a)
{
	for (size_t i = 0; i < a->environs_cnt; i++)
		free_row(a, a->environs[i]);
	free(a->environs);
	a->environs = NULL;
	a->environs_cnt = a->environs_cap = 0;
}

static char *keep_text(const char *s)
{
	return *s ? strdup(s) : NULL;
}

/* Most have neither directory: 8 KiB each are not to be kept for that. */
static void keep(struct asker_environ *e, const struct perfmap_environment *env)
{
	e->known = true;
	e->enabled = env->enabled;
	e->dump_dir = keep_text(env->dump_dir);
	e->temp_dir = keep_text(env->temp_dir);
}

static void give(const struct asker_environ *e, struct perfmap_environment *ret_env)
{
	ret_env->enabled = e->enabled;
	if (e->dump_dir)
		strcpy(ret_env->dump_dir, e->dump_dir);
	if (e->temp_dir)
		strcpy(ret_env->temp_dir, e->temp_dir);
}

/* Opens it and has a worker begin. Without a job where it cannot be opened. */
static enum model_reason begin(struct asker *a, const struct model *m, uint32_t process,
			       struct asker_environ *e)
{
	struct parse_request parse = {.kind = PARSE_ENVIRON, .in_socket = 1};
	_cleanup_free_ struct fetch_request *request = calloc(1, sizeof(*request));
	struct fetch_reply reply = {0};
	enum model_reason reason;
	int fd;

	if (!request)
		return REASON_LIMIT;
	request->what = FETCH_ENVIRON;
	reason = asker_fetch(a, m, process, request, -1, &reply, &fd);
	if (reason || fd < 0)
		return reason;
	e->job = asker_job_new(a, m, process, &parse);
	if (!e->job) {
		close(fd);
		return REASON_LIMIT;
	}
	workers_job_give(e->job, fd);
	asker_job_begin(a, e->job, true);
	return REASON_NAMED;
}

static enum model_reason finish(struct asker *a, const struct model *m, uint32_t process,
				struct asker_environ *e)
{
	struct parse_environ *answer = calloc(1, sizeof(*answer));
	const struct parse_reply *reply;
	enum model_reason reason = REASON_LIMIT;

	if (answer)
		reason = asker_job_wait(a, e->job, asker_party(a, m, process), &reply);
	/* One that no worker can read is as good as none. */
	if (!reason && !parse_fact_take(e->job, PARSE_ENVIRON, answer)) {
		memset(answer, 0, sizeof(*answer));
		reason = REASON_FILE_MALFORMED;
	}
	if (reason != REASON_PENDING) {
		asker_job_end(a, process, take_ptr(&e->job));
		if (reason != REASON_LIMIT)
			keep(e, &answer->map);
	}
	free(answer);
	return reason == REASON_PENDING || reason == REASON_LIMIT ? reason : REASON_NAMED;
}

enum model_reason environ_of(struct asker *a, const struct model *m, uint32_t process,
			     struct perfmap_environment *ret_env)
{
	bool is_gone =
		m->processes[process].exit_ns || (m->processes[process].flags & PROCESS_GONE);
	struct asker_environ *e = row_of(a, process);
	enum model_reason reason = REASON_NAMED;

	memset(ret_env, 0, sizeof(*ret_env));
	if (!e)
		return REASON_LIMIT;
	if (!e->known && !e->job && !is_gone)
		reason = begin(a, m, process, e);
	if (!reason && e->job)
		reason = finish(a, m, process, e);
	if (!reason)
		give(e, ret_env);
	return reason;
}

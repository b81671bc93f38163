/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/environ.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "opener/opener.h"
#include "parse/parse_fact.h"

struct file_requests_environ {
	struct workers_job *job; /* owned: what reads it now, or NULL */
	bool known;
	enum perfmap_enabled enabled;
	char *dump_dir, *temp_dir; /* owned; NULL = "" */
};

/* NULL without memory. */
static struct file_requests_environ *row_of(struct file_requests *fr, uint32_t process)
{
	while (fr->environs_cnt <= process) {
		if (GROW(fr->environs, fr->environs_cnt, fr->environs_cap))
			return NULL;
		fr->environs[fr->environs_cnt++] = NULL;
	}
	if (!fr->environs[process])
		fr->environs[process] = calloc(1, sizeof(**fr->environs));
	return fr->environs[process];
}

static void free_row(struct file_requests *fr, struct file_requests_environ *e)
{
	if (!e)
		return;
	workers_job_free(fr->workers, e->job);
	free(e->dump_dir);
	free(e->temp_dir);
	free(e);
}

void environ_forget(struct file_requests *fr, uint32_t process)
{
	if (process >= fr->environs_cnt)
		return;
	free_row(fr, fr->environs[process]);
	fr->environs[process] = NULL;
}

void environ_clear(struct file_requests *fr)
{
	for (size_t i = 0; i < fr->environs_cnt; i++)
		free_row(fr, fr->environs[i]);
	free(fr->environs);
	fr->environs = NULL;
	fr->environs_cnt = fr->environs_cap = 0;
}

static char *keep_text(const char *s)
{
	return *s ? strdup(s) : NULL;
}

/* Most have neither directory: 8 KiB each are not to be kept for that. */
static void keep(struct file_requests_environ *e, const struct perfmap_environment *env)
{
	e->known = true;
	e->enabled = env->enabled;
	e->dump_dir = keep_text(env->dump_dir);
	e->temp_dir = keep_text(env->temp_dir);
}

static void give(const struct file_requests_environ *e, struct perfmap_environment *ret_env)
{
	ret_env->enabled = e->enabled;
	if (e->dump_dir)
		strcpy(ret_env->dump_dir, e->dump_dir);
	if (e->temp_dir)
		strcpy(ret_env->temp_dir, e->temp_dir);
}

/* Opens it and has a worker begin. Without a job where it cannot be opened. */
static enum model_reason begin(struct file_requests *fr, const struct model *m, uint32_t process,
			       struct file_requests_environ *e)
{
	struct parse_request parse = {.kind = PARSE_ENVIRON, .in_socket = 1};
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct file_reply reply = {0};
	enum model_reason reason;
	int fd;

	if (!request)
		return REASON_LIMIT;
	request->what = FILE_REQUEST_ENVIRON;
	reason = file_requests_open(fr, m, process, request, -1, &reply, &fd);
	if (reason || fd < 0)
		return reason;
	e->job = file_requests_job_new(fr, m, process, &parse);
	if (!e->job) {
		close(fd);
		return REASON_LIMIT;
	}
	workers_job_give(e->job, fd);
	file_requests_job_begin(fr, e->job, true);
	return REASON_NAMED;
}

static enum model_reason finish(struct file_requests *fr, const struct model *m, uint32_t process,
				struct file_requests_environ *e)
{
	struct parse_environ *answer = calloc(1, sizeof(*answer));
	const struct parse_reply *reply;
	enum model_reason reason = REASON_LIMIT;

	if (answer)
		reason = file_requests_job_wait(fr, e->job, file_requests_party(fr, m, process),
						&reply);
	/* One that no worker can read is as good as none. */
	if (!reason && !parse_fact_take(e->job, PARSE_ENVIRON, answer)) {
		memset(answer, 0, sizeof(*answer));
		reason = REASON_FILE_MALFORMED;
	}
	if (reason != REASON_PENDING) {
		file_requests_job_end(fr, process, take_ptr(&e->job));
		if (reason != REASON_LIMIT)
			keep(e, &answer->map);
	}
	free(answer);
	return reason == REASON_PENDING || reason == REASON_LIMIT ? reason : REASON_NAMED;
}

enum model_reason environ_of(struct file_requests *fr, const struct model *m, uint32_t process,
			     struct perfmap_environment *ret_env)
{
	bool is_gone =
		m->processes[process].exit_ns || (m->processes[process].flags & PROCESS_GONE);
	struct file_requests_environ *e = row_of(fr, process);
	enum model_reason reason = REASON_NAMED;

	memset(ret_env, 0, sizeof(*ret_env));
	if (!e)
		return REASON_LIMIT;
	if (!e->known && !e->job && !is_gone)
		reason = begin(fr, m, process, e);
	if (!reason && e->job)
		reason = finish(fr, m, process, e);
	if (!reason)
		give(e, ret_env);
	return reason;
}

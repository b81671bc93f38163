/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/environs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "parse/parse_fact.h"

struct row {
	struct workers_job *job; /* owned: what reads it now, or NULL */
	bool known;
	enum perfmap_enabled enabled;
	char *dump_dir, *temp_dir; /* owned; NULL = "" */
};

struct environs {
	struct file_requests *requests; /* borrowed */
	struct row **rows;		/* by process row, NULL = not asked */
	size_t cnt, cap;
};

struct environs *environs_new(struct file_requests *requests)
{
	struct environs *e = calloc(1, sizeof(*e));

	if (e)
		e->requests = requests;
	return e;
}

/* NULL without memory. */
static struct row *row_of(struct environs *e, uint32_t process)
{
	while (e->cnt <= process) {
		if (GROW(e->rows, e->cnt, e->cap))
			return NULL;
		e->rows[e->cnt++] = NULL;
	}
	if (!e->rows[process])
		e->rows[process] = calloc(1, sizeof(**e->rows));
	return e->rows[process];
}

static void free_row(struct environs *e, struct row *row)
{
	if (!row)
		return;
	workers_job_free(e->requests->workers, row->job);
	free(row->dump_dir);
	free(row->temp_dir);
	free(row);
}

void environs_forget(struct environs *e, uint32_t process)
{
	if (process >= e->cnt)
		return;
	free_row(e, e->rows[process]);
	e->rows[process] = NULL;
}

void environs_free(struct environs *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->cnt; i++)
		free_row(e, e->rows[i]);
	free(e->rows);
	free(e);
}

static char *keep_text(const char *s)
{
	return *s ? strdup(s) : NULL;
}

/* Most have neither directory: 8 KiB each are not to be kept for that. */
static void keep(struct row *row, const struct perfmap_environment *env)
{
	row->known = true;
	row->enabled = env->enabled;
	row->dump_dir = keep_text(env->dump_dir);
	row->temp_dir = keep_text(env->temp_dir);
}

static void give(const struct row *row, struct perfmap_environment *ret_env)
{
	ret_env->enabled = row->enabled;
	if (row->dump_dir)
		strcpy(ret_env->dump_dir, row->dump_dir);
	if (row->temp_dir)
		strcpy(ret_env->temp_dir, row->temp_dir);
}

/* Opens it and has a worker begin. Without a job where it cannot be opened. */
static enum model_reason begin(struct file_requests *fr, const struct model *m, uint32_t process,
			       struct row *row)
{
	struct parse_request parse = {.kind = PARSE_ENVIRON, .in_socket = 1};
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct file_reply reply = {0};
	enum model_reason reason;
	int fd;

	if (!request)
		return REASON_LIMIT;
	request->kind = FILE_REQUEST_ENVIRON;
	reason = file_requests_open(fr, m, process, request, -1, &reply, &fd);
	if (reason || fd < 0)
		return reason;
	row->job = file_requests_job_new(fr, m, process, &parse);
	if (!row->job) {
		close(fd);
		return REASON_LIMIT;
	}
	workers_job_give(row->job, fd);
	file_requests_job_begin(fr, row->job, WORKERS_URGENT);
	return REASON_NAMED;
}

static enum model_reason finish(struct file_requests *fr, const struct model *m, uint32_t process,
				struct row *row)
{
	struct parse_environ *answer = calloc(1, sizeof(*answer));
	const struct parse_reply *reply;
	enum model_reason reason = REASON_LIMIT;

	if (answer)
		reason = file_requests_job_wait(fr, row->job, file_requests_party(fr, m, process),
						&reply);
	/* One that no worker can read is as good as none. */
	if (!reason && !parse_fact_take(row->job, PARSE_ENVIRON, answer)) {
		memset(answer, 0, sizeof(*answer));
		reason = REASON_FILE_MALFORMED;
	}
	if (reason != REASON_PENDING) {
		file_requests_job_end(fr, process, take_ptr(&row->job));
		if (reason != REASON_LIMIT)
			keep(row, &answer->map);
	}
	free(answer);
	return reason == REASON_PENDING || reason == REASON_LIMIT ? reason : REASON_NAMED;
}

enum model_reason environs_read(struct environs *e, const struct model *m, uint32_t process,
				struct perfmap_environment *ret_env)
{
	bool is_gone =
		m->processes[process].exit_ns || (m->processes[process].flags & PROCESS_GONE);
	struct row *row = row_of(e, process);
	enum model_reason reason = REASON_NAMED;

	memset(ret_env, 0, sizeof(*ret_env));
	if (!row)
		return REASON_LIMIT;
	if (!row->known && !row->job && !is_gone)
		reason = begin(e->requests, m, process, row);
	if (!reason && row->job)
		reason = finish(e->requests, m, process, row);
	if (!reason)
		give(row, ret_env);
	return reason;
}

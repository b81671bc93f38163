/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/exec_names.h"

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "bpf/events.h"

/* Waiting at a time; of a storm of them /proc tells the others. */
#define ROWS_MAX 1024

void exec_names_add(struct exec_names *e, const struct event_exec *exec)
{
	/* The last one may be cut, and is another word then. */
	const char *end = memrchr(exec->args, '\0', exec->args_bytes);
	struct exec_name row = {
		.time_ns = exec->time_ns,
		.start_ns = exec->process_start_ns,
		.tgid = exec->tgid,
	};

	if (!end || e->cnt >= ROWS_MAX || GROW(e->rows, e->cnt, e->cap))
		return;
	entry_name(EXEC_COMM, exec->args, (size_t)(end - exec->args), row.name);
	e->rows[e->cnt++] = row;
}

static void apply(struct model *m, const struct exec_name *row)
{
	uint32_t process = model_process_at(m, row->tgid, row->time_ns);
	struct model_process *p;

	if (process == MODEL_NONE)
		return;
	p = &m->processes[process];
	/* Another one had its id, or it runs another program by now. */
	if ((p->start_exact && p->start_ns != row->start_ns) || strcmp(p->comm, EXEC_COMM))
		return;
	/* A name other than the comm is the entry assembly already. */
	if (p->name != p->comm)
		return;
	p->name = model_str(m, row->name);
	if (!*p->name) /* no room for it */
		p->name = p->comm;
	p->dirty = true;
}

void exec_names_apply(struct exec_names *e, struct model *m, uint64_t until_ns)
{
	size_t kept = 0;

	/* The newest first: what it runs now counts. */
	for (size_t i = e->cnt; i-- > 0;)
		if (e->rows[i].time_ns <= until_ns)
			apply(m, &e->rows[i]);
	for (size_t i = 0; i < e->cnt; i++)
		if (e->rows[i].time_ns > until_ns)
			e->rows[kept++] = e->rows[i];
	e->cnt = kept;
}

void exec_names_clear(struct exec_names *e)
{
	free(e->rows);
	*e = (struct exec_names){0};
}

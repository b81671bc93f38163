/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/role.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"

/* Names as the kernel has them, 15 characters at most; the first that starts a name decides. */
static const struct {
	const char *start;
	enum role role;
} known[] = {
	{".NET TP Worker", ROLE_POOL_WORKER},  {".NET TP Gate", ROLE_POOL_GATE},
	{".NET TP Wait", ROLE_POOL_WAIT},      {".NET Timer", ROLE_TIMER},
	{".NET Finalizer", ROLE_FINALIZER},    {".NET Server GC", ROLE_GC_SERVER},
	{".NET BGC", ROLE_GC_BACKGROUND},      {".NET Tiered", ROLE_TIERING},
	{".NET Sockets", ROLE_SOCKETS},	       {".NET Long Runni", ROLE_LONG_RUNNING},
	{".NET EventPipe", ROLE_DIAGNOSTICS},  {".NET DebugPipe", ROLE_DIAGNOSTICS},
	{".NET Debugger", ROLE_DIAGNOSTICS},   {".NET Counter Po", ROLE_DIAGNOSTICS},
	{".NET SynchManag", ROLE_SIGNALS},     {".NET SigHandler", ROLE_SIGNALS},
	{".NET File Watch", ROLE_FILE_WATCH},  {"Console logger", ROLE_CONSOLE_LOGGER},
	{".NET Long Task", ROLE_LONG_RUNNING},
};

static const char *const texts[ROLE_CNT] = {
	[ROLE_OWN] = "",
	[ROLE_MAIN] = "main thread",
	[ROLE_POOL_WORKER] = "thread-pool workers",
	[ROLE_POOL_GATE] = "thread-pool gate (adds workers)",
	[ROLE_POOL_WAIT] = "thread-pool waits",
	[ROLE_TIMER] = "timers",
	[ROLE_FINALIZER] = "finalizer",
	[ROLE_GC_SERVER] = "garbage collection (server)",
	[ROLE_GC_BACKGROUND] = "garbage collection (background)",
	[ROLE_TIERING] = "tiered JIT compilation",
	[ROLE_SOCKETS] = "socket polling",
	[ROLE_LONG_RUNNING] = "long-running tasks",
	[ROLE_DIAGNOSTICS] = "runtime diagnostics",
	[ROLE_SIGNALS] = "runtime signals and waits",
	[ROLE_FILE_WATCH] = "file watcher",
	[ROLE_CONSOLE_LOGGER] = "console logger",
};

static bool begins(const char *text, const char *start)
{
	while (*start && *text == *start) {
		text++;
		start++;
	}
	return !*start;
}

enum role role_of(const char *comm, bool main)
{
	if (main)
		return ROLE_MAIN;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (begins(comm, known[i].start))
			return known[i].role;
	return ROLE_OWN;
}

const char *role_text(enum role role)
{
	return role < ROLE_CNT ? texts[role] : "";
}

void role_fold_digits(char *buf, size_t buf_bytes, const char *comm)
{
	size_t n = 0;

	for (const char *c = comm; *c && n + 1 < buf_bytes; c++) {
		bool digit = *c >= '0' && *c <= '9';

		if (digit && n && buf[n - 1] == '#')
			continue;
		buf[n++] = digit ? '#' : *c;
	}
	if (buf_bytes)
		buf[n] = '\0';
}

struct row_key {
	enum role role;
	const char *label;
};

static bool same_row(const void *owner, uint32_t row, const void *key)
{
	const struct role_row *r = &((const struct roles *)owner)->rows[row];
	const struct row_key *k = key;

	return r->role == k->role && !strcmp(r->label, k->label);
}

/* A process may name each of its threads differently: found through a hash. */
static int add_thread(struct roles *r, struct hash_index *index, const struct model_thread *t,
		      bool main)
{
	char label[ROLE_LABEL_BYTES];
	struct row_key key = {role_of(t->comm, main), label};
	struct role_row *row;
	uint64_t hash;
	uint32_t found;
	int err;

	role_fold_digits(label, sizeof(label),
			 key.role == ROLE_OWN ? t->comm : role_text(key.role));
	hash = hash_pair(hash_bytes(label, strlen(label)), key.role);
	found = hash_find(index, hash, same_row, r, &key);
	if (found == HASH_NONE) {
		err = GROW(r->rows, r->rows_cnt, r->rows_cap);
		if (!err)
			err = hash_add(index, hash, (uint32_t)r->rows_cnt);
		if (err)
			return err;
		found = (uint32_t)r->rows_cnt++;
		r->rows[found] = (struct role_row){.role = key.role};
		strcpy(r->rows[found].label, label);
	}
	row = &r->rows[found];
	row->threads++;
	row->threads_ran += t->sched.on_cpu_ns > 0;
	row->on_cpu_ns += t->sched.on_cpu_ns;
	r->on_cpu_ns += t->sched.on_cpu_ns;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct role_row *ra = a, *rb = b;
	int c = COMPARE(rb->on_cpu_ns, ra->on_cpu_ns);

	return c ? c : strcmp(ra->label, rb->label);
}

struct roles *roles_new(const struct model *m, uint32_t process)
{
	struct roles *r = calloc(1, sizeof(*r));
	struct hash_index index = {0};
	int err = r ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < m->threads_cnt; i++) {
		const struct model_thread *t = &m->threads[i];

		if (t->process == process)
			err = add_thread(r, &index, t, t->tid == m->processes[process].tgid);
	}
	hash_clear(&index);
	if (err) {
		roles_free(r);
		errno = -err;
		return NULL;
	}
	if (r->rows_cnt)
		qsort(r->rows, r->rows_cnt, sizeof(*r->rows), compare_rows);
	return r;
}

void roles_free(struct roles *r)
{
	if (!r)
		return;
	free(r->rows);
	free(r);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/snapshot_take.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "commands/command.h"
#include "model/frame_view.h"

#define INTERVAL_NS 150000000ull
/* For the names of the first lines; and of all. */
#define FIRST_NS 500000000ull
#define ALL_NS	 2500000000ull

typedef int (*write_fn)(FILE *out, const struct model *m, const struct snapshot *s,
			const struct snapshot_view *v, const struct snapshot_options *options);

struct taking {
	struct looks *looks;
	const struct snapshot_ask *ask;
	const struct urgent *urgent;
	uint64_t begun_ns, cpu_ns; /* CPU time when it was asked for */
	FILE *out;
};

static int put(const struct taking *t, write_fn write)
{
	struct model *m = looks_model(t->looks);
	const struct snapshot *s = looks_snapshot(t->looks);
	struct snapshot_options options = {
		.width = t->ask->width,
		.lines = t->ask->lines,
		.time = time(NULL),
		.urgent = t->urgent,
		.armed = t->ask->armed,
	};
	struct snapshot_view *v;
	int err = frame_view_mark_code(m, NULL, 0);

	if (err)
		return err;
	v = snapshot_view_new(m, s);
	if (!v)
		return -errno;
	options.answer_ns = clock_now_ns() - t->begun_ns;
	options.cpu_ns = looks_cpu_ns(t->looks) - t->cpu_ns;
	err = write(t->out, m, s, v, &options);
	snapshot_view_free(v);
	return err;
}

static int take(const struct taking *t)
{
	int err = looks_begin(t->looks);

	for (unsigned int i = 0; !err && i < t->ask->repeat && !(i && stop_requested); i++)
		err = looks_take(t->looks, INTERVAL_NS);
	return err;
}

int snapshot_take(struct looks *looks, const struct snapshot_ask *ask, const struct urgent *urgent,
		  uint64_t begun_ns, FILE *out)
{
	struct taking t = {looks, ask, urgent, begun_ns, 0, out};
	int err;

	if (ask->armed)
		t.cpu_ns = looks_cpu_ns(looks);
	err = take(&t);
	if (!err && !ask->json) {
		err = looks_name_first(looks, FIRST_NS);
		if (!err)
			err = put(&t, snapshot_first_write);
	}
	if (err || (ask->brief && !ask->json))
		return err;
	err = looks_name_all(looks, ALL_NS);
	return err ?: put(&t, ask->json ? snapshot_json_write : snapshot_rest_write);
}

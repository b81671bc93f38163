/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/snapshot_take.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "commands/command.h"
#include "model/frame_view.h"

#define INTERVAL_NS 150000000ull
/* For the names of the first lines, the longer where there are none yet; and of all. */
#define FIRST_NS      500000000ull
#define FIRST_MOST_NS 1200000000ull
#define ALL_NS	      2500000000ull

typedef int (*write_fn)(FILE *out, const struct model *m, const struct snapshot *s,
			const struct snapshot_view *v, const struct snapshot_options *options);

struct taking {
	const struct snapshot_taker *taker;
	const struct snapshot_request *request;
	uint64_t cpu_ns; /* that was used before somebody asked */
	FILE *out;
};

static int put(const struct taking *t, write_fn write)
{
	struct model *m = snapshot_looks_model(t->taker->looks);
	const struct snapshot *s = snapshot_looks_snapshot(t->taker->looks);
	struct snapshot_options options = {
		.width = t->request->width,
		.lines = t->request->lines,
		.time = time(NULL),
		.urgent = t->taker->urgent,
		.by = t->taker->armed ? SNAPSHOT_BY_ARMED : SNAPSHOT_BY_ITSELF,
	};
	struct snapshot_view *v;
	int err = frame_view_mark_code(m, NULL, 0);

	if (err)
		return err;
	v = snapshot_view_new(m, s);
	if (!v)
		return -errno;
	options.answer_ns = clock_now_ns() - t->request->begun_ns;
	options.cpu_ns = snapshot_looks_cpu_ns(t->taker->looks) - t->cpu_ns;
	err = write(t->out, m, s, v, &options);
	snapshot_view_free(v);
	return err;
}

static int take(const struct taking *t)
{
	int err = snapshot_looks_begin(t->taker->looks);

	for (unsigned int i = 0; !err && i < t->request->repeat && !(i && stop_requested); i++)
		err = snapshot_looks_take(t->taker->looks, INTERVAL_NS);
	return err;
}

int snapshot_take(const struct snapshot_taker *taker, const struct snapshot_request *request,
		  FILE *out)
{
	struct taking t = {taker, request, 0, out};
	int err;

	if (taker->armed)
		t.cpu_ns = snapshot_looks_cpu_ns(taker->looks);
	err = take(&t);
	if (!err && !request->json) {
		err = snapshot_looks_name_first(taker->looks, FIRST_NS, FIRST_MOST_NS);
		if (!err)
			err = put(&t, snapshot_first_write);
	}
	if (err || (request->brief && !request->json))
		return err;
	err = snapshot_looks_name_all(taker->looks, ALL_NS);
	return err ?: put(&t, request->json ? snapshot_json_write : snapshot_rest_write);
}

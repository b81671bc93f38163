/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/looker.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hotrun.skel.h"

#include "kernel/bpf_start.h"
#include "kernel/iterate.h"
#include "kernel/own_mappings.h"
#include "kernel/release.h"
#include "kernel/unwind_maps.h"

struct looker {
	struct hotrun_bpf *bpf;
	struct unwind_maps *unwind;
	bool stands;
	char stands_why[256];
};

static bool is_of_stands(const char *map)
{
	return !strcmp(map, "stand_tgids") || !strcmp(map, "stand_rooms") ||
	       !strcmp(map, "stand_monitors") || !strcmp(map, "look_shares") ||
	       !strcmp(map, "accounts");
}

static bool is_of_tables(const struct hotrun_bpf *bpf, const struct bpf_map *map)
{
	return map == bpf->maps.unwind_pages || map == bpf->maps.unwind_mappings ||
	       map == bpf->maps.unwind_processes || map == bpf->maps.unwind_chunks;
}

/* Of all programs two, and the maps that are for them: memory of the others would be cleared for
 * nothing. Those of variables are there in any case. */
static void choose(struct looker *l, bool tables)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program(program, l->bpf->obj) bpf_program__set_autoload(
		program, program == l->bpf->progs.read_counts ||
				 (l->stands && program == l->bpf->progs.read_stands));
	bpf_object__for_each_map(map, l->bpf->obj)
	{
		bool wanted = bpf_map__is_internal(map) ||
			      (l->stands && is_of_stands(bpf_map__name(map))) ||
			      (tables && is_of_tables(l->bpf, map));

		bpf_map__set_autocreate(map, wanted);
	}
}

static int load(struct looker *l, bool tables)
{
	l->bpf = hotrun_bpf__open();
	if (!l->bpf)
		return -errno;
	choose(l, tables);
	return hotrun_bpf__load(l->bpf);
}

/* What the one program can do without the other must not take it down. */
static int load_what_goes(struct looker *l, bool tables)
{
	int err;

	l->stands = release_is_from(5, 18);
	if (!l->stands)
		snprintf(l->stands_why, sizeof(l->stands_why), "the kernel is older than 5.18");
	err = load(l, tables && l->stands);
	if (!err || !l->stands)
		return err;
	snprintf(l->stands_why, sizeof(l->stands_why),
		 "the kernel refuses the program that reads where threads stand: %s (-v shows its "
		 "reasons)",
		 strerror(-err));
	hotrun_bpf__destroy(l->bpf);
	l->stands = false;
	return load(l, false);
}

static int attach(struct looker *l)
{
	l->bpf->links.read_counts = bpf_program__attach(l->bpf->progs.read_counts);
	if (!l->bpf->links.read_counts)
		return -errno;
	if (!l->stands)
		return 0;
	l->bpf->links.read_stands = bpf_program__attach(l->bpf->progs.read_stands);
	return l->bpf->links.read_stands ? 0 : -errno;
}

static void open_tables(struct looker *l, size_t bytes)
{
	const struct unwind_maps_in in = {
		.chunks = l->bpf->maps.unwind_chunks,
		.pages = l->bpf->maps.unwind_pages,
		.mappings = l->bpf->maps.unwind_mappings,
		.processes = l->bpf->maps.unwind_processes,
		.generation = &l->bpf->bss->unwind_generation,
		.bytes_max = bytes,
	};

	if (unwind_maps_open(&in, &l->unwind))
		l->unwind = NULL;
}

int looker_new(const struct looker_options *options, char *why, size_t why_bytes,
	       struct looker **ret_looker)
{
	struct looker *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return explain(-ENOMEM, "looking", why, why_bytes);
	bpf_start_prepare();
	err = load_what_goes(l, options->unwind_bytes > 0);
	if (err) {
		err = explain_load(err, why, why_bytes);
	} else {
		err = attach(l);
		if (!err && l->stands && options->unwind_bytes)
			open_tables(l, options->unwind_bytes);
		if (!err)
			err = own_mappings_withhold();
		if (err)
			explain(err, "attaching the iterators", why, why_bytes);
	}
	if (err) {
		looker_free(l);
		return err;
	}
	*ret_looker = l;
	return 0;
}

void looker_free(struct looker *l)
{
	if (!l)
		return;
	unwind_maps_free(l->unwind);
	hotrun_bpf__destroy(l->bpf);
	free(l);
}

struct taking {
	void (*take)(void *ctx, const struct event_counts *counts);
	void *ctx;
};

static void take_counts(void *ctx, const void *record)
{
	const struct taking *t = ctx;

	t->take(t->ctx, record);
}

int looker_read_counts(struct looker *l, void (*take)(void *ctx, const struct event_counts *counts),
		       void *ctx)
{
	struct taking t = {take, ctx};

	return iterate(bpf_link__fd(l->bpf->links.read_counts), sizeof(struct event_counts),
		       take_counts, &t);
}

int looker_open_stands(struct looker *l, const struct stands_ask *ask)
{
	return l->stands ? stands_open(l->bpf, ask) : -ENOTSUP;
}

const char *looker_stands_why(const struct looker *l)
{
	return l->stands ? NULL : l->stands_why;
}

struct unwind_maps *looker_unwind(const struct looker *l)
{
	return l->unwind;
}

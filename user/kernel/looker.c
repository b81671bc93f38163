/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/looker.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hotrun.skel.h"

#include "kernel/bpf_start.h"
#include "kernel/features.h"
#include "kernel/iterate.h"
#include "kernel/own_mappings.h"
#include "kernel/release.h"
#include "kernel/unwind_maps.h"

struct looker {
	struct hotrun_bpf *bpf;
	struct feature_set features;
	struct looker_options options;
	struct unwind_maps *unwind;
};

static struct unwind_maps_in tables_of(const struct looker *l)
{
	return (struct unwind_maps_in){
		.chunks = l->bpf->maps.unwind_chunks,
		.pages = l->bpf->maps.unwind_pages,
		.mappings = l->bpf->maps.unwind_mappings,
		.processes = l->bpf->maps.unwind_processes,
		.generation = &l->bpf->bss->unwind_generation,
		.bytes_max = l->options.unwind_bytes,
	};
}

/* The tables are for walks on this side: no program reads them. */
static int configure(void *ctx, struct hotrun_bpf *bpf)
{
	struct looker *l = ctx;
	struct unwind_maps_in in;

	l->bpf = bpf;
	in = tables_of(l);
	if (!l->options.unwind_bytes)
		unwind_maps_omit(&in);
	return 0;
}

static int load(struct looker *l, char *why, size_t why_bytes)
{
	int err;

	feature_ask(&l->features,
		    FEATURE_BIT(FEATURE_SNAPSHOT) | FEATURE_BIT(FEATURE_THREAD_STACKS));
	if (!release_is_from(5, 18))
		feature_switch_off(&l->features, FEATURE_THREAD_STACKS, FEATURE_OFF,
				   "the kernel is older than 5.18");
	err = features_load(&l->features, configure, l, why, why_bytes, &l->bpf);
	if (err)
		l->bpf = NULL;
	return err;
}

static int attach(struct looker *l, char *why, size_t why_bytes)
{
	features_attach(&l->features, FEATURE_SNAPSHOT, l->bpf->progs.read_counts,
			&l->bpf->links.read_counts);
	stands_attach(&l->features, l->bpf);
	if (feature_is_on(&l->features, FEATURE_SNAPSHOT))
		return 0;
	snprintf(why, why_bytes, "%s", l->features.why[FEATURE_SNAPSHOT]);
	return -EPERM;
}

int looker_new(const struct looker_options *options, char *why, size_t why_bytes,
	       struct looker **ret_looker)
{
	struct looker *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return explain(-ENOMEM, "looking", why, why_bytes);
	l->options = *options;
	bpf_start_prepare();
	err = load(l, why, why_bytes);
	if (!err)
		err = attach(l, why, why_bytes);
	if (!err) {
		struct unwind_maps_in in = tables_of(l);

		if (!feature_is_on(&l->features, FEATURE_THREAD_STACKS) || !in.bytes_max ||
		    unwind_maps_open(&in, &l->unwind))
			l->unwind = NULL;
		err = own_mappings_withhold();
		if (err)
			explain(err, "keeping BPF maps from children", why, why_bytes);
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
	if (!feature_is_on(&l->features, FEATURE_THREAD_STACKS))
		return -ENOTSUP;
	return stands_open(l->bpf, ask);
}

const struct feature_set *looker_features(const struct looker *l)
{
	return &l->features;
}

struct unwind_maps *looker_unwind(const struct looker *l)
{
	return l->unwind;
}

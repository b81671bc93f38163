/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/walk.h"

#include <bpf/bpf.h>

#include "bpf/events.h"

#include "hotrun.skel.h"

#include "kernel/release.h"

/* A pass ends: threads are born faster than they are looked at on no host. */
#define PARTS_MAX 4096

bool walk_is_possible(void)
{
	return release_is_from(6, 12);
}

int walk_threads(struct hotrun_bpf *bpf, void (*take)(void *ctx, const void *record), void *ctx)
{
	int program = bpf_program__fd(bpf->progs.walk_accounts);

	bpf->bss->walk_process_ns = 0;
	bpf->bss->walk_tgid = bpf->bss->walk_tid = 0;
	for (int part = 1; part <= PARTS_MAX; part++) {
		LIBBPF_OPTS(bpf_test_run_opts, run);
		int err = bpf_prog_test_run_opts(program, &run);
		uint32_t cnt = bpf->bss->walk_records_cnt;

		if (err)
			return err;
		for (uint32_t i = 0; i < cnt && i < WALK_RECORDS; i++)
			take(ctx, &bpf->bss->walk_records[i]);
		if (!bpf->bss->walk_tid)
			return part;
	}
	return PARTS_MAX;
}

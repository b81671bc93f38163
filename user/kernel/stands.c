/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Also the part of a session. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/features.h"
#include "kernel/session_private.h"
#include "kernel/stands.h"

_Static_assert(sizeof(struct event_stand) + STAND_STACK_BYTES <= UINT16_MAX, "event_header.size");

static bool reads_stands(const struct session *s)
{
	return feature_is_on(&s->features, FEATURE_THREAD_STACKS);
}

/* The program tries what it found on a page that is present and one that is not. */
static int find_page_tables(struct hotrun_bpf *bpf)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct page_trial trial;
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &trial, .ctx_size_in = sizeof(trial));
	int err;

	if (pages == MAP_FAILED)
		return -errno;
	/* One larger than a page may be there for both. */
	memset(pages, 1, 2 * page_bytes);
	err = madvise(pages + page_bytes, page_bytes, MADV_DONTNEED) ? -errno : 0;
	trial = (struct page_trial){(uint64_t)pages, (uint64_t)(pages + page_bytes)};
	if (!err)
		err = bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.find_pages), &run)
			      ? -errno
			      : (int)run.retval;
	munmap(pages, 2 * page_bytes);
	return err;
}

void stands_attach(struct feature_set *features, struct hotrun_bpf *bpf)
{
	int err;

	if (!feature_is_on(features, FEATURE_THREAD_STACKS))
		return;
	err = find_page_tables(bpf);
	if (err == -EPERM)
		feature_switch_off(features, FEATURE_THREAD_STACKS, FEATURE_OFF,
				   "kernel.kptr_restrict hides where page tables are");
	else if (err)
		feature_switch_off(features, FEATURE_THREAD_STACKS, FEATURE_OFF,
				   "page tables cannot be read (%s)", strerror(-err));
	else
		features_attach(features, FEATURE_THREAD_STACKS, bpf->progs.read_stands,
				&bpf->links.read_stands);
}

/* Those processes alone; none: all. 0 or negative errno. */
static int select_processes(struct hotrun_bpf *bpf, const uint32_t *tgids, size_t cnt)
{
	struct bpf_map *map = bpf->maps.stand_tgids;
	uint32_t key;
	uint8_t one = 1;
	int err = 0;

	while (!bpf_map__get_next_key(map, NULL, &key, sizeof(key)))
		if (bpf_map__delete_elem(map, &key, sizeof(key), 0))
			break;
	for (size_t i = 0; i < cnt && !err; i++)
		err = bpf_map__update_elem(map, &tgids[i], sizeof(tgids[i]), &one, sizeof(one),
					   BPF_ANY);
	return err;
}

/* Looks are at the same processes again and again. */
static int select_again(struct session *s, const uint32_t *tgids, size_t cnt)
{
	int err;

	if (cnt > FILTER_TGIDS_MAX)
		return -E2BIG;
	s->bpf->bss->stand_selects = cnt > 0;
	if (!cnt ||
	    (cnt == s->stand_tgid_cnt && !memcmp(s->stand_tgids, tgids, cnt * sizeof(*tgids))))
		return 0;
	s->stand_tgid_cnt = 0;
	err = select_processes(s->bpf, tgids, cnt);
	if (err)
		return err;
	memcpy(s->stand_tgids, tgids, cnt * sizeof(*tgids));
	s->stand_tgid_cnt = cnt;
	return 0;
}

int session_set_look_share(struct session *s, uint32_t tgid, const struct look_share *share)
{
	struct bpf_map *map = s->bpf->maps.look_shares;

	if (!share)
		return bpf_map__delete_elem(map, &tgid, sizeof(tgid), 0);
	return bpf_map__update_elem(map, &tgid, sizeof(tgid), share, sizeof(*share), BPF_ANY);
}

void session_set_stand_reader(struct session *s, unsigned int place, uint32_t stuck)
{
	s->bpf->bss->stand_place = place;
	s->bpf->bss->stand_stuck = stuck;
}

void session_clear_look_shares(struct session *s)
{
	struct bpf_map *map = s->bpf->maps.look_shares;
	uint32_t key;

	if (!reads_stands(s))
		return;
	while (!bpf_map__get_next_key(map, NULL, &key, sizeof(key)))
		if (bpf_map__delete_elem(map, &key, sizeof(key), 0))
			break;
}

int session_open_stands(struct session *s, const struct stand_look *look, const uint32_t *tgids,
			size_t tgid_cnt)
{
	int err, fd;

	if (!reads_stands(s))
		return -ENOTSUP;
	err = select_again(s, tgids, tgid_cnt);
	if (err)
		return err;
	s->bpf->bss->stand_look = look ? *look : (struct stand_look){0};
	fd = bpf_iter_create(bpf_link__fd(s->bpf->links.read_stands));
	return fd < 0 ? -errno : fd;
}

ssize_t session_take_stands(const char *bytes, size_t len, stands_take_fn take, void *ctx)
{
	size_t done = 0;

	while (len - done >= sizeof(struct event_stand)) {
		const struct event_stand *stand = (const void *)(bytes + done);

		if (stand->header.kind != EVENT_STAND || stand->stack_bytes > STAND_STACK_BYTES ||
		    stand->kernel_cnt > STAND_KERNEL_FRAMES ||
		    stand->header.size != sizeof(*stand) + stand->stack_bytes)
			return -EPROTO;
		if (len - done < stand->header.size)
			break;
		take(ctx, stand, (const uint8_t *)(stand + 1));
		done += stand->header.size;
	}
	return (ssize_t)done;
}

int stands_open(struct hotrun_bpf *bpf, const struct stands_ask *ask)
{
	int err = select_processes(bpf, ask->tgids, ask->tgid_cnt), fd;

	if (err)
		return err;
	bpf->bss->stand_selects = ask->tgid_cnt > 0;
	bpf->bss->stand_tid = ask->tid;
	bpf->bss->stand_place = ask->place;
	bpf->bss->stand_stuck = ask->stuck;
	bpf->bss->stand_awake_ns = ask->awake_ns;
	fd = bpf_iter_create(bpf_link__fd(bpf->links.read_stands));
	return fd < 0 ? -errno : fd;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/rows.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "kernel/host.h"

#define PAUSE_NS 2000000000ull
/* Looks for which a row of who may want it again stays unchanged: ten seconds. To take one costs
 * some microseconds. */
#define IDLE_LOOKS 5

struct cookies {
	uint64_t *values;
	size_t cnt;
};

/* Cookies of the sockets that listen, sorted; NULL where more were there than were read. 0 or
 * -ENOMEM. */
static int gather(const struct session *s, uint32_t cnt, bool all, struct cookies *ret_listening)
{
	uint64_t *values;
	size_t found = 0;

	*ret_listening = (struct cookies){0};
	if (!all)
		return 0;
	values = malloc((cnt + 1) * sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		if (s->socket_rows[i].flags & SOCKET_LISTENS)
			values[found++] = s->socket_rows[i].listener;
	qsort(values, found, sizeof(*values), compare_u64);
	*ret_listening = (struct cookies){values, found};
	return 0;
}

static bool is_done(const struct endpoint *row, const struct cookies *listening)
{
	if (kill((pid_t)row->tgid, 0) && errno == ESRCH)
		return true;
	return listening->values && !bsearch(&row->listener, listening->values, listening->cnt,
					     sizeof(*listening->values), compare_u64);
}

/* What each use of a row changes; 0 only of one that was never used. */
static uint64_t uses_of(const struct endpoint *row)
{
	return row->listener + row->begun + row->answered + row->abandoned + row->pushed +
	       row->connections + row->sent_bytes + row->received_bytes;
}

/* One process less serves that listener. The programs may count one more meanwhile, which is lost:
 * then it has one row more than its share. */
static void forget_worker(struct session *s, uint64_t listener)
{
	int map = bpf_map__fd(s->bpf->maps.rows);
	struct endpoint_key key = {.listener = listener};
	uint32_t cnt;

	if (bpf_map_lookup_elem(map, &key, &cnt))
		return;
	if (--cnt)
		bpf_map_update_elem(map, &key, &cnt, BPF_EXIST);
	else
		bpf_map_delete_elem(map, &key);
}

/* First nobody finds it, then it is empty, then it is somebody else's. */
static void give_back(struct session *s, uint32_t index)
{
	const struct endpoint *row = &s->endpoints[index];
	const struct endpoint empty = {.turn = row->turn + 1};
	struct endpoint_key key = {.listener = row->listener, .tgid = row->tgid};

	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.rows), &key);
	forget_worker(s, key.listener);
	if (!bpf_map_update_elem(bpf_map__fd(s->bpf->maps.endpoints), &index, &empty, BPF_EXIST))
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.free_rows), NULL, &index, BPF_ANY);
}

/* Whether nobody wants it any more, or not for long. */
static bool is_free(struct session *s, uint32_t index, const struct cookies *listening)
{
	const struct endpoint *row = &s->endpoints[index];
	uint64_t uses = row->listener ? uses_of(row) : 0;
	bool same = uses && uses == s->row_uses[index];

	s->row_uses[index] = uses;
	s->row_idle[index] = same ? s->row_idle[index] + 1 : 0;
	return same && (s->row_idle[index] >= IDLE_LOOKS || is_done(row, listening));
}

/* --- shares ---------------------------------------------------------------------------------- */

struct share {
	struct share_key key;
	uint32_t said, is;
};

static int compare_shares(const void *a, const void *b)
{
	const struct share_key *x = a, *y = b; /* first of struct share */
	int c = COMPARE(x->id, y->id);

	if (!c)
		c = COMPARE(x->tgid, y->tgid);
	return c ? c : COMPARE(x->kind, y->kind);
}

/* All that the programs have counted, sorted. Returns how many; 0 without memory, too. */
static uint32_t read_shares(struct session *s, struct share **ret_shares)
{
	_cleanup_free_ struct share_key *keys = malloc(SHARES_MAX * sizeof(*keys));
	_cleanup_free_ uint32_t *counts = malloc(SHARES_MAX * sizeof(*counts));
	uint32_t cnt = SHARES_MAX, batch;
	struct share *shares;
	int err;

	if (!keys || !counts)
		return 0;
	err = bpf_map_lookup_batch(bpf_map__fd(s->bpf->maps.shares), NULL, &batch, keys, counts,
				   &cnt, NULL);
	if ((err && err != -ENOENT) || !cnt)
		return 0;
	shares = malloc(cnt * sizeof(*shares));
	if (!shares)
		return 0;
	for (uint32_t i = 0; i < cnt; i++)
		shares[i] = (struct share){keys[i], counts[i], 0};
	qsort(shares, cnt, sizeof(*shares), compare_shares);
	*ret_shares = shares;
	return cnt;
}

static void count_row(struct share *shares, uint32_t cnt, struct share_key key)
{
	struct share *share = bsearch(&key, shares, cnt, sizeof(*shares), compare_shares);

	if (share)
		share->is++;
}

/* The programs may count meanwhile, which is lost until the next time. */
static void put_right(struct session *s, const struct share *share)
{
	int map = bpf_map__fd(s->bpf->maps.shares);

	if (!share->is)
		bpf_map_delete_elem(map, &share->key);
	else if (share->is != share->said)
		bpf_map_update_elem(map, &share->key, &share->is, BPF_EXIST);
}

/* Who holds rows, by the rows themselves. */
static void settle_shares(struct session *s, uint32_t rows_cnt)
{
	_cleanup_free_ struct share *shares = NULL;
	uint32_t cnt = read_shares(s, &shares), held = 0;

	for (uint32_t i = 0; i < rows_cnt; i++) {
		const struct endpoint *row = &s->endpoints[i];

		if (!row->listener)
			continue;
		held++;
		count_row(shares, cnt, (struct share_key){row->cgroup_id, 0, SHARE_CGROUP});
		count_row(shares, cnt,
			  (struct share_key){row->process_start_ns, row->tgid, SHARE_PROCESS});
	}
	for (uint32_t i = 0; i < cnt; i++)
		put_right(s, &shares[i]);
	s->bpf->bss->rows_held = held;
}

/* --------------------------------------------------------------------------------------------- */

uint32_t session_endpoints(const struct session *s, const struct endpoint **ret_rows)
{
	uint32_t cnt;

	if (!feature_is_on(&s->features, FEATURE_REQUESTS))
		return 0;
	*ret_rows = s->endpoints;
	cnt = __atomic_load_n(&s->bpf->bss->rows_taken, __ATOMIC_ACQUIRE);
	return cnt < ENDPOINTS_MAX ? cnt : ENDPOINTS_MAX;
}

void rows_give_back(struct session *s, uint32_t cnt, bool all)
{
	_cleanup_free_ uint64_t *values = NULL;
	struct cookies listening;
	const struct endpoint *rows;
	uint32_t rows_cnt = session_endpoints(s, &rows);

	if (clock_now_ns() < s->rows_ns || gather(s, cnt, all, &listening))
		return;
	values = listening.values;
	s->rows_ns = clock_now_ns() + PAUSE_NS;
	for (uint32_t i = 0; i < rows_cnt; i++)
		if (is_free(s, i, &listening)) {
			give_back(s, i);
			s->row_uses[i] = 0;
		}
	settle_shares(s, rows_cnt);
}

int rows_read_refused(struct session *s, const struct session_ops *ops)
{
	struct refused_key keys[REFUSED_MAX];
	uint64_t counts[REFUSED_MAX];
	uint32_t cnt = REFUSED_MAX, batch;
	int err = bpf_map_lookup_and_delete_batch(bpf_map__fd(s->bpf->maps.refused), NULL, &batch,
						  keys, counts, &cnt, NULL);

	if (err && err != -ENOENT)
		return err;
	for (uint32_t i = 0; i < cnt; i++)
		ops->refused(ops->ctx, keys[i].tgid, keys[i].start_ns, counts[i]);
	return 0;
}

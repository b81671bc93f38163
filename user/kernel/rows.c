/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/rows.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/host.h"

#define PAUSE_NS 2000000000ull

/* As in bpf/request.bpf.h. */
struct row_key {
	uint64_t listener;
	uint32_t tgid;
	uint32_t pad;
};

struct cookies {
	uint64_t *values;
	size_t cnt;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Cookies of the sockets that listen, sorted. 0 or -ENOMEM. */
static int gather(const struct session *s, uint32_t cnt, struct cookies *ret_listening)
{
	uint64_t *values = malloc((cnt + 1) * sizeof(*values));
	size_t found = 0;

	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		if (s->readings[i].flags & SOCKET_LISTENS)
			values[found++] = s->readings[i].listener;
	qsort(values, found, sizeof(*values), compare);
	*ret_listening = (struct cookies){values, found};
	return 0;
}

static bool is_done(const struct endpoint *row, const struct cookies *listening)
{
	if (kill((pid_t)row->tgid, 0) && errno == ESRCH)
		return true;
	return !bsearch(&row->listener, listening->values, listening->cnt,
			sizeof(*listening->values), compare);
}

/* What each use of a row changes; 0 only of one that was never used. */
static uint64_t uses_of(const struct endpoint *row)
{
	return row->listener + row->begun + row->answered + row->abandoned + row->pushed +
	       row->connections + row->sent_bytes + row->received_bytes;
}

/* One process less serves that listener. The programs may count one more meanwhile, which is lost: then it has
 * one row more than its share. */
static void forget_worker(struct session *s, uint64_t listener)
{
	int map = bpf_map__fd(s->bpf->maps.rows);
	struct row_key key = {.listener = listener};
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
	static const struct endpoint empty;
	const struct endpoint *row = &s->endpoints[index];
	struct row_key key = {.listener = row->listener, .tgid = row->tgid};

	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.rows), &key);
	forget_worker(s, key.listener);
	if (!bpf_map_update_elem(bpf_map__fd(s->bpf->maps.endpoints), &index, &empty, BPF_EXIST))
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.free_rows), NULL, &index, BPF_ANY);
}

void rows_give_back(struct session *s, uint32_t cnt)
{
	_cleanup_free_ uint64_t *values = NULL;
	struct cookies listening;
	const struct endpoint *rows;
	uint32_t rows_cnt = session_endpoints(s, &rows);

	if (host_now_ns() < s->rows_ns || gather(s, cnt, &listening))
		return;
	values = listening.values;
	s->rows_ns = host_now_ns() + PAUSE_NS;
	for (uint32_t i = 0; i < rows_cnt; i++) {
		uint64_t uses = rows[i].listener ? uses_of(&rows[i]) : 0;

		if (uses && uses == s->row_uses[i] && is_done(&rows[i], &listening)) {
			give_back(s, i);
			uses = 0;
		}
		s->row_uses[i] = uses;
	}
}

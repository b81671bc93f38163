/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/wakers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "model/method.h"
#include "model/resolve.h"

/* A waker of a group, one wakeup at first. */
struct item {
	uint32_t group;
	struct waker waker;
};

/* Where a wait stood that a row of stands tells of. */
struct wait {
	uint64_t kernel, user;
	uint32_t thread, group;
};

struct wakers {
	const struct standing *standing; /* borrowed */
	struct waker *wakers;		 /* by group, most time first */
	size_t *first;			 /* by group, and the end */
};

static const char *const ids[WAKER_KINDS] = {
	[WAKER_THREAD] = "thread", [WAKER_TIMER] = "timer",	    [WAKER_NETWORK] = "network",
	[WAKER_DISK] = "disk",	   [WAKER_INTERRUPT] = "interrupt", [WAKER_UNKNOWN] = "unknown",
};

const char *waker_kind_id(enum waker_kind kind)
{
	return ids[kind];
}

/* --- one wakeup ------------------------------------------------------------------------------ */

/* The kernel stack of a wakeup, by its functions. */
struct way {
	bool named;	/* some of them: the names are not hidden */
	bool interrupt; /* it came in there, or in a thread that does softirqs for others */
	bool softirq;
	enum waker_kind what; /* WAKER_UNKNOWN: its functions do not tell */
};

static bool begins(const char *name, const char *const *starts, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

#define BEGINS(name, starts) begins(name, starts, sizeof(starts) / sizeof(starts[0]))

/* Of x86-64 (arch/x86/entry) and arm64 (arch/arm64/kernel/entry-common.c). */
static bool is_interrupt(const char *name)
{
	static const char *const starts[] = {
		"asm_sysvec_",	 "sysvec_",	    "asm_common_interrupt", "common_interrupt",
		"el1h_64_irq",	 "el0t_64_irq",	    "el0t_32_irq",	    "el1_interrupt",
		"el0_interrupt", "handle_arch_irq", "run_ksoftirqd",
	};

	return BEGINS(name, starts);
}

static bool is_softirq(const char *name)
{
	static const char *const starts[] = {"handle_softirqs", "__do_softirq", "net_rx_action"};

	return BEGINS(name, starts);
}

/* The nearest to the leaf decides. */
static enum waker_kind what_of(const char *name)
{
	static const struct {
		const char *start;
		enum waker_kind kind;
	} rows[] = {
		{"hrtimer_", WAKER_TIMER},
		{"__hrtimer_", WAKER_TIMER},
		{"process_timeout", WAKER_TIMER},
		{"call_timer_fn", WAKER_TIMER},
		{"__run_timer", WAKER_TIMER},
		{"run_timer_", WAKER_TIMER},
		{"it_real_fn", WAKER_TIMER},
		{"posix_timer_fn", WAKER_TIMER},
		{"timerfd_", WAKER_TIMER},
		{"tcp_", WAKER_NETWORK},
		{"udp_", WAKER_NETWORK},
		{"ip_", WAKER_NETWORK},
		{"ipv6_", WAKER_NETWORK},
		{"napi_", WAKER_NETWORK},
		{"__napi_", WAKER_NETWORK},
		{"net_rx_action", WAKER_NETWORK},
		{"__netif_", WAKER_NETWORK},
		{"sock_", WAKER_NETWORK},
		{"blk_", WAKER_DISK},
		{"__blk_", WAKER_DISK},
		{"bio_end", WAKER_DISK},
		{"end_bio", WAKER_DISK},
		{"nvme_", WAKER_DISK},
		{"scsi_", WAKER_DISK},
		{"virtblk_", WAKER_DISK},
		{"ata_", WAKER_DISK},
		{"folio_end_", WAKER_DISK},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strncmp(name, rows[i].start, strlen(rows[i].start)))
			return rows[i].kind;
	return WAKER_UNKNOWN;
}

/* methods: root first. */
static struct way way_of(const struct model *m, const uint32_t *methods, size_t cnt)
{
	struct way way = {.what = WAKER_UNKNOWN};

	for (size_t i = cnt; i-- > 0 && m->symbols[methods[i]].kind == KIND_KERNEL;) {
		const struct model_symbol *s = &m->symbols[methods[i]];

		if (s->reason != REASON_NAMED)
			continue;
		way.named = true;
		if (way.what == WAKER_UNKNOWN)
			way.what = what_of(s->name);
		way.interrupt |= is_interrupt(s->name);
		way.softirq |= is_softirq(s->name);
	}
	return way;
}

/* The method that a line names. */
static uint32_t method_at(const struct model *m, uint32_t *methods, size_t cnt)
{
	const struct standing whole = {.methods = methods, .methods_cnt = cnt};
	const struct standing_group all = {.methods_cnt = cnt};
	uint32_t chain[STANDING_CHAIN];

	return standing_chain(m, &whole, &all, chain) ? chain[0] : MODEL_NONE;
}

static struct waker waker_of(struct model *m, struct method_map *map, const struct model_waker *row,
			     struct resolve_frame *frames, uint32_t *methods)
{
	struct waker waker = {.kind = WAKER_THREAD,
			      .process = MODEL_NONE,
			      .method = MODEL_NONE,
			      .wakeups = 1,
			      .blocked_ns = row->blocked_ns};
	size_t cnt = row->at.kernel_stack || row->at.user_stack
			     ? resolve_sample(m, &row->at, frames)
			     : 0;
	struct way way;

	for (size_t i = 0; i < cnt; i++)
		methods[i] = method_of(map, m, frames[i].symbol);
	way = way_of(m, methods, cnt);
	if (row->idle || (way.named && way.interrupt))
		waker.kind = way.what == WAKER_UNKNOWN ? WAKER_INTERRUPT : way.what;
	else if (!way.named)
		waker.kind = WAKER_UNKNOWN;
	else
		waker.process = m->threads[row->at.thread].process;
	if (waker.kind == WAKER_THREAD)
		waker.method = method_at(m, methods, cnt);
	return waker;
}

/* --- all of them ----------------------------------------------------------------------------- */

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;
	int c = COMPARE(x->thread, y->thread);

	if (!c)
		c = COMPARE(x->user, y->user);
	return c ? c : COMPARE(x->kernel, y->kernel);
}

/* Where each row of a group stood. NULL without memory. */
static struct wait *waits_new(const struct model *m, const struct standing *s, size_t *ret_cnt)
{
	struct wait *waits = calloc(m->stands_cnt + 1, sizeof(*waits));
	size_t cnt = 0;

	for (uint32_t group = 0; waits && group < s->groups_cnt; group++)
		for (uint32_t i = s->groups[group].stand; i != MODEL_NONE; i = s->next[i])
			waits[cnt++] = (struct wait){m->stands[i].at.kernel_stack,
						     m->stands[i].at.user_stack,
						     m->stands[i].at.thread, group};
	if (waits)
		qsort(waits, cnt, sizeof(*waits), compare_waits);
	*ret_cnt = cnt;
	return waits;
}

static int compare_who(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c = COMPARE(x->group, y->group);

	if (!c)
		c = COMPARE(x->waker.kind, y->waker.kind);
	if (!c)
		c = COMPARE(x->waker.process, y->waker.process);
	return c ? c : COMPARE(x->waker.method, y->waker.method);
}

static int compare_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c = COMPARE(x->group, y->group);

	if (!c)
		c = COMPARE(y->waker.blocked_ns, x->waker.blocked_ns);
	return c ? c : compare_who(a, b);
}

/* The same who is one. Returns how many there are. */
static size_t merge(struct item *items, size_t cnt)
{
	size_t to = 0;

	qsort(items, cnt, sizeof(*items), compare_who);
	for (size_t i = 0; i < cnt; i++) {
		if (to && !compare_who(&items[to - 1], &items[i])) {
			items[to - 1].waker.wakeups++;
			items[to - 1].waker.blocked_ns += items[i].waker.blocked_ns;
			continue;
		}
		items[to++] = items[i];
	}
	qsort(items, to, sizeof(*items), compare_time);
	return to;
}

static void keep(struct wakers *w, const struct item *items, size_t cnt)
{
	size_t at = 0;

	for (uint32_t group = 0; group <= w->standing->groups_cnt; group++) {
		w->first[group] = at;
		for (; at < cnt && items[at].group == group; at++)
			w->wakers[at] = items[at].waker;
	}
}

static int gather(struct wakers *w, struct model *m)
{
	_cleanup_free_ struct resolve_frame *frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*frames));
	_cleanup_free_ uint32_t *methods = calloc(RESOLVE_MAX_FRAMES, sizeof(*methods));
	_cleanup_free_ struct item *items = calloc(m->wakers_cnt + 1, sizeof(*items));
	_cleanup_free_ struct wait *waits = NULL;
	struct method_map map = {0};
	size_t cnt = 0, items_cnt = 0;

	waits = waits_new(m, w->standing, &cnt);
	w->wakers = calloc(m->wakers_cnt + 1, sizeof(*w->wakers));
	w->first = calloc(w->standing->groups_cnt + 1, sizeof(*w->first));
	if (!frames || !methods || !items || !waits || !w->wakers || !w->first)
		return -ENOMEM;
	for (size_t i = 0; i < m->wakers_cnt; i++) {
		const struct model_waker *row = &m->wakers[i];
		const struct wait key = {row->wait_kernel, row->wait_user, row->woken, 0};
		const struct wait *wait = bsearch(&key, waits, cnt, sizeof(key), compare_waits);

		if (wait)
			items[items_cnt++] =
				(struct item){wait->group, waker_of(m, &map, row, frames, methods)};
	}
	method_map_clear(&map);
	keep(w, items, merge(items, items_cnt));
	return 0;
}

struct wakers *wakers_new(struct model *m, const struct blocked *b)
{
	struct wakers *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->standing = b->standing;
	if (gather(w, m)) {
		wakers_free(w);
		errno = ENOMEM;
		return NULL;
	}
	return w;
}

void wakers_free(struct wakers *w)
{
	if (!w)
		return;
	free(w->wakers);
	free(w->first);
	free(w);
}

size_t wakers_of(const struct wakers *w, const struct standing_group *group,
		 const struct waker **ret_wakers, uint64_t *ret_ns)
{
	size_t at = (size_t)(group - w->standing->groups), cnt = w->first[at + 1] - w->first[at];

	*ret_wakers = &w->wakers[w->first[at]];
	*ret_ns = 0;
	for (size_t i = 0; i < cnt; i++)
		*ret_ns += (*ret_wakers)[i].blocked_ns;
	return cnt;
}

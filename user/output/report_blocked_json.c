/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocked time for machines: of each process, idle waits among them, with whole stacks. */
#include <math.h>

#include "judge/blocked.h"
#include "output/json.h"
#include "output/report_internal.h"
#include "output/threads.h"

/* Of one process; more are counted. */
#define GROUPS_MAX 1000
#define WAKERS_MAX 100 /* of a group */

static void put_share(struct json *j, const char *key, const char *error_key,
		      const struct blocked_share *share)
{
	json_real(j, key, share->share);
	json_real(j, error_key, share->error);
}

static void put_sum(struct json *j, const struct blocked *b, const struct blocked_sum *sum)
{
	json_count(j, "blocked_ns", sum->blocked_ns);
	json_real(j, "blocked_threads", blocked_mean(b, sum->blocked_ns));
	json_count(j, "threads", sum->threads);
	if (sum->longest_ns)
		json_count(j, "longest_ns", sum->longest_ns);
	else
		json_null(j, "longest_ns");
	put_share(j, "share", "share_error", &sum->of_all);
	put_share(j, "share_of_waits", "share_of_waits_error", &sum->of_waits);
}

static void put_kind(struct json *j, const struct blocked *b, const struct blocked_kind *kind)
{
	json_object(j, NULL);
	json_text(j, "wait", stand_wait_id(kind->wait));
	json_flag(j, "idle", kind->idle);
	put_sum(j, b, &kind->sum);
	json_array(j, "ages");
	for (unsigned int i = 0; i < BLOCKED_AGES; i++) {
		uint64_t below_ns = blocked_age_below_ns(i);

		json_object(j, NULL);
		if (below_ns)
			json_count(j, "below_ns", below_ns);
		else
			json_null(j, "below_ns");
		json_flag(j, "known", i != BLOCKED_AGE_UNKNOWN);
		json_count(j, "blocked_ns", kind->ages_ns[i]);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* Who ended its waits: null where nobody asked, empty where none is known. */
static void put_wakers(struct json *j, const struct report *r, const struct standing_group *g)
{
	const struct waker *wakers;
	uint64_t all_ns;
	size_t cnt;

	if (!r->wakers) {
		json_null(j, "wakers");
		return;
	}
	cnt = wakers_of(r->wakers, g, &wakers, &all_ns);
	json_array(j, "wakers");
	for (size_t i = 0; i < cnt && i < WAKERS_MAX; i++) {
		const struct waker *w = &wakers[i];
		const struct model_process *p =
			w->process == MODEL_NONE ? NULL : &r->m->processes[w->process];

		json_object(j, NULL);
		json_text(j, "kind", waker_kind_id(w->kind));
		if (p)
			json_count(j, "pid", p->tgid);
		else
			json_null(j, "pid");
		json_text(j, "process", !p ? NULL : p->name[0] ? p->name : p->comm);
		json_text(j, "method",
			  w->method == MODEL_NONE ? NULL : r->m->symbols[w->method].name);
		json_count(j, "wakeups", w->wakeups);
		json_count(j, "blocked_ns", w->blocked_ns);
		json_real(j, "share", (double)w->blocked_ns / (double)all_ns);
		json_end(j);
	}
	json_end(j);
}

static void put_group(struct json *j, const struct report *r, const struct blocked_group *g)
{
	uint32_t holder = hangs_holder(r->hangs, g->group);

	json_object(j, NULL);
	json_text(j, "role", g->group->label);
	json_text(j, "wait", stand_wait_id(g->group->wait));
	json_flag(j, "idle", g->group->idle);
	json_flag(j, "moved", g->group->moved);
	json_flag(j, "stack_cut", g->group->cut);
	put_sum(j, r->blocked, &g->sum);
	if (holder)
		json_count(j, "holder_tid", holder);
	else
		json_null(j, "holder_tid");
	put_wakers(j, r, g->group);
	threads_json_frames(j, r->m, r->blocked->standing, g->group);
	json_end(j);
}

static void put_process_row(struct json *j, const struct report *r, const struct blocked_process *p)
{
	const struct model_process *process = &r->m->processes[p->process];
	size_t shown = p->groups_cnt < GROUPS_MAX ? p->groups_cnt : GROUPS_MAX;

	json_object(j, NULL);
	json_count(j, "pid", process->tgid);
	json_text(j, "name", process->name[0] ? process->name : process->comm);
	json_count(j, "slices", p->slices);
	json_count(j, "threads", p->all.threads);
	json_count(j, "blocked_ns", p->all.blocked_ns);
	json_count(j, "waits_ns", p->waits.blocked_ns);
	json_count(j, "idle_ns", p->idle.blocked_ns);
	json_array(j, "kinds");
	for (size_t i = 0; i < p->kinds_cnt; i++)
		put_kind(j, r->blocked, &p->kinds[i]);
	json_end(j);
	json_array(j, "groups");
	for (size_t i = 0; i < shown; i++)
		put_group(j, r, &p->groups[i]);
	json_end(j);
	json_count(j, "groups_cut", p->groups_cnt - shown);
	json_end(j);
}

int report_blocked_json(const struct report *r)
{
	const struct blocked *b = r->blocked;
	bool off = model_off(r->m) & OFF_STANDS;
	struct json j;

	json_begin(&j, r->out, "blocked");
	json_text(&j, "host", r->m->host.name);
	json_text(&j, "missing", off ? model_off_text(r->m, OFF_STANDS) : NULL);
	json_count(&j, "slices", b && !off ? b->slices : 0);
	json_count(&j, "elapsed_ns", b && !off ? b->elapsed_ns : 0);
	json_array(&j, "processes");
	for (size_t i = 0; b && !off && i < b->processes_cnt; i++)
		if (report_blocked_is_asked(r, &b->processes[i]))
			put_process_row(&j, r, &b->processes[i]);
	json_end(&j);
	return json_finish(&j);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the file become rows of the model. Row numbers of the file are row numbers of the model,
 * so numbers must be dense and references must stay below the counts: checked here, row by row, and
 * nowhere else.
 */
#include "store/take.h"

#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "bpf/events.h"

/* NR_CPUS is at most 8192 (x86-64); bounds arrays by CPU of those who use the model. */
#define CPUS_MAX 65536u

static int take_host(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_host *host = &row->host;

	(void)id;
	if (host->end_ns < host->start_ns || host->cpus_possible > CPUS_MAX ||
	    host->cpus_online > CPUS_MAX)
		return -EBADMSG;
	r->m->host = *host;
	/* Bits of a newer version are about figures that this one does not know. */
	r->m->host.off &= (1u << OFF_CNT) - 1;
	r->m->host.off |= r->file.off & ((1u << OFF_CNT) - 1);
	r->m->host.running = r->file.recorder && !host->complete;
	return 0;
}

static int take_slice(struct reader *r, uint64_t id, union store_row *row)
{
	(void)id;
	if (row->slice.end_ns < row->slice.start_ns)
		return -EBADMSG;
	return model_slice_add(r->m, &row->slice);
}

/* What a find-or-add function's answer means where the row must be the next one. */
static int expect_row(uint32_t row, uint64_t id)
{
	if (row == MODEL_NONE)
		return -ENOMEM;
	return row == id ? 0 : -EBADMSG;
}

static bool row_or_none(uint32_t row, size_t cnt)
{
	return row == MODEL_NONE || row < cnt;
}

static int take_cgroup(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_cgroup *group = &row->cgroup;
	int err = expect_row(model_cgroup_get(r->m, group->id), id);

	/* Parents may be later rows: model_cgroups_sound() checks them together. */
	if (!err)
		r->m->cgroups[id] = *group;
	return err;
}

static int take_process(struct reader *r, uint64_t id, union store_row *row)
{
	struct model_process *p;

	/* Not model_process_get(): two rows may share an identity that was learnt late. */
	if (model_process_born(r->m, row->process.tgid, row->process.born_ns) != id)
		return -ENOMEM;
	p = &r->m->processes[id];
	*p = row->process;
	if (p->perf_map >= REASON_CNT)
		p->perf_map = REASON_NO_PERF_MAP;
	return 0;
}

static int take_thread(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_thread *t = &row->thread;
	int err;

	if (t->process >= r->m->processes_cnt)
		return -EBADMSG;
	err = expect_row(model_thread_get(r->m, t->process, t->tid, t->start_ns), id);
	if (!err)
		r->m->threads[id] = *t;
	return err;
}

static int take_endpoint(struct reader *r, uint64_t id, union store_row *row)
{
	if (row->endpoint.process >= r->m->processes_cnt)
		return -EBADMSG;
	return expect_row(model_endpoint_get(r->m, &row->endpoint), id);
}

static int take_module(struct reader *r, uint64_t id, union store_row *row)
{
	struct model_module *module = &row->module.module;

	if (row->module.build_id.len > BUILD_ID_MAX)
		return -EBADMSG;
	module->build_id_len = (uint8_t)row->module.build_id.len;
	if (module->build_id_len)
		memcpy(module->build_id, row->module.build_id.bytes, module->build_id_len);
	return expect_row(model_module_get(r->m, module), id);
}

static int take_mapping(struct reader *r, uint64_t id, union store_row *row)
{
	struct model_mapping *map = &row->mapping.mapping;
	struct model_process *p;

	(void)id;
	if (row->mapping.process >= r->m->processes_cnt ||
	    row->mapping.process < r->mapping_process)
		return -EBADMSG;
	if (row->mapping.process > r->mapping_process)
		r->mapping_number = 0;
	r->mapping_process = row->mapping.process;
	if (row->mapping.number != r->mapping_number++)
		return -EBADMSG;
	if (row->mapping.number >= MODEL_MAX_MAPPING_ROWS)
		return -EFBIG;
	if (map->module == MODEL_NONE)
		return 0; /* the recorder had no room for its module */
	if (map->module >= r->m->modules_cnt || map->end < map->start)
		return -EBADMSG;
	if (map->kind < MAPPING_FILE || map->kind > MAPPING_VSYSCALL)
		map->kind = MAPPING_ANON;
	/* Not model_mapping_add(), which would judge again what replaced what. */
	p = &r->m->processes[row->mapping.process];
	if (GROW(p->mappings, p->mapping_cnt, p->mapping_cap))
		return -ENOMEM;
	p->mappings[p->mapping_cnt++] = *map;
	return 0;
}

static int take_stack(struct reader *r, uint64_t id, union store_row *row)
{
	struct model_stack *stack = &row->stack.stack;
	const struct blob *frames = &row->stack.frames;

	if (!stack->id || frames->len % sizeof(uint64_t) ||
	    frames->len > STACK_MAX_FRAMES * sizeof(uint64_t) ||
	    !row_or_none(stack->process, r->m->processes_cnt) ||
	    !row_or_none(stack->broken_module, r->m->modules_cnt))
		return -EBADMSG;
	stack->frame_cnt = (uint16_t)(frames->len / sizeof(uint64_t));
	if (stack->end >= STACK_END_CNT)
		stack->end = STACK_END_UNTOLD;
	return expect_row(model_stack_add(r->m, stack, frames->bytes), id);
}

static int take_symbol(struct reader *r, uint64_t id, union store_row *row)
{
	struct model_symbol *symbol = &row->symbol;

	if (!symbol->raw)
		symbol->raw = symbol->name;
	if (symbol->reason >= REASON_CNT)
		symbol->reason =
			symbol->kind == KIND_KERNEL ? REASON_KERNEL_NO_SYMBOL : REASON_NO_SYMBOL;
	if (symbol->kind > KIND_NOTE)
		symbol->kind = KIND_UNKNOWN;
	if (model_symbol_get(r->m, symbol) == id)
		return 0;
	/* Equal to an earlier one, since a number of a newer version became a generic one. */
	if (GROW(r->m->symbols, r->m->symbols_cnt, r->m->symbols_cap))
		return -ENOMEM;
	r->m->symbols[r->m->symbols_cnt++] = *symbol;
	return 0;
}

static int take_location(struct reader *r, uint64_t id, union store_row *row)
{
	struct model *m = r->m;
	const struct model_location *l = &row->location;

	if (!row_or_none(l->process, m->processes_cnt) || l->symbol >= m->symbols_cnt)
		return -EBADMSG;
	/* Older rows have smaller numbers, so that a chain always ends, and are older: look-ups
	 * jump. */
	if (l->older != MODEL_NONE &&
	    (l->older >= id || m->locations[l->older].address != l->address ||
	     m->locations[l->older].process != l->process ||
	     m->locations[l->older].from_ns > l->from_ns))
		return -EBADMSG;
	return model_location_restore(m, l);
}

static int take_sample(struct reader *r, uint64_t id, union store_row *row)
{
	struct model_sample *s = &row->sample;

	(void)id;
	if (s->thread >= r->m->threads_cnt)
		return -EBADMSG;
	s->kernel_row = s->kernel_stack ? model_stack_find(r->m, s->kernel_stack) : MODEL_NONE;
	s->user_row = s->user_stack ? model_stack_find(r->m, s->user_stack) : MODEL_NONE;
	return s->kind == SAMPLE_ON_CPU ? model_sample_add(r->m, s) : 0;
}

static int take_account(struct reader *r, uint64_t id, union store_row *row)
{
	(void)id;
	if (row->account.slice >= r->m->slices_cnt || row->account.thread >= r->m->threads_cnt ||
	    !row_or_none(row->account.cgroup, r->m->cgroups_cnt))
		return -EBADMSG;
	return model_account_add(r->m, &row->account);
}

static int take_run_delay(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_delay *delay = &row->run_delay;

	(void)id;
	if (delay->slice >= r->m->slices_cnt || delay->thread >= r->m->threads_cnt ||
	    delay->slot >= DELAY_SLOTS)
		return -EBADMSG;
	return model_delay_add(r->m, delay);
}

static int take_contention(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_contention *pair = &row->contention;

	(void)id;
	if (pair->slice >= r->m->slices_cnt || pair->runner >= r->m->processes_cnt ||
	    !row_or_none(pair->waiter, r->m->processes_cnt))
		return -EBADMSG;
	return model_contention_add(r->m, pair);
}

static int take_throttle(struct reader *r, uint64_t id, union store_row *row)
{
	(void)id;
	if (row->throttle.slice >= r->m->slices_cnt || row->throttle.cgroup >= r->m->cgroups_cnt)
		return -EBADMSG;
	return model_throttle_add(r->m, &row->throttle);
}

static int take_service(struct reader *r, uint64_t id, union store_row *row)
{
	(void)id;
	if (row->service.slice >= r->m->slices_cnt || row->service.endpoint >= r->m->endpoints_cnt)
		return -EBADMSG;
	return model_service_add(r->m, &row->service);
}

static int take_response(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_response *response = &row->response;

	(void)id;
	if (response->slice >= r->m->slices_cnt || response->endpoint >= r->m->endpoints_cnt ||
	    response->slot >= RESPONSE_SLOTS)
		return -EBADMSG;
	return model_response_add(r->m, response);
}

static int take_signal(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_signal *signal = &row->signal;

	(void)id;
	if (signal->slice >= r->m->slices_cnt || signal->process >= r->m->processes_cnt ||
	    signal->value_ppm > SIGNAL_PPM)
		return -EBADMSG;
	return model_signal_add(r->m, signal);
}

static int take_past(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_past *past = &row->past;

	(void)id;
	if (past->slice >= r->m->slices_cnt || past->process >= r->m->processes_cnt ||
	    past->slow_ppm > SIGNAL_PPM || past->usual_ppm > SIGNAL_PPM)
		return -EBADMSG;
	return model_past_add(r->m, past);
}

static int take_stand(struct reader *r, uint64_t id, union store_row *row)
{
	struct model_stand *stand = &row->stand;

	(void)id;
	if (stand->slice >= r->m->slices_cnt || stand->at.thread >= r->m->threads_cnt)
		return -EBADMSG;
	stand->at = (struct model_sample){
		.time_ns = stand->at.time_ns,
		.thread = stand->at.thread,
		.kind = SAMPLE_ON_CPU,
		.flags = stand->flags & STAND_UNREADABLE ? SAMPLE_USER_STACK_FAULT : 0,
		.kernel_stack = stand->at.kernel_stack,
		.user_stack = stand->at.user_stack,
	};
	stand->switches = 0;
	stand->ns_tid = 0;
	stand->poll_files = 0;
	return model_stand_add(r->m, stand);
}

static int take_waker(struct reader *r, uint64_t id, union store_row *row)
{
	struct model_waker *waker = &row->waker;

	(void)id;
	if (waker->slice >= r->m->slices_cnt || waker->at.thread >= r->m->threads_cnt ||
	    waker->woken >= r->m->threads_cnt)
		return -EBADMSG;
	waker->at = (struct model_sample){
		.time_ns = waker->at.time_ns,
		.thread = waker->at.thread,
		.kind = SAMPLE_ON_CPU,
		.kernel_stack = waker->at.kernel_stack,
		.user_stack = waker->at.user_stack,
	};
	return model_waker_add(r->m, waker);
}

static int take_switch(struct reader *r, uint64_t id, union store_row *row)
{
	const struct model_switch *s = &row->switch_;

	(void)id;
	if (s->slice >= r->m->slices_cnt || s->cpu >= CPUS_MAX ||
	    (s->thread != MODEL_NONE && s->thread >= r->m->threads_cnt) ||
	    (s->other != MODEL_NONE && s->other >= r->m->threads_cnt) ||
	    (s->kind != SWITCH_TURN && s->kind != SWITCH_WAKEUP))
		return -EBADMSG;
	/* By their times: turns are made of them. */
	if (r->m->switches_cnt && s->time_ns < r->m->switches[r->m->switches_cnt - 1].time_ns)
		return -EBADMSG;
	return model_switch_add(r->m, s);
}

static int take_cpu(struct reader *r, uint64_t id, union store_row *row)
{
	(void)id;
	if (row->cpu.slice >= r->m->slices_cnt || row->cpu.cpu >= CPUS_MAX)
		return -EBADMSG;
	return model_cpu_add(r->m, &row->cpu);
}

static int take_loss(struct reader *r, uint64_t id, union store_row *row)
{
	struct model *m = r->m;

	(void)id;
	/* A loss before the first slice stands under slice 0. */
	if (row->loss.slice >= m->slices_cnt && row->loss.slice)
		return -EBADMSG;
	if (row->loss.cause >= LOSS_CAUSE_CNT)
		row->loss.cause = LOSS_BAD_RECORD;
	if (GROW(m->losses, m->losses_cnt, m->losses_cap))
		return -ENOMEM;
	m->losses[m->losses_cnt++] = row->loss;
	return 0;
}

static int take_feature(struct reader *r, uint64_t id, union store_row *row)
{
	struct model *m = r->m;

	char why[FEATURE_WHY_BYTES];

	(void)id;
	/* It is shown wherever a figure is n/a, and who made the capture chose it. */
	text_copy_safe(why, sizeof(why), row->feature.why, strlen(row->feature.why));
	row->feature.why = model_str(m, why);
	if (GROW(m->features, m->features_cnt, m->features_cap))
		return -ENOMEM;
	m->features[m->features_cnt++] = row->feature;
	return 0;
}

static int take_renaming(struct reader *r, uint64_t id, union store_row *row)
{
	struct model *m = r->m;

	(void)id;
	if (GROW(m->renamings, m->renamings_cnt, m->renamings_cap))
		return -ENOMEM;
	m->renamings[m->renamings_cnt++] = row->renaming;
	return 0;
}

const struct taker store_takers[TABLE_CNT] = {
	[TABLE_HOST] = {take_host, 1},
	[TABLE_SLICE] = {take_slice, UINT32_MAX - 1},
	[TABLE_CGROUP] = {take_cgroup, MODEL_MAX_CGROUPS},
	[TABLE_PROCESS] = {take_process, MODEL_MAX_PROCESSES},
	[TABLE_THREAD] = {take_thread, MODEL_MAX_THREADS},
	[TABLE_ENDPOINT] = {take_endpoint, MODEL_MAX_ENDPOINTS},
	[TABLE_MODULE] = {take_module, MODEL_MAX_LOCATIONS},
	[TABLE_MAPPING] = {take_mapping, UINT64_MAX},
	[TABLE_STACK] = {take_stack, MODEL_MAX_STACKS},
	[TABLE_SYMBOL] = {take_symbol, MODEL_MAX_LOCATIONS},
	[TABLE_LOCATION] = {take_location, MODEL_MAX_LOCATIONS},
	[TABLE_SAMPLE] = {take_sample, UINT32_MAX - 1},
	[TABLE_ACCOUNT] = {take_account, UINT32_MAX - 1},
	[TABLE_RUN_DELAY] = {take_run_delay, UINT32_MAX - 1},
	[TABLE_CONTENTION] = {take_contention, UINT32_MAX - 1},
	[TABLE_THROTTLE] = {take_throttle, UINT32_MAX - 1},
	[TABLE_SERVICE] = {take_service, UINT32_MAX - 1},
	[TABLE_RESPONSE] = {take_response, UINT32_MAX - 1},
	[TABLE_SIGNAL] = {take_signal, UINT32_MAX - 1},
	[TABLE_PAST] = {take_past, UINT32_MAX - 1},
	[TABLE_STAND] = {take_stand, UINT32_MAX - 1},
	[TABLE_WAKER] = {take_waker, UINT32_MAX - 1},
	[TABLE_SWITCH] = {take_switch, UINT32_MAX - 1},
	[TABLE_CPU] = {take_cpu, UINT32_MAX - 1},
	[TABLE_LOSS] = {take_loss, UINT32_MAX - 1},
	[TABLE_FEATURE] = {take_feature, 2 * FEATURE_CNT},
	[TABLE_RENAMING] = {take_renaming, UINT32_MAX - 1},
};

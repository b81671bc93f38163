/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/stand_take.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

/* Hands the stack over, whose head is given, and returns its id. */
static uint64_t put_stack(struct stand_taker *t, const struct event_stack *head, const void *frames,
			  uint32_t cnt)
{
	struct event_stack *s = (void *)t->words;
	size_t bytes = cnt * sizeof(s->frames[0]);

	*s = *head;
	memcpy(s->frames, frames, bytes);
	s->header.kind = EVENT_STACK;
	s->header.size = (uint16_t)(sizeof(*s) + bytes);
	s->frame_cnt = (uint16_t)cnt;
	s->id = hash_pair(
			hash_bytes(s->frames, bytes),
			hash_pair(s->process_start_ns ^ s->tgid, (uint64_t)s->flags << 16 | s->end))
			?: 1;
	ingest_stack(t->ingest, s);
	return s->id;
}

static uint64_t put_kernel(struct stand_taker *t, const struct event_stand *event)
{
	const struct event_stack head = {.flags = STACK_KERNEL};

	return event->kernel_cnt ? put_stack(t, &head, event->kernel, event->kernel_cnt) : 0;
}

/* What a piece is too small for. */
static void tell_depth(const struct event_stand *event, struct walk_piece *w)
{
	if (!(event->flags & STAND_DEEP) || w->end != STACK_END_UNREADABLE)
		return;
	w->end = STACK_END_DEPTH;
	w->flags |= STACK_TRUNCATED;
}

static uint64_t put_user(struct stand_taker *t, const struct event_stand *event,
			 const uint8_t *piece)
{
	struct walk_piece *w = &t->walk;
	struct event_stack head = {.tgid = event->tgid,
				   .process_start_ns = event->process_start_ns};

	w->maps = t->maps;
	w->tgid = event->tgid;
	w->process_start_ns = event->process_start_ns;
	w->ip = event->ip;
	w->sp = event->sp;
	w->fp = event->fp;
	w->bytes = piece;
	w->bytes_cnt = event->stack_bytes;
	walk_piece_run(w);
	tell_depth(event, w);
	head.flags = w->flags;
	head.end = (uint16_t)w->end;
	/* Along frame pointers alone names have to tell, as in the kernel's walk. */
	if (!t->maps) {
		head.flags &= (uint16_t)~STACK_UNSURE;
		head.end = STACK_END_UNTOLD;
	}
	return put_stack(t, &head, w->frames, w->frames_cnt);
}

/* Third word of a mutex of glibc, whatever its kind: who holds it. It is told apart from other
 * futexes where the names of what waits are known. */
static uint32_t holder_of(const struct event_stand *event)
{
	return event->flags & STAND_LOCK ? event->lock[2] : 0;
}

/* poll and ppoll of x86-64: the second argument. */
static uint64_t poll_files_of(const struct event_stand *event)
{
#ifdef __x86_64__
	if (!(event->flags & STAND_COMPAT) && (event->call == 7 || event->call == 271))
		return event->args[1];
#endif
	(void)event;
	return 0;
}

bool stand_take(struct stand_taker *t, const struct event_stand *event, const uint8_t *piece,
		struct model_stand *ret_stand)
{
	uint32_t process = ingest_process(t->ingest, event->tgid, event->process_start_ns);
	bool is_whole = !(event->flags & (STAND_RUNS | STAND_MOVED | STAND_SAME));
	struct model_stand *s = ret_stand;

	*s = (struct model_stand){
		.at = {.time_ns = event->time_ns, .kind = SAMPLE_ON_CPU},
		.age_ns = event->age_ns,
		.call = STAND_CALL_NONE,
		.switches = event->switches,
		.flags = event->flags,
		.state = event->state,
		.ns_tid = event->ns_tid,
	};
	if (process == MODEL_NONE)
		return false;
	s->at.thread = model_thread_get(t->model, process, event->tid, event->thread_start_ns);
	if (s->at.thread == MODEL_NONE)
		return false;
	if (!is_whole)
		return true;
	s->at.kernel_stack = put_kernel(t, event);
	s->holder = holder_of(event);
	s->poll_files = poll_files_of(event);
	if ((int64_t)event->call >= 0)
		s->call = event->call;
	if (event->ip && !(event->flags & (STAND_COMPAT | STAND_NO_USER)))
		s->at.user_stack = put_user(t, event, piece);
	else if (event->flags & STAND_UNREADABLE)
		s->at.flags |= SAMPLE_USER_STACK_FAULT;
	return true;
}

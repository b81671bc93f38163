/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks are counted first, then the frames of each of them, in the order in which they lie in
 * memory: tables of a large capture are larger than the caches of a CPU.
 */
#include "model/frame_book.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "bpf/events.h"
#include "model/resolve.h"

struct filling {
	struct frame_book *b;
	struct model *m;
	uint32_t process;
	struct resolve_frame *frames; /* RESOLVE_MAX_FRAMES */
	uint8_t *varies; /* by row of stacks: 1 = means something else at another time */
	bool any_varies;
};

/* The cnt frames of a part; ended: of samples in which nothing follows it. */
static void add_frames(struct filling *f, size_t cnt, uint64_t ticks, uint64_t ended)
{
	const struct model_symbol *symbols = f->m->symbols;
	struct frame_book *b = f->b;

	for (size_t i = 0; i < cnt; i++)
		if (f->frames[i].location != MODEL_NONE)
			b->passed[f->frames[i].location] += ticks;
		else if (f->frames[i].symbol != MODEL_NONE) /* else there was no room for it */
			b->notes[symbols[f->frames[i].symbol].reason] += ticks;
	if (ended && f->frames[cnt - 1].symbol != MODEL_NONE)
		b->leaves[symbols[f->frames[cnt - 1].symbol].reason] += ended;
}

static void add_part(struct filling *f, const struct resolve_part *part,
		     const struct model_sample *sample, uint64_t ended)
{
	add_frames(f, resolve_part(f->m, part, sample->time_ns, f->frames), model_weight(sample),
		   ended);
}

static bool is_wanted(const struct filling *f, const struct model_sample *sample)
{
	return sample->kind == SAMPLE_ON_CPU &&
	       (f->process == MODEL_NONE || resolve_process(f->m, sample) == f->process);
}

static void count_stacks(struct filling *f)
{
	for (size_t i = 0; i < f->m->samples_cnt; i++) {
		const struct model_sample *sample = &f->m->samples[i];
		struct resolve_part parts[RESOLVE_PARTS];
		uint64_t ticks = model_weight(sample);
		size_t cnt;

		if (!is_wanted(f, sample))
			continue;
		f->b->samples += ticks;
		cnt = resolve_parts(f->m, sample, parts);
		for (size_t k = 0; k < cnt; k++) {
			uint64_t ended = k + 1 == cnt ? ticks : 0;

			if (parts[k].stack == MODEL_NONE) {
				add_part(f, &parts[k], sample, ended);
				continue;
			}
			f->b->stacks[parts[k].stack] += ticks;
			f->b->stacks_ended[parts[k].stack] += ended;
		}
	}
}

static void count_frames(struct filling *f)
{
	for (uint32_t i = 0; i < f->m->stacks_cnt; i++) {
		struct resolve_part part = {.stack = i};
		size_t cnt;

		if (!f->b->stacks[i])
			continue;
		cnt = resolve_part(f->m, &part, UINT64_MAX, f->frames);
		f->varies[i] = !resolve_stack_lasts(f->m, i);
		f->any_varies |= f->varies[i];
		if (!f->varies[i])
			add_frames(f, cnt, f->b->stacks[i], f->b->stacks_ended[i]);
	}
}

/* The others, sample by sample. */
static void count_varying(struct filling *f)
{
	for (size_t i = 0; f->any_varies && i < f->m->samples_cnt; i++) {
		const struct model_sample *sample = &f->m->samples[i];
		struct resolve_part parts[RESOLVE_PARTS];
		uint64_t ticks = model_weight(sample);
		size_t cnt = is_wanted(f, sample) ? resolve_parts(f->m, sample, parts) : 0;

		for (size_t k = 0; k < cnt; k++)
			if (parts[k].stack != MODEL_NONE && f->varies[parts[k].stack])
				add_part(f, &parts[k], sample, k + 1 == cnt ? ticks : 0);
	}
}

int frame_book_fill(struct frame_book *b, struct model *m, uint32_t process)
{
	struct filling f = {
		.b = b,
		.m = m,
		.process = process,
		.frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*f.frames)),
		.varies = calloc(m->stacks_cnt + 1, sizeof(*f.varies)),
	};
	int err = -ENOMEM;

	*b = (struct frame_book){
		.passed = calloc(m->locations_cnt + 1, sizeof(*b->passed)),
		.stacks = calloc(m->stacks_cnt + 1, sizeof(*b->stacks)),
		.stacks_ended = calloc(m->stacks_cnt + 1, sizeof(*b->stacks_ended)),
	};
	if (f.frames && f.varies && b->passed && b->stacks && b->stacks_ended) {
		count_stacks(&f);
		count_frames(&f);
		count_varying(&f);
		err = 0;
	}
	free(f.frames);
	free(f.varies);
	return err;
}

void frame_book_clear(struct frame_book *b)
{
	free(b->passed);
	free(b->stacks);
	free(b->stacks_ended);
	*b = (struct frame_book){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/fair.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

uint32_t fair_party(const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	uint32_t parent = model_process_at(m, p->parent_tgid, p->born_ns);

	return parent == MODEL_NONE ? process : parent;
}

static uint32_t *held_at(struct fair_book *book, uint32_t row)
{
	while (book->cnt <= row) {
		if (GROW(book->held, book->cnt, book->cap))
			return NULL;
		book->held[book->cnt++] = 0;
	}
	return &book->held[row];
}

static uint32_t *held_by_cgroup(struct fair *fair, const struct model *m, uint32_t process)
{
	uint32_t cgroup = model_cgroup_find(m, m->processes[process].cgroup_id);

	return held_at(&fair->of_cgroup, cgroup == MODEL_NONE ? 0 : cgroup + 1);
}

/* What who holds so many may hold in all: a third of what the others above have left it, so that
 * it leaves twice as much. */
static uint32_t limit_of(uint32_t held, uint32_t most, uint32_t above, uint32_t above_most)
{
	uint32_t others = above > held ? above - held : 0, third;

	third = above_most > others ? (above_most - others - 1) / 3 + 1 : 0;
	return third < most ? third : most;
}

bool fair_may(struct fair *fair, const struct model *m, uint32_t process)
{
	const uint32_t *of_process = held_at(&fair->of_process, process);
	const uint32_t *of_cgroup = held_by_cgroup(fair, m, process);
	uint32_t cgroup_most, most;

	if (!of_process || !of_cgroup)
		return false;
	if (*of_process < fair->least && fair->held < fair->most)
		return true;
	cgroup_most = limit_of(*of_cgroup, fair->most_of_cgroup, fair->held, fair->most);
	most = limit_of(*of_process, fair->most_of_process, *of_cgroup, cgroup_most);
	return *of_cgroup < cgroup_most && *of_process < most;
}

static void add(uint32_t *held, uint32_t cnt)
{
	if (held)
		*held = *held + cnt < cnt ? UINT32_MAX : *held + cnt;
}

void fair_add(struct fair *fair, const struct model *m, uint32_t process, uint32_t cnt)
{
	add(held_at(&fair->of_process, process), cnt);
	add(held_by_cgroup(fair, m, process), cnt);
	add(&fair->held, cnt);
}

bool fair_take(struct fair *fair, const struct model *m, uint32_t process)
{
	if (!fair_may(fair, m, process))
		return false;
	fair_add(fair, m, process, 1);
	return true;
}

void fair_begin_anew(struct fair *fair)
{
	fair->held = 0;
	if (fair->of_process.cnt)
		memset(fair->of_process.held, 0, fair->of_process.cnt * sizeof(uint32_t));
	if (fair->of_cgroup.cnt)
		memset(fair->of_cgroup.held, 0, fair->of_cgroup.cnt * sizeof(uint32_t));
}

void fair_clear(struct fair *fair)
{
	free(fair->of_process.held);
	free(fair->of_cgroup.held);
	fair->of_process = fair->of_cgroup = (struct fair_book){0};
	fair->held = 0;
}

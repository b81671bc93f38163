/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/hung.h"

static bool has(const struct hung *h, uint32_t process)
{
	for (size_t i = 0; i < h->cnt; i++)
		if (h->processes[i] == process)
			return true;
	return false;
}

void hung_note(struct hung *h, const struct model *m)
{
	h->cnt = 0;
	for (size_t i = m->services_cnt; i-- > 0 && m->services[i].slice + 1 == m->slices_cnt;) {
		const struct model_service *s = &m->services[i];
		uint32_t process = m->endpoints[s->endpoint].process;

		if (s->stuck && h->cnt < HUNG_MOST && !m->processes[process].exit_ns &&
		    !has(h, process))
			h->processes[h->cnt++] = process;
	}
}

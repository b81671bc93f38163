/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/stand.h"

#include <stdlib.h>

#include "base/grow.h"

void stands_clear(struct stands *s)
{
	free(s->rows);
	*s = (struct stands){0};
}

int stands_add(struct stands *s, const struct model_stand *stand)
{
	if (GROW(s->rows, s->cnt, s->cap))
		return -ENOMEM;
	s->rows[s->cnt++] = *stand;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

static bool string_equal(const void *owner, uint32_t row, const void *key)
{
	return !strcmp(((const struct strings *)owner)->rows[row], key);
}

static int add(struct strings *s, uint64_t hash, uint32_t *ret_number)
{
	uint32_t number = (uint32_t)s->rows_cnt;
	char *copy;
	int err = GROW(s->rows, s->rows_cnt, s->rows_cap);

	if (err)
		return err;
	copy = strdup(s->safe);
	if (!copy)
		return -ENOMEM;
	s->rows[s->rows_cnt++] = copy;
	err = hash_add(&s->index, hash, number);
	if (err)
		return err;
	if (s->on_new)
		s->on_new(s->ctx, number, copy);
	*ret_number = number;
	return 0;
}

int strings_number(struct strings *s, const char *string, uint32_t *ret_number)
{
	uint64_t hash;
	uint32_t number;

	text_copy_utf8(s->safe, sizeof(s->safe), string ? string : "", string ? strlen(string) : 0);
	hash = hash_bytes(s->safe, strlen(s->safe));
	number = hash_find(&s->index, hash, string_equal, s, s->safe);
	if (number == HASH_NONE)
		return add(s, hash, ret_number);
	*ret_number = number;
	return 0;
}

void strings_clear(struct strings *s)
{
	for (size_t i = 0; i < s->rows_cnt; i++)
		free(s->rows[i]);
	free(s->rows);
	hash_clear(&s->index);
	s->rows = NULL;
	s->rows_cnt = s->rows_cap = 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

/* By enum selection_field. */
static const char *const field_names[] = {
	[SELECT_NAME] = "name", [SELECT_UNIT] = "unit",		  [SELECT_CONTAINER] = "container",
	[SELECT_POD] = "pod",	[SELECT_NAMESPACE] = "namespace",
};
#define FIELD_CNT (sizeof(field_names) / sizeof(field_names[0]))

/* 0, or -EINVAL where what is before = is no field. */
static int parse_field(const char *text, enum selection_field *ret_field, const char **ret_pattern)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : 0;

	if (!equals) {
		*ret_field = SELECT_NAME;
		*ret_pattern = text;
		return 0;
	}
	for (size_t i = 0; i < FIELD_CNT; i++) {
		if (strlen(field_names[i]) != len || memcmp(field_names[i], text, len) != 0)
			continue;
		*ret_field = (enum selection_field)i;
		*ret_pattern = equals + 1;
		return 0;
	}
	return -EINVAL;
}

int selection_add(struct selection *s, bool include, const char *text)
{
	struct selection_rule *rules = include ? s->include : s->exclude;
	size_t *cnt = include ? &s->include_cnt : &s->exclude_cnt;
	enum selection_field field;
	const char *pattern;
	int err = parse_field(text, &field, &pattern);

	if (err)
		return err;
	if (!*pattern || strlen(pattern) >= sizeof(rules->pattern))
		return -EINVAL;
	if (*cnt >= SELECTION_MAX)
		return -E2BIG;
	rules[*cnt].field = field;
	strcpy(rules[*cnt].pattern, pattern);
	(*cnt)++;
	return 0;
}

static bool fits_text(const char *pattern, const char *text)
{
	return text[0] && !fnmatch(pattern, text, 0);
}

static bool fits_container(const char *pattern, const struct model_process *p)
{
	size_t len = strlen(pattern);

	if (len >= SELECTION_ID_MIN && !strncmp(p->container_id, pattern, len))
		return true;
	return fits_text(pattern, p->container_name[0] ? p->container_name : p->container);
}

static bool fits(const struct selection_rule *rule, const struct model_process *p)
{
	switch (rule->field) {
	case SELECT_NAME:
		return fits_text(rule->pattern, p->name) || fits_text(rule->pattern, p->comm);
	case SELECT_UNIT:
		return fits_text(rule->pattern, p->unit);
	case SELECT_CONTAINER:
		return fits_container(rule->pattern, p);
	case SELECT_POD:
		return fits_text(rule->pattern, p->pod);
	case SELECT_NAMESPACE:
		return fits_text(rule->pattern, p->namespace);
	}
	return false;
}

static bool fits_any(const struct selection_rule *rules, size_t cnt, const struct model_process *p)
{
	for (size_t i = 0; i < cnt; i++)
		if (fits(&rules[i], p))
			return true;
	return false;
}

bool selection_has(const struct selection *s, const struct model_process *p)
{
	if (s->include_cnt && !fits_any(s->include, s->include_cnt, p))
		return false;
	return !fits_any(s->exclude, s->exclude_cnt, p);
}

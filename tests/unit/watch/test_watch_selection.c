/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "watch/selection.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ID	      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct model_process pod = {
	.name = "Shop.Api",
	.comm = "dotnet",
	.unit = "",
	.container = "0123456789ab",
	.container_id = ID,
	.container_name = "api",
	.pod = "shop-7d9c6b5f4d-x2x9k",
	.namespace = "prod",
};
static const struct model_process service = {
	.name = "nginx",
	.comm = "nginx",
	.unit = "nginx.service",
	.container = "",
	.container_id = "",
	.container_name = "",
	.pod = "",
	.namespace = "",
};
static const struct model_process lxc = {
	.name = "init",
	.comm = "init",
	.unit = "",
	.container = "web1",
	.container_id = "",
	.container_name = "",
	.pod = "",
	.namespace = "",
};

Test(selection, rules_are_parsed)
{
	static char longest[256 + 8], too_long[256 + 8];
	static const struct {
		const char *name, *text;
		int err;
		enum selection_field field;
		const char *pattern;
	} rows[] = {
		{"a name", "nginx", 0, SELECT_NAME, "nginx"},
		{"a name with its field", "name=nginx*", 0, SELECT_NAME, "nginx*"},
		{"a unit", "unit=*.service", 0, SELECT_UNIT, "*.service"},
		{"a container", "container=api", 0, SELECT_CONTAINER, "api"},
		{"a pod", "pod=shop-*", 0, SELECT_POD, "shop-*"},
		{"a namespace", "namespace=kube-*", 0, SELECT_NAMESPACE, "kube-*"},
		{"a pattern with =", "name=a=b", 0, SELECT_NAME, "a=b"},
		{"longest", longest, 0, SELECT_NAME, longest + 5},
		{"too long", too_long, -EINVAL, 0, ""},
		{"empty", "", -EINVAL, 0, ""},
		{"an empty pattern", "unit=", -EINVAL, 0, ""},
		{"no such field", "host=a", -EINVAL, 0, ""},
		{"no field", "=a", -EINVAL, 0, ""},
		{"a field's beginning", "na=a", -EINVAL, 0, ""},
		{"a field and more", "names=a", -EINVAL, 0, ""},
		{"capitals", "Unit=a", -EINVAL, 0, ""},
	};

	snprintf(longest, sizeof(longest), "name=%0255d", 1);
	snprintf(too_long, sizeof(too_long), "name=%0256d", 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct selection s = {0};

		cr_expect_eq(selection_add(&s, true, rows[i].text), rows[i].err, "%s",
			     rows[i].name);
		cr_expect_eq(s.include_cnt, !rows[i].err, "%s", rows[i].name);
		cr_expect_eq(s.exclude_cnt, 0, "%s", rows[i].name);
		if (rows[i].err)
			continue;
		cr_expect_eq(s.include[0].field, rows[i].field, "%s", rows[i].name);
		cr_expect_str_eq(s.include[0].pattern, rows[i].pattern, "%s", rows[i].name);
	}
}

Test(selection, there_is_room_for_so_many)
{
	struct selection s = {0};

	for (int i = 0; i < SELECTION_MAX; i++) {
		cr_expect_eq(selection_add(&s, true, "a"), 0);
		cr_expect_eq(selection_add(&s, false, "b"), 0);
	}
	cr_expect_eq(selection_add(&s, true, "a"), -E2BIG);
	cr_expect_eq(selection_add(&s, false, "b"), -E2BIG);
	cr_expect_eq(s.include_cnt, SELECTION_MAX);
	cr_expect_eq(s.exclude_cnt, SELECTION_MAX);
}

Test(selection, who_fits_a_rule)
{
	static const struct {
		const char *rule;
		bool pod, service, lxc;
	} rows[] = {
		{"*", true, true, true},
		{"Shop.Api", true, false, false},
		{"shop.api", false, false, false},
		{"Shop", false, false, false},
		{"Shop.*", true, false, false},
		{"dotnet", true, false, false},
		{"[ni]*", false, true, true},
		{"unit=*", false, true, false},
		{"unit=nginx.?ervice", false, true, false},
		{"unit=nginx", false, false, false},
		{"container=*", true, false, true},
		{"container=api", true, false, false},
		{"container=0123456789ab", true, false, false},
		{"container=01234567", true, false, false},
		{"container=0123456", false, false, false},
		{"container=" ID, true, false, false},
		{"container=" ID "0", false, false, false},
		{"container=web1", false, false, true},
		{"pod=*", true, false, false},
		{"pod=shop-*", true, false, false},
		{"pod=shop", false, false, false},
		{"namespace=prod", true, false, false},
		{"namespace=p?d", false, false, false},
		{"namespace=*", true, false, false},
		{"name=[", false, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct selection include = {0}, exclude = {0};

		cr_assert_eq(selection_add(&include, true, rows[i].rule), 0, "%s", rows[i].rule);
		cr_assert_eq(selection_add(&exclude, false, rows[i].rule), 0);
		cr_expect_eq(selection_has(&include, &pod), rows[i].pod, "%s", rows[i].rule);
		cr_expect_eq(selection_has(&include, &service), rows[i].service, "%s",
			     rows[i].rule);
		cr_expect_eq(selection_has(&include, &lxc), rows[i].lxc, "%s", rows[i].rule);
		cr_expect_eq(selection_has(&exclude, &pod), !rows[i].pod, "%s", rows[i].rule);
		cr_expect_eq(selection_has(&exclude, &service), !rows[i].service, "%s",
			     rows[i].rule);
	}
}

Test(selection, lists_together)
{
	struct selection s = {0};

	cr_expect(selection_has(&s, &pod), "without rules everybody is in");
	selection_add(&s, true, "namespace=prod");
	selection_add(&s, true, "unit=nginx.service");
	cr_expect(selection_has(&s, &pod));
	cr_expect(selection_has(&s, &service));
	cr_expect_not(selection_has(&s, &lxc), "fits none");
	selection_add(&s, false, "container=api");
	cr_expect_not(selection_has(&s, &pod), "out in any case");
	cr_expect(selection_has(&s, &service));
}

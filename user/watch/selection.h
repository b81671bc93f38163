/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SELECTION_H
#define HOTRUN_WATCH_SELECTION_H
/*
 * Which processes the resident recorder shows one by one: lists of what to include and to exclude,
 * by unit, container, pod, namespace or name. The others are still counted: their CPU and waits are
 * in the figures of the host and in "other", their samples are kept without stacks
 * (SAMPLE_FILTERED). Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "model/model.h"

#define SELECTION_MAX 64
/* An id may be given from the front as `docker ps` and `crictl` show it; less is taken for a
 * name. */
#define SELECTION_ID_MIN 8

enum selection_field {
	SELECT_NAME, /* name, comm */
	SELECT_UNIT,
	/* its name, or its id from the front; what has no name by its short text */
	SELECT_CONTAINER,
	SELECT_POD,
	SELECT_NAMESPACE,
};

struct selection_rule {
	enum selection_field field;
	char pattern[256]; /* fnmatch(3), '/' and a leading '.' as any other character */
};

/* With rules to include, who fits none of them is out; who fits one to exclude is out in any case.
 * What is not known of a process fits no rule, not even "*". Zeroed: everybody is in. */
struct selection {
	struct selection_rule include[SELECTION_MAX], exclude[SELECTION_MAX];
	size_t include_cnt, exclude_cnt;
};

/* Parses "unit=GLOB", "container=GLOB", "pod=GLOB", "namespace=GLOB", "name=GLOB" or "GLOB" (a
 * name). 0, -EINVAL (what is before = is none of these, empty, too long), -E2BIG. */
int selection_add(struct selection *s, bool include, const char *text);
bool selection_has(const struct selection *s, const struct model_process *p);
#endif

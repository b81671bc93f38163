/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_LETTERS "bcdfghjklmnpqrstvwxz2456789"
#define DIGITS	       "0123456789"
#define RANDOM_LEN     5
#define HASH_LEN_MIN   8
#define HASH_LEN_MAX   10
#define ORDINAL_MAX    10 /* digits */

/* Length without "-" and min to max of those letters at the end, or 0. Something is left of it. */
static size_t without(const char *s, size_t len, const char *letters, size_t min, size_t max)
{
	size_t n = 0;

	while (n < len && n <= max && s[len - n - 1] && strchr(letters, s[len - n - 1]))
		n++;
	return n >= min && n <= max && len > n + 1 && s[len - n - 1] == '-' ? len - n - 1 : 0;
}

size_t workload_owner(const char *pod, size_t len)
{
	size_t made = without(pod, len, RANDOM_LETTERS, RANDOM_LEN, RANDOM_LEN), by;

	if (made) {
		by = without(pod, made, RANDOM_LETTERS, HASH_LEN_MIN, HASH_LEN_MAX);
		if (!by)
			by = without(pod, made, DIGITS, HASH_LEN_MIN, HASH_LEN_MAX);
		return by ? by : made;
	}
	made = without(pod, len, DIGITS, 1, ORDINAL_MAX);
	return made ? made : len;
}

/* The parts that are known, with a slash between them. */
static void in_pod(const struct model_process *p, size_t pod_len, char *text)
{
	const char *name = p->container_name;

	snprintf(text, WORKLOAD_BYTES, "%s%s%.*s%s%s", p->namespace, p->namespace[0] ? "/" : "",
		 (int)(pod_len < WORKLOAD_BYTES ? pod_len : WORKLOAD_BYTES), p->pod,
		 name[0] ? "/" : "", name);
}

void workload_container(const struct model_process *p, char ret_text[static WORKLOAD_BYTES])
{
	if (p->pod[0])
		in_pod(p, strlen(p->pod), ret_text);
	else
		snprintf(ret_text, WORKLOAD_BYTES, "%s",
			 p->container_name[0] ? p->container_name : p->container);
}

void workload_of(const struct model_process *p, char ret_text[static WORKLOAD_BYTES])
{
	if (p->flags & PROCESS_KERNEL)
		snprintf(ret_text, WORKLOAD_BYTES, "kernel threads");
	else if (p->pod[0])
		in_pod(p, workload_owner(p->pod, strlen(p->pod)), ret_text);
	else
		snprintf(ret_text, WORKLOAD_BYTES, "%s",
			 p->container_name[0] ? p->container_name
			 : p->unit[0]	      ? p->unit
			 : p->name[0]	      ? p->name
					      : p->comm);
}

const char **workloads_new(struct model *m)
{
	const char **workloads = calloc(m->processes_cnt + 1, sizeof(*workloads));
	char text[WORKLOAD_BYTES];

	for (size_t i = 0; workloads && i < m->processes_cnt; i++) {
		workload_of(&m->processes[i], text);
		workloads[i] = model_str(m, text);
	}
	return workloads;
}

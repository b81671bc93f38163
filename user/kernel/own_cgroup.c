/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/own_cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PATH_BYTES 4096

/* v1 says "no limit" with the largest multiple of a page. */
#define NO_LIMIT (1ll << 60)

struct hierarchy {
	bool v1;
	char mount[PATH_BYTES], root[PATH_BYTES]; /* root: what of the hierarchy is mounted there */
	char path[PATH_BYTES];			  /* of hotrun, as /proc/self/cgroup has it */
};

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ',') && (!at[len] || strchr(",\n ", at[len])))
			return true;
	return false;
}

/* v1's memory controller, where it is in use, before v2. */
static bool find_mount(struct hierarchy *h)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	bool found = false;
	size_t cap = 0;

	while (file && getline(&line, &cap, file) > 0) {
		char mount[PATH_BYTES], root[PATH_BYTES], type[64], super[1024];
		char *tail = strstr(line, " - ");

		if (!tail || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
		    sscanf(tail, " - %63s %*s %1023s", type, super) != 2)
			continue;
		h->v1 = !strcmp(type, "cgroup") && has_word(super, "memory");
		if (!h->v1 && (strcmp(type, "cgroup2") || found))
			continue;
		strcpy(h->mount, mount);
		strcpy(h->root, root);
		found = true;
		if (h->v1)
			break;
	}
	return found;
}

/* Lines "id:controllers:path". */
static bool find_path(struct hierarchy *h)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/cgroup", "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	while (file && getline(&line, &cap, file) > 0) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (h->v1 ? !has_word(controllers + 1, "memory") : controllers[1] != '\0')
			continue;
		/* Without a cgroup namespace a container's mount begins at its own group. */
		if (strlen(h->root) > 1 && !strncmp(path, h->root, strlen(h->root)))
			path += strlen(h->root);
		snprintf(h->path, sizeof(h->path), "%s", path);
		return true;
	}
	return false;
}

static FILE *open_in(const struct hierarchy *h, const char *name)
{
	char path[3 * PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s/%s", h->mount, h->path, name);
	return fopen(path, "re");
}

static int64_t number_in(const struct hierarchy *h, const char *name)
{
	_cleanup_fclose_ FILE *file = open_in(h, name);
	long long value;

	return file && fscanf(file, "%lld", &value) == 1 ? value : FACT_UNKNOWN;
}

static int64_t droppable(const struct hierarchy *h)
{
	_cleanup_fclose_ FILE *file = open_in(h, "memory.stat");
	const char *wanted = h->v1 ? "total_inactive_file" : "inactive_file";
	long long value;
	char name[64];

	while (file && fscanf(file, "%63s %lld", name, &value) == 2)
		if (!strcmp(name, wanted))
			return value;
	return 0;
}

static int64_t room_of(const struct hierarchy *h)
{
	int64_t limit = number_in(h, h->v1 ? "memory.limit_in_bytes" : "memory.max");
	int64_t used = number_in(h, h->v1 ? "memory.usage_in_bytes" : "memory.current");

	if (limit == FACT_UNKNOWN || limit >= NO_LIMIT || used == FACT_UNKNOWN)
		return FACT_UNKNOWN;
	used -= droppable(h);
	return used < limit ? limit - used : 0;
}

int64_t own_cgroup_memory_room(void)
{
	_cleanup_free_ struct hierarchy *h = calloc(1, sizeof(*h));
	int64_t least = FACT_UNKNOWN;
	char *slash;

	if (!h || !find_mount(h) || !find_path(h))
		return FACT_UNKNOWN;
	do {
		int64_t room = room_of(h);

		if (room != FACT_UNKNOWN && (least == FACT_UNKNOWN || room < least))
			least = room;
		slash = strrchr(h->path, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return least;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/cgroup_tree.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* One word of a comma-separated list. */
static bool has_option(const char *options, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = options; (at = strstr(at, word)); at += len)
		if ((at == options || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

struct mounts {
	char cpu[4096]; /* where the cpu controller is, v1 preferred to v2 */
	char v2[4096];
};

/* Lines of mountinfo: id parent dev root mountpoint options ... - type source super-options. */
static int find_mounts(struct mounts *ret_mounts)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	bool v1 = false;
	size_t cap = 0;

	*ret_mounts = (struct mounts){0};
	while (file && getline(&line, &cap, file) > 0) {
		char point[4096], type[64], super[1024];
		char *tail = strstr(line, " - ");

		if (!tail || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1 ||
		    sscanf(tail, " - %63s %*s %1023s", type, super) != 2)
			continue;
		if (!strcmp(type, "cgroup2") && !*ret_mounts->v2) {
			strcpy(ret_mounts->v2, point);
			if (!v1)
				strcpy(ret_mounts->cpu, point);
		} else if (!strcmp(type, "cgroup") && has_option(super, "cpu") && !v1) {
			strcpy(ret_mounts->cpu, point);
			v1 = true;
		}
	}
	return *ret_mounts->cpu ? 0 : -ENOTSUP;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Rest of path below mount, or NULL when it does not lie there. */
static const char *below(const char *path, const char *mount)
{
	size_t len = strlen(mount);

	if (!len || strncmp(path, mount, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

int cgroup_tree_find(const char *path, char **ret_folder)
{
	_cleanup_free_ char *real = NULL, *folder = NULL;
	struct mounts mounts;
	const char *rest;
	int err = find_mounts(&mounts);

	if (err)
		return err;
	real = realpath(path, NULL);
	rest = real ? below(real, mounts.cpu) : NULL;
	if (!rest && real)
		rest = below(real, mounts.v2); /* the same group in the other hierarchy */
	if (!rest)
		rest = path; /* as /proc/PID/cgroup has it */
	if (strstr(rest, "/..") || !strncmp(rest, "..", 2))
		return -ENOENT;
	if (asprintf(&folder, "%s%s%s", mounts.cpu, *rest == '/' || !*rest ? "" : "/", rest) < 0) {
		folder = NULL;
		return -ENOMEM;
	}
	if (!is_folder(folder))
		return -ENOENT;
	*ret_folder = take_ptr(&folder);
	return 0;
}

int cgroup_tree_walk(const char *folder, void (*take)(void *ctx, uint64_t id), void *ctx)
{
	char *paths[] = {(char *)folder, NULL};
	struct mounts mounts;
	size_t cnt = 0;
	int err = 0;
	FTSENT *entry;
	FTS *tree;

	if (!is_folder(folder))
		return -ENOENT;
	/* Tasks of the root group carry no group at all: id 0. */
	if (!find_mounts(&mounts) && !strcmp(below(folder, mounts.cpu) ?: "-", ""))
		take(ctx, 0);
	tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!tree)
		return -errno;
	while (!err && (entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D)
			continue;
		if (++cnt > CGROUP_TREE_MAX)
			err = -E2BIG;
		else
			take(ctx, entry->fts_statp->st_ino);
	}
	fts_close(tree);
	return err;
}

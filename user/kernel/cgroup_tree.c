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

/* Lines of mountinfo: id parent dev root mountpoint options ... - type source super-options. */
int cgroup_mounts_find(struct cgroup_mounts *ret_mounts)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	*ret_mounts = (struct cgroup_mounts){0};
	while (file && getline(&line, &cap, file) > 0) {
		char point[4096], type[64], super[1024];
		char *tail = strstr(line, " - ");

		if (!tail || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1 ||
		    sscanf(tail, " - %63s %*s %1023s", type, super) != 2)
			continue;
		if (!strcmp(type, "cgroup2") && !*ret_mounts->v2) {
			strcpy(ret_mounts->v2, point);
			if (!ret_mounts->v1)
				strcpy(ret_mounts->cpu, point);
		} else if (!strcmp(type, "cgroup") && has_option(super, "cpu") && !ret_mounts->v1) {
			strcpy(ret_mounts->cpu, point);
			ret_mounts->v1 = true;
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
	struct cgroup_mounts mounts;
	const char *rest;
	int err = cgroup_mounts_find(&mounts);

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

/* What a group below folder is called; point is the mount it lies in. */
static bool fill_entry(const FTSENT *entry, const char *point, struct cgroup_entry *ret)
{
	const char *rest = below(entry->fts_path, point);

	if (!rest)
		return false;
	*ret = (struct cgroup_entry){
		.id = entry->fts_statp->st_ino,
		.parent = entry->fts_level > 0 ? entry->fts_parent->fts_statp->st_ino : 0,
		.path = *rest ? rest : "/",
	};
	return true;
}

int cgroup_tree_walk(const char *folder, void (*take)(void *ctx, const struct cgroup_entry *entry),
		     void *ctx)
{
	char *paths[] = {(char *)folder, NULL};
	struct cgroup_entry group;
	struct cgroup_mounts mounts;
	size_t cnt = 0;
	int err;
	FTSENT *entry;
	FTS *tree;

	if (!is_folder(folder))
		return -ENOENT;
	err = cgroup_mounts_find(&mounts);
	if (err)
		return err;
	tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!tree)
		return -errno;
	while (!err && (entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D)
			continue;
		if (++cnt > CGROUP_TREE_MAX)
			err = -E2BIG;
		else if (fill_entry(entry, mounts.cpu, &group))
			take(ctx, &group);
	}
	fts_close(tree);
	return err;
}

/* Longest text of a file of the cpu controller: cpu.stat has about ten lines. */
#define FILE_BYTES 4096

static int read_file(const struct cgroup_mounts *mounts, const char *path, const char *name,
		     char text[FILE_BYTES])
{
	_cleanup_free_ char *file = NULL;
	_cleanup_fclose_ FILE *in = NULL;
	size_t n;

	if (asprintf(&file, "%s%s/%s", mounts->cpu, path, name) < 0) {
		file = NULL;
		return -ENOMEM;
	}
	in = fopen(file, "re");
	if (!in)
		return errno == ENOTDIR ? -ENOENT : -errno;
	n = fread(text, 1, FILE_BYTES - 1, in);
	if (ferror(in)) /* the group went away meanwhile */
		return -ENOENT;
	text[n] = '\0';
	return 0;
}

/* The number behind a word at the beginning of a line; false without such a line. */
static bool find_number(const char *text, const char *word, uint64_t *ret_value)
{
	size_t len = strlen(word);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		unsigned long long value;

		line += *line == '\n';
		if (strncmp(line, word, len) || line[len] != ' ' ||
		    sscanf(line + len, "%llu", &value) != 1)
			continue;
		*ret_value = value;
		return true;
	}
	return false;
}

/* A bound that no real limit reaches: 30 days. */
#define LIMIT_MAX_US (30 * 86400ull * 1000000)

static int limit_of(long long quota_us, long long period_us, struct cgroup_limit *ret_limit)
{
	if (period_us <= 0 || period_us > (long long)LIMIT_MAX_US ||
	    quota_us > (long long)LIMIT_MAX_US)
		return -EBADMSG;
	ret_limit->quota_ns = quota_us > 0 ? (uint64_t)quota_us * 1000 : 0;
	ret_limit->period_ns = (uint64_t)period_us * 1000;
	return 0;
}

int cgroup_tree_limit(const struct cgroup_mounts *mounts, const char *path,
		      struct cgroup_limit *ret_limit)
{
	char quota[FILE_BYTES], period[FILE_BYTES];
	long long quota_us, period_us;
	int err;

	if (!mounts->v1) {
		err = read_file(mounts, path, "cpu.max", quota);
		if (err)
			return err;
		if (sscanf(quota, "max %lld", &period_us) == 1)
			return limit_of(0, period_us, ret_limit);
		if (sscanf(quota, "%lld %lld", &quota_us, &period_us) != 2)
			return -EBADMSG;
		return limit_of(quota_us, period_us, ret_limit);
	}
	err = read_file(mounts, path, "cpu.cfs_quota_us", quota);
	if (!err)
		err = read_file(mounts, path, "cpu.cfs_period_us", period);
	if (err)
		return err;
	if (sscanf(quota, "%lld", &quota_us) != 1 || sscanf(period, "%lld", &period_us) != 1)
		return -EBADMSG;
	return limit_of(quota_us, period_us, ret_limit);
}

int cgroup_tree_stat(const struct cgroup_mounts *mounts, const char *path,
		     struct cgroup_stat *ret_stat)
{
	struct cgroup_stat stat = {0};
	char text[FILE_BYTES];
	int err = read_file(mounts, path, "cpu.stat", text);

	if (err)
		return err;
	/* v2 without the cpu controller has a cpu.stat, too, of usage alone. */
	if (!find_number(text, "nr_periods", &stat.periods))
		return -ENOENT;
	if (!find_number(text, "nr_throttled", &stat.throttled_periods))
		return -EBADMSG;
	if (find_number(text, "throttled_usec", &stat.throttled_ns)) {
		if (stat.throttled_ns > UINT64_MAX / 1000)
			return -EBADMSG;
		stat.throttled_ns *= 1000;
	} else if (!find_number(text, "throttled_time", &stat.throttled_ns)) {
		return -EBADMSG;
	}
	*ret_stat = stat;
	return 0;
}

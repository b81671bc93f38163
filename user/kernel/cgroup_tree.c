/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/grow.h"

/* One word of a comma-separated list. */
static bool has_option(const char *options, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = options; (at = strstr(at, word)); at += len)
		if ((at == options || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* True where both files are there, and are of one namespace. */
static bool is_same(const char *a, const char *b)
{
	struct stat one, other;

	return !stat(a, &one) && !stat(b, &other) && one.st_ino == other.st_ino;
}

/*
 * Reads lines of mountinfo: id parent dev root mountpoint options ... - type source super-options.
 * Mounts are reached below prefix. ret_part: of the one with the cpu controller only a part is
 * mounted.
 */
static int read_mounts(const char *path, const char *prefix, struct cgroup_mounts *ret_mounts,
		       bool *ret_part)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	*ret_mounts = (struct cgroup_mounts){0};
	while (file && getline(&line, &cap, file) > 0) {
		char root[2048], point[2048], type[64], super[1024];
		char *tail = strstr(line, " - ");
		bool v1, v2;

		if (!tail || sscanf(line, "%*s %*s %*s %2047s %2047s", root, point) != 2 ||
		    sscanf(tail, " - %63s %*s %1023s", type, super) != 2)
			continue;
		v2 = !strcmp(type, "cgroup2") && !*ret_mounts->v2;
		v1 = !strcmp(type, "cgroup") && has_option(super, "cpu") && !ret_mounts->v1;
		if (v2)
			snprintf(ret_mounts->v2, CGROUP_MOUNT_BYTES, "%s%s", prefix, point);
		if (v1 || (v2 && !ret_mounts->v1)) {
			snprintf(ret_mounts->cpu, CGROUP_MOUNT_BYTES, "%s%s", prefix, point);
			ret_mounts->v1 = v1;
			*ret_part = strcmp(root, "/") != 0;
		}
	}
	return *ret_mounts->cpu ? 0 : -ENOTSUP;
}

/* A container sees its own group only; with the host's pids, pid 1 lends its view of all of
 * them. */
int cgroup_mounts_find(struct cgroup_mounts *ret_mounts)
{
	struct cgroup_mounts *all;
	bool part = false;
	int err = read_mounts("/proc/self/mountinfo", "", ret_mounts, &part);

	if (!err && !part && is_same("/proc/self/ns/cgroup", "/proc/1/ns/cgroup"))
		return 0;
	all = malloc(sizeof(*all));
	if (all && !read_mounts("/proc/1/mountinfo", "/proc/1/root", all, &part) && !part &&
	    is_folder(all->cpu)) {
		*ret_mounts = *all;
		err = 0;
	}
	free(all);
	return err;
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

/* --- walk ------------------------------------------------------------------------------------ */

/* A folder that is still to be looked into. */
struct folder {
	char *path; /* owned */
	uint64_t parent;
};

struct walk {
	const char *mount; /* that the folders lie in */
	dev_t dev;	   /* of all of them */
	struct folder *folders;
	size_t folders_cnt, folders_cap;
};

static void walk_clear(struct walk *walk)
{
	for (size_t i = 0; i < walk->folders_cnt; i++)
		free(walk->folders[i].path);
	free(walk->folders);
}

static int push(struct walk *walk, const char *above, const char *name, uint64_t parent)
{
	char *path;

	if (GROW(walk->folders, walk->folders_cnt, walk->folders_cap) ||
	    asprintf(&path, "%s%s%s", above, *name ? "/" : "", name) < 0)
		return -ENOMEM;
	walk->folders[walk->folders_cnt++] = (struct folder){path, parent};
	return 0;
}

/*
 * Looks into one folder. The kinds of its entries come with their names: its thirty files are not
 * looked at (measured: 100 us a group otherwise).
 */
static int look_into(struct walk *walk, const char *path, uint64_t parent,
		     void (*take)(void *ctx, const struct cgroup_entry *entry), void *ctx)
{
	const char *rest = below(path, walk->mount);
	struct cgroup_entry group;
	struct dirent *entry;
	struct stat st;
	DIR *dir = opendir(path);
	int err = 0;

	if (!dir) /* deleted meanwhile */
		return 0;
	if (!rest || fstat(dirfd(dir), &st) || st.st_dev != walk->dev)
		goto out;
	group = (struct cgroup_entry){
		.id = st.st_ino,
		.parent = parent,
		.path = *rest ? rest : "/",
	};
	take(ctx, &group);
	while (!err && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
		    strcmp(entry->d_name, ".."))
			err = push(walk, path, entry->d_name, st.st_ino);
out:
	closedir(dir);
	return err;
}

int cgroup_tree_walk(const char *folder, void (*take)(void *ctx, const struct cgroup_entry *entry),
		     void *ctx)
{
	_cleanup_(walk_clear) struct walk walk = {0};
	struct cgroup_mounts mounts;
	struct stat st;
	size_t cnt = 0;
	int err;

	if (stat(folder, &st) || !S_ISDIR(st.st_mode))
		return -ENOENT;
	err = cgroup_mounts_find(&mounts);
	if (err)
		return err;
	walk.mount = mounts.cpu;
	walk.dev = st.st_dev;
	err = push(&walk, folder, "", 0);
	while (!err && walk.folders_cnt) {
		struct folder next = walk.folders[--walk.folders_cnt];

		err = ++cnt > CGROUP_TREE_MAX ? -E2BIG
					      : look_into(&walk, next.path, next.parent, take, ctx);
		free(next.path);
	}
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive_group.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drive.h"

#define PERIOD_US 100000

static bool has_word(const char *list, const char *word, const char *separators)
{
	char copy[1024], *rest, *at;

	snprintf(copy, sizeof(copy), "%s", list);
	for (at = strtok_r(copy, separators, &rest); at; at = strtok_r(NULL, separators, &rest))
		if (!strcmp(at, word))
			return true;
	return false;
}

static bool v2_has_cpu(const char *mount)
{
	_cleanup_fclose_ FILE *in = NULL;
	char path[512], line[1024] = "";

	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	in = fopen(path, "re");
	return in && fgets(line, sizeof(line), in) && has_word(line, "cpu", " \n");
}

/* Where the cpu controller is mounted. */
static bool find_root(struct drive_group *g)
{
	_cleanup_fclose_ FILE *in = fopen("/proc/self/mounts", "re");
	char line[2048], mount[128], type[32], options[1024];

	cr_assert(in);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%*s %127s %31s %1023s", mount, type, options) != 3)
			continue;
		g->v2 = !strcmp(type, "cgroup2");
		if (g->v2 ? !v2_has_cpu(mount)
			  : strcmp(type, "cgroup") || !has_word(options, "cpu", ","))
			continue;
		snprintf(g->path, sizeof(g->path), "%s", mount);
		return true;
	}
	return false;
}

static bool try_put(const char *folder, const char *file, const char *text)
{
	char path[512];
	FILE *out;
	bool bad;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	out = fopen(path, "we");
	if (!out)
		return false;
	bad = fputs(text, out) < 0;
	return !fclose(out) && !bad;
}

static void put(const struct drive_group *g, const char *file, const char *text)
{
	cr_assert(try_put(g->path, file, text), "%s to %s/%s: %s", text, g->path, file,
		  strerror(errno));
}

void drive_group_new(struct drive_group *g, const struct drive_group *parent, const char *name)
{
	struct drive_group root = {0};

	if (!parent && !find_root(&root))
		drive_skip("no cgroup controller for the CPU");
	if (!parent)
		parent = &root;
	if (parent->v2)
		put(parent, "cgroup.subtree_control", "+cpu");
	g->v2 = parent->v2;
	cr_assert_lt((size_t)snprintf(g->path, sizeof(g->path), "%s/hotrun-test-%d-%s",
				      parent->path, getpid(), name),
		     sizeof(g->path));
	cr_assert_eq(mkdir(g->path, 0755), 0, "%s: %s", g->path, strerror(errno));
}

void drive_group_limit(const struct drive_group *g, uint64_t quota_us)
{
	char text[64];

	if (g->v2) {
		snprintf(text, sizeof(text), "%llu %d", (unsigned long long)quota_us, PERIOD_US);
		put(g, "cpu.max", quota_us ? text : "max");
		return;
	}
	snprintf(text, sizeof(text), "%d", PERIOD_US);
	put(g, "cpu.cfs_period_us", text);
	snprintf(text, sizeof(text), "%lld", quota_us ? (long long)quota_us : -1);
	put(g, "cpu.cfs_quota_us", text);
}

void drive_group_prefer(const struct drive_group *g)
{
	if (g->v2)
		put(g, "cpu.weight", "10000");
	else
		put(g, "cpu.shares", "262144");
}

void drive_group_move(const struct drive_group *g, pid_t pid)
{
	struct drive_group root = {0};
	char text[16];

	if (!g)
		cr_assert(find_root(&root));
	snprintf(text, sizeof(text), "%d", pid);
	put(g ? g : &root, "cgroup.procs", text);
}

uint64_t drive_group_throttled_ns(const struct drive_group *g)
{
	_cleanup_fclose_ FILE *in = NULL;
	char path[512], line[128];
	unsigned long long value;

	snprintf(path, sizeof(path), "%s/cpu.stat", g->path);
	in = fopen(path, "re");
	cr_assert(in, "%s", path);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "throttled_time %llu", &value) == 1)
			return value;
		if (sscanf(line, "throttled_usec %llu", &value) == 1)
			return value * 1000;
	}
	cr_assert_fail("%s tells no throttled time", path);
	return 0;
}

void drive_group_free(const struct drive_group *g)
{
	/* Those that were killed leave it a little later. */
	for (int i = 0; i < 200 && rmdir(g->path); i++)
		drive_sleep(5 * DRIVE_MS);
	cr_expect(access(g->path, F_OK), "%s stays", g->path);
}

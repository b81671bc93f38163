/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/frame_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"

/* dotnet/runtime, what shared/Microsoft.NETCore.App and the host hold; the apphost of a program is
 * called as the program, see find_hosts(). */
static const char *const runtime_files[] = {
	"libcoreclr*.so",   "libclr*.so",     "libmscordaccore*.so",
	"libmscordbi.so",   "libSystem.*.so", "libhostfxr.so",
	"libhostpolicy.so", "libnethost.so",  "libcoreclrtraceptprovider.so",
	"dotnet",	    "corerun",
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool frame_view_glob_matches(const char *glob, const char *text, size_t len)
{
	const char *star = NULL;
	size_t i = 0, behind = 0;

	while (i < len) {
		if (*glob == '*') {
			star = ++glob;
			behind = i;
		} else if (*glob && (*glob == '?' || lower(*glob) == lower(text[i]))) {
			glob++;
			i++;
		} else if (star) {
			glob = star;
			i = ++behind;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

bool frame_view_is_runtime(const char *file)
{
	for (size_t i = 0; i < sizeof(runtime_files) / sizeof(*runtime_files); i++)
		if (frame_view_glob_matches(runtime_files[i], file, strlen(file)))
			return true;
	return false;
}

void frame_view_raw_names(struct model *m)
{
	for (size_t i = 0; i < m->symbols_cnt; i++)
		m->symbols[i].name = m->symbols[i].raw;
	m->raw_names = true;
}

/* Files that a distribution installs for everybody. */
static bool is_system(const char *path)
{
	return !strncmp(path, "/lib", 4) || !strncmp(path, "/usr/lib", 8);
}

/* Interned names of files, ordered by address. */
struct files {
	uintptr_t *names;
	size_t cnt;
};

static void files_clear(struct files *files)
{
	free(files->names);
}

static int compare_names(const void *a, const void *b)
{
	uintptr_t na = *(const uintptr_t *)a, nb = *(const uintptr_t *)b;

	return COMPARE(na, nb);
}

static bool files_hold(const struct files *files, const char *name)
{
	uintptr_t key = (uintptr_t)name;

	return files->cnt &&
	       bsearch(&key, files->names, files->cnt, sizeof(key), compare_names) != NULL;
}

static void files_add(struct files *files, const char *name)
{
	files->names[files->cnt++] = (uintptr_t)name;
}

static void files_sort(struct files *files)
{
	if (files->cnt)
		qsort(files->names, files->cnt, sizeof(*files->names), compare_names);
}

static const char *basename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Executables of .NET processes: the runtime's host, or the runtime itself. */
static int find_hosts(struct model *m, struct files *files)
{
	files->names = calloc(m->processes_cnt + 1, sizeof(*files->names));
	if (!files->names)
		return -ENOMEM;
	for (size_t i = 0; i < m->processes_cnt; i++)
		if (m->processes[i].flags & PROCESS_DOTNET)
			files_add(files, model_str(m, basename_of(m->processes[i].exe)));
	files_sort(files);
	return 0;
}

/* Files outside of the system's folders. */
static int find_own(struct model *m, struct files *files)
{
	files->names = calloc(m->modules_cnt + 1, sizeof(*files->names));
	if (!files->names)
		return -ENOMEM;
	for (size_t i = 0; i < m->modules_cnt; i++) {
		const char *path = m->modules[i].path;

		if (*path == '/' && !is_system(path))
			files_add(files, model_str(m, basename_of(path)));
	}
	files_sort(files);
	return 0;
}

/* What the last rule that matches says, else `mine`. */
static bool judge(const struct frame_view_rule *rules, size_t cnt, const char *module, bool mine)
{
	size_t len = strlen(module), bare = len;

	if (len > 4 && !strcmp(module + len - 4, ".dll"))
		bare = len - 4;
	while (cnt-- > 0)
		if (frame_view_glob_matches(rules[cnt].glob, module, len) ||
		    frame_view_glob_matches(rules[cnt].glob, module, bare))
			return rules[cnt].mine;
	return mine;
}

int frame_view_mark_code(struct model *m, const struct frame_view_rule *rules, size_t cnt)
{
	_cleanup_(files_clear) struct files own = {0}, hosts = {0};
	int err = find_own(m, &own);

	if (!err)
		err = find_hosts(m, &hosts);
	if (err)
		return err;
	for (size_t i = 0; i < m->symbols_cnt; i++) {
		struct model_symbol *s = &m->symbols[i];
		bool mine = s->application;

		if (s->kind == KIND_NATIVE)
			mine = (mine || files_hold(&own, s->module)) &&
			       !frame_view_is_runtime(s->module) && !files_hold(&hosts, s->module);
		else if (s->kind != KIND_JIT && s->kind != KIND_IMAGE)
			continue;
		s->application = judge(rules, cnt, s->module, mine);
	}
	return 0;
}

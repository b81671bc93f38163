/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/freezer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "opener/guard.h"

#define CGROUP_BYTES 65536	/* a dozen hierarchies with paths of PATH_MAX */
#define MOUNTS_BYTES (1u << 20) /* hosts of containers have thousands of mounts */
#define FILE_BYTES   256

/* What tells of each hierarchy that its processes stand, that they are to, and that this group was
 * told so itself; and what ends it. */
static const struct hierarchy {
	const char *state, *stands, *stops; /* a file, and texts in it */
	const char *own;		    /* a file that begins with 1 in the group itself */
	const char *thaw, *thawed;	    /* a file, and what is written there */
} hierarchies[] = {
	[LEFT_FROZEN_V1] = {"freezer.state", "FROZEN", "FREEZING", "freezer.self_freezing",
			    "freezer.state", "THAWED"},
	/* A group that is told to freeze has no word for being on its way. */
	[LEFT_FROZEN_V2] = {"cgroup.events", "frozen 1", NULL, "cgroup.freeze", "cgroup.freeze",
			    "0"},
};

/* --- where ------------------------------------------------------------------------------------ */

static bool has_option(const char *options, const char *wanted)
{
	size_t len = strlen(wanted);

	for (const char *at = options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, wanted, len) && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

/* "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0". The first of each counts. */
static void take_mount(char *line, struct freezer *f)
{
	char *save, *point, *type, *options;

	if (!strtok_r(line, " ", &save))
		return;
	point = strtok_r(NULL, " ", &save);
	type = strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!options || strlen(point) >= PATH_MAX || strchr(point, '\\'))
		return;
	if (!*f->v2 && !strcmp(type, "cgroup2"))
		strcpy(f->v2, point);
	if (!*f->v1 && !strcmp(type, "cgroup") && has_option(options, "freezer"))
		strcpy(f->v1, point);
}

void freezer_find(const char *proc_path, struct freezer *ret_freezer)
{
	_cleanup_close_ int fd = open(proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *text = malloc(MOUNTS_BYTES);
	char *save, *line;

	*ret_freezer = (struct freezer){0};
	if (fd < 0 || !text || guard_read(fd, "self/mounts", text, MOUNTS_BYTES) < 0)
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		take_mount(line, ret_freezer);
}

/* --- whether ---------------------------------------------------------------------------------- */

static bool read_file(const char *group, const char *name, char text[static FILE_BYTES])
{
	_cleanup_close_ int fd = open(group, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && guard_read(fd, name, text, FILE_BYTES) >= 0;
}

static bool is_frozen_itself(const struct hierarchy *h, const char *group)
{
	char text[FILE_BYTES];

	return read_file(group, h->own, text) && *text == '1';
}

static uint32_t count_lines(int folder_fd, const char *name)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[4096];
	uint32_t cnt = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			cnt += text[i] == '\n';
	return cnt;
}

/* Of a group and those below: who owns a tree of groups chooses how deep it is, so each is opened
 * by itself once the one above is done with. */
static uint32_t count_processes(const char *group)
{
	_cleanup_free_ char **names = calloc(FREEZER_GROUPS_MAX, sizeof(*names));
	size_t cnt = 0, done = 0;
	uint32_t processes_cnt = 0;

	if (names && (names[0] = strdup(group)))
		cnt = 1;
	for (; done < cnt; free(names[done++])) {
		_cleanup_close_ int fd = open(names[done], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		const struct dirent *entry;
		DIR *dir = fd < 0 ? NULL : fdopendir(fd);

		if (!dir)
			continue;
		take_fd(&fd);
		processes_cnt += count_lines(dirfd(dir), "cgroup.procs");
		while (cnt < FREEZER_GROUPS_MAX && (entry = readdir(dir)))
			if (entry->d_type == DT_DIR && *entry->d_name != '.' &&
			    asprintf(&names[cnt], "%s/%s", names[done], entry->d_name) > 0)
				cnt++;
		closedir(dir);
	}
	return processes_cnt;
}

static void describe(const struct hierarchy *h, const char *mount, struct left_freeze *freeze)
{
	char *group = freeze->group;
	size_t top = strlen(mount);

	/* The one that was frozen itself: this, or one above. */
	while (strlen(group) > top && !is_frozen_itself(h, group)) {
		char *slash = strrchr(group, '/');

		if (!slash)
			break;
		*slash = '\0';
	}
	freeze->found = strlen(group) > top;
	if (freeze->found)
		freeze->processes_cnt = count_processes(group);
}

/* path: of the group, as /proc/PID/cgroup has it. */
static bool look_at(enum left_freezer version, const char *mount, const char *path,
		    struct left_freeze *freeze)
{
	const struct hierarchy *h = &hierarchies[version];
	char text[FILE_BYTES];
	bool stands, stops;

	/* In a cgroup namespace of its own hotrun cannot see groups beside it. */
	if (!*mount || *path != '/' || !path[1] || !strncmp(path, "/..", 3) ||
	    snprintf(freeze->group, sizeof(freeze->group), "%s%s", mount, path) >=
		    (int)sizeof(freeze->group))
		return false;
	if (!read_file(freeze->group, h->state, text))
		return false;
	stands = strstr(text, h->stands) != NULL;
	stops = h->stops && strstr(text, h->stops);
	if (!stands && !stops)
		return false;
	freeze->frozen = version;
	freeze->freezing = !stands;
	describe(h, mount, freeze);
	return true;
}

void freezer_look(const struct freezer *f, int process_fd, struct left_freeze *ret_freeze)
{
	_cleanup_free_ char *text = malloc(CGROUP_BYTES);
	struct left_freeze *freeze = ret_freeze;
	char *save, *line;
	bool found = false;

	*freeze = (struct left_freeze){0};
	if ((!*f->v1 && !*f->v2) || !text ||
	    guard_read(process_fd, "cgroup", text, CGROUP_BYTES) < 0)
		return;
	/* "6:freezer:/path", "0::/path" */
	for (line = strtok_r(text, "\n", &save); line && !found;
	     line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':'), *path;

		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*controllers++ = '\0';
		*path++ = '\0';
		if (!strcmp(line, "0") && !*controllers)
			found = look_at(LEFT_FROZEN_V2, f->v2, path, freeze);
		else if (has_option(controllers, "freezer"))
			found = look_at(LEFT_FROZEN_V1, f->v1, path, freeze);
	}
	if (!found)
		*freeze = (struct left_freeze){0};
}

/* --- the way out ------------------------------------------------------------------------------ */

int freezer_thaw(const struct left_freeze *freeze)
{
	_cleanup_close_ int folder_fd = -1, fd = -1;
	const struct hierarchy *h;

	if (freeze->frozen == LEFT_NOT_FROZEN || !freeze->found)
		return -ENOENT;
	h = &hierarchies[freeze->frozen];
	folder_fd = open(freeze->group, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder_fd < 0)
		return -errno;
	fd = openat(folder_fd, h->thaw, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : io_write(fd, h->thawed, strlen(h->thawed));
}

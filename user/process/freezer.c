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

/* Groups above each other that are looked at. */
#define FREEZER_LEVELS_MAX 64u
/* Frozen groups whose processes were counted. */
#define FREEZER_COUNTED_MAX 64u

struct freezer_counted {
	char *group; /* owned */
	uint32_t cnt;
	bool cut;
};

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

/* A line of mountinfo (proc(5)): "36 35 0:29 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw".
 * The first of each counts whose root is the hierarchy's: below another one paths are others. */
static void take_mount(char *line, struct freezer *f)
{
	char *save, *rest = strstr(line, " - "), *root, *point, *type, *options;

	if (!rest)
		return;
	*rest = '\0';
	for (int i = 0; i < 3; i++)
		if (!strtok_r(i ? NULL : line, " ", &save))
			return;
	root = strtok_r(NULL, " ", &save);
	point = strtok_r(NULL, " ", &save);
	type = strtok_r(rest + strlen(" - "), " ", &save);
	if (!root || strcmp(root, "/") || !point || strlen(point) >= PATH_MAX ||
	    strchr(point, '\\') || !type || !strtok_r(NULL, " ", &save))
		return;
	options = strtok_r(NULL, " ", &save);
	if (!*f->v2 && !strcmp(type, "cgroup2"))
		strcpy(f->v2, point);
	if (!*f->v1 && !strcmp(type, "cgroup") && options && has_option(options, "freezer"))
		strcpy(f->v1, point);
}

void freezer_find(const char *proc_path, const volatile sig_atomic_t *stop,
		  struct freezer *ret_freezer)
{
	_cleanup_close_ int fd = open(proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *text = malloc(MOUNTS_BYTES);
	char *save, *line;

	*ret_freezer = (struct freezer){.stop = stop};
	ret_freezer->counted = calloc(FREEZER_COUNTED_MAX, sizeof(*ret_freezer->counted));
	if (fd < 0 || !text || guard_read(fd, "self/mountinfo", text, MOUNTS_BYTES) < 0)
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		take_mount(line, ret_freezer);
}

void freezer_clear(struct freezer *f)
{
	for (size_t i = 0; f->counted && i < FREEZER_COUNTED_MAX; i++)
		free(f->counted[i].group);
	free(f->counted);
	*f = (struct freezer){0};
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

static bool is_stopped(const struct freezer *f)
{
	return f->stop && *f->stop;
}

/* Of a group and those below: who owns a tree of groups chooses how deep it is, so each is opened
 * by itself once the one above is done with. */
static void count_processes(const struct freezer *f, const char *group,
			    struct freezer_counted *counted)
{
	_cleanup_free_ char **names = calloc(FREEZER_GROUPS_MAX, sizeof(*names));
	size_t cnt = 0, done = 0;

	if (names && (names[0] = strdup(group)))
		cnt = 1;
	for (; done < cnt; free(names[done++])) {
		_cleanup_close_ int fd = open(names[done], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = fd < 0 || is_stopped(f) ? NULL : fdopendir(fd);
		const struct dirent *entry;

		counted->cut |= !dir;
		if (!dir)
			continue;
		take_fd(&fd);
		counted->cnt += count_lines(dirfd(dir), "cgroup.procs");
		while ((entry = readdir(dir))) {
			if (entry->d_type != DT_DIR || *entry->d_name == '.')
				continue;
			if (cnt >= FREEZER_GROUPS_MAX ||
			    asprintf(&names[cnt], "%s/%s", names[done], entry->d_name) < 0) {
				counted->cut = true;
				break;
			}
			cnt++;
		}
		closedir(dir);
	}
}

/* Once for all processes of the group. */
static void add_count(const struct freezer *f, struct left_freeze *freeze)
{
	struct freezer_counted now = {0}, *known = &now;

	for (size_t i = 0; f->counted && i < FREEZER_COUNTED_MAX; i++) {
		if (f->counted[i].group && strcmp(f->counted[i].group, freeze->group))
			continue;
		known = &f->counted[i];
		break;
	}
	if (!known->group) {
		count_processes(f, freeze->group, known);
		if (known != &now)
			known->group = strdup(freeze->group);
	}
	freeze->processes_cnt = known->cnt;
	freeze->processes_cut = known->cut;
}

/* From the group upwards to the one that was frozen itself, which group is then. Who owns a tree of
 * groups chooses how deep it is. */
static bool find_frozen_itself(const struct hierarchy *h, const char *mount, char *group)
{
	size_t top = strlen(mount);

	for (unsigned int i = 0; i < FREEZER_LEVELS_MAX && strlen(group) > top; i++) {
		char *slash = strrchr(group, '/');

		if (is_frozen_itself(h, group))
			return true;
		if (!slash)
			break;
		*slash = '\0';
	}
	return false;
}

/* In a cgroup namespace of its own hotrun cannot see groups beside it: "/../a". */
static bool is_outside(const char *path)
{
	return *path != '/' || (!strncmp(path, "/..", 3) && (path[3] == '/' || !path[3]));
}

/* path: of the group, as /proc/PID/cgroup has it. */
static void look_at(const struct freezer *f, enum left_freezer version, const char *path,
		    struct left_freeze *freeze)
{
	const char *mount = version == LEFT_FROZEN_V1 ? f->v1 : f->v2;
	const struct hierarchy *h = &hierarchies[version];
	bool stands, stops, unseen = freeze->unseen;
	char text[FILE_BYTES];

	/* The topmost group cannot be frozen. */
	if (!strcmp(path, "/"))
		return;
	if (!*mount || is_outside(path) ||
	    snprintf(freeze->group, sizeof(freeze->group), "%s%s", mount, path) >=
		    (int)sizeof(freeze->group) ||
	    !read_file(freeze->group, h->state, text)) {
		*freeze = (struct left_freeze){.unseen = true};
		return;
	}
	stands = strstr(text, h->stands) != NULL;
	stops = h->stops && strstr(text, h->stops);
	freeze->found =
		(stands || stops || !h->stops) && find_frozen_itself(h, mount, freeze->group);
	/* Without a word for being on its way, being told to freeze is one. */
	if (!h->stops && !stands)
		stops = freeze->found;
	if (!stands && !stops) {
		*freeze = (struct left_freeze){.unseen = unseen};
		return;
	}
	freeze->unseen = false;
	freeze->frozen = version;
	freeze->freezing = !stands;
	if (freeze->found)
		add_count(f, freeze);
}

void freezer_look(const struct freezer *f, int process_fd, struct left_freeze *ret_freeze)
{
	_cleanup_free_ char *text = malloc(CGROUP_BYTES);
	struct left_freeze *freeze = ret_freeze;
	char *save, *line;

	*freeze = (struct left_freeze){0};
	if (!text || guard_read(process_fd, "cgroup", text, CGROUP_BYTES) < 0) {
		freeze->unseen = true;
		return;
	}
	/* "6:freezer:/path", "0::/path" */
	for (line = strtok_r(text, "\n", &save); line && freeze->frozen == LEFT_NOT_FROZEN;
	     line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':'), *path;

		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*controllers++ = '\0';
		*path++ = '\0';
		if (!strcmp(line, "0") && !*controllers)
			look_at(f, LEFT_FROZEN_V2, path, freeze);
		else if (has_option(controllers, "freezer"))
			look_at(f, LEFT_FROZEN_V1, path, freeze);
	}
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

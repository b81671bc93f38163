/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CONTAINER_ID_LEN 64 /* hex digits of a container id */
#define SHORT_ID_LEN	 12 /* as `docker ps` shows it */
#define POD_UID_LEN	 36

struct part {
	const char *s;
	size_t len;
};

static bool ends_with(struct part p, const char *suffix)
{
	size_t n = strlen(suffix);

	return p.len > n && !memcmp(p.s + p.len - n, suffix, n);
}

static bool starts_with(struct part p, const char *prefix)
{
	size_t n = strlen(prefix);

	return p.len > n && !memcmp(p.s, prefix, n);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* The 64 hex digits at the end of "docker-ID.scope", "pod:cri-containerd:ID" or plain "ID". */
static bool container_id(struct part p, struct part *ret_id)
{
	if (ends_with(p, ".scope"))
		p.len -= strlen(".scope");
	if (p.len < CONTAINER_ID_LEN)
		return false;
	p.s += p.len - CONTAINER_ID_LEN;
	for (size_t i = 0; i < CONTAINER_ID_LEN; i++)
		if (!is_hex(p.s[i]))
			return false;
	*ret_id = (struct part){p.s, SHORT_ID_LEN};
	return true;
}

/* The UID in "podUID" or "kubepods-burstable-podUID.slice", where systemd has '_' for '-'. */
static bool pod_uid(struct part p, char ret_uid[POD_UID_LEN + 1])
{
	const char *pod;

	if (ends_with(p, ".slice"))
		p.len -= strlen(".slice");
	if (p.len < POD_UID_LEN + 3)
		return false;
	pod = p.s + p.len - POD_UID_LEN - 3;
	if (memcmp(pod, "pod", 3) || (pod != p.s && pod[-1] != '-'))
		return false;
	for (int i = 0; i < POD_UID_LEN; i++) {
		char c = pod[3 + i];

		if (!is_hex(c) && c != '-' && c != '_')
			return false;
		ret_uid[i] = c == '_' ? '-' : c;
	}
	ret_uid[POD_UID_LEN] = '\0';
	return true;
}

static int hex_value(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Undoes systemd's "\x2d". */
static void unescape_unit(struct part p, char *out, size_t out_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < p.len && n + 1 < out_bytes; n++) {
		if (p.len - i >= 4 && p.s[i] == '\\' && p.s[i + 1] == 'x' && is_hex(p.s[i + 2]) &&
		    is_hex(p.s[i + 3])) {
			out[n] = (char)(hex_value(p.s[i + 2]) * 16 + hex_value(p.s[i + 3]));
			i += 4;
		} else {
			out[n] = p.s[i++];
		}
	}
	out[n] = '\0';
}

/* Deeper components override what their parents told. */
static void read_component(struct part p, struct part *unit, char *container)
{
	struct part id;
	char uid[POD_UID_LEN + 1];

	if (container_id(p, &id)) {
		snprintf(container, CGROUP_CONTAINER_BYTES, "%.*s", (int)id.len, id.s);
		unit->len = 0; /* the unit above is the container engine's, not the process's */
	} else if (pod_uid(p, uid)) {
		snprintf(container, CGROUP_CONTAINER_BYTES, "pod %s", uid);
	} else if (starts_with(p, "lxc.payload.")) {
		snprintf(container, CGROUP_CONTAINER_BYTES, "%.*s", (int)(p.len - 12), p.s + 12);
	} else if (ends_with(p, ".service") || ends_with(p, ".scope")) {
		*unit = p;
	}
}

static void read_path(struct part path, char *unit, char *container)
{
	struct part deepest = {0};
	const char *end = path.s + path.len;

	for (const char *s = path.s; s < end;) {
		const char *slash = memchr(s, '/', (size_t)(end - s));
		struct part p = {s, (size_t)((slash ? slash : end) - s)};

		read_component(p, &deepest, container);
		s += p.len + 1;
	}
	if (deepest.len)
		unescape_unit(deepest, unit, CGROUP_UNIT_BYTES);
}

static bool has_controller(struct part list, const char *name)
{
	const char *end = list.s + list.len;
	size_t n = strlen(name);

	for (const char *s = list.s; s < end;) {
		const char *comma = memchr(s, ',', (size_t)(end - s));
		size_t len = (size_t)((comma ? comma : end) - s);

		if (len == n && !memcmp(s, name, n))
			return true;
		s += len + 1;
	}
	return false;
}

/* How telling a container text is: an id beats a pod, anything beats nothing. */
static int rank_of(const char *container)
{
	return !container[0] ? 0 : !strncmp(container, "pod ", 4) ? 1 : 2;
}

static void read_line(struct part line, int *path_rank, struct cgroup_facts *facts)
{
	char unit[CGROUP_UNIT_BYTES] = "", container[CGROUP_CONTAINER_BYTES] = "";
	const char *colon = memchr(line.s, ':', line.len);
	const char *second;
	struct part controllers, path;
	int rank;

	if (!colon)
		return;
	second = memchr(colon + 1, ':', line.len - (size_t)(colon + 1 - line.s));
	if (!second)
		return;
	controllers = (struct part){colon + 1, (size_t)(second - colon - 1)};
	path = (struct part){second + 1, line.len - (size_t)(second + 1 - line.s)};
	rank = has_controller(controllers, "cpu") ? 3 : !controllers.len ? 2 : 1;
	if (rank > *path_rank) {
		*path_rank = rank;
		snprintf(facts->path, sizeof(facts->path), "%.*s",
			 (int)(path.len < sizeof(facts->path) ? path.len : sizeof(facts->path)),
			 path.s);
	}
	read_path(path, unit, container);
	/* On hybrid hosts only some hierarchies know the unit: systemd's own line comes first. */
	if (unit[0] && (!facts->unit[0] || has_controller(controllers, "name=systemd")))
		memcpy(facts->unit, unit, sizeof(unit));
	if (rank_of(container) > rank_of(facts->container))
		memcpy(facts->container, container, sizeof(container));
}

void cgroup_parse(const char *text, size_t len, struct cgroup_facts *ret_facts)
{
	const char *end = text + len;
	int path_rank = 0;

	ret_facts->path[0] = ret_facts->unit[0] = ret_facts->container[0] = '\0';
	for (const char *s = text; s < end;) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		struct part line = {s, (size_t)((newline ? newline : end) - s)};

		read_line(line, &path_rank, ret_facts);
		s += line.len + 1;
	}
}

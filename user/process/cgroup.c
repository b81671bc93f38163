/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CONTAINER_ID_LEN (CONTAINER_ID_BYTES - 1)
#define SHORT_ID_LEN	 12 /* as `docker ps` shows it */
#define POD_UID_LEN	 (CONTAINER_POD_UID_BYTES - 1)
#define STATIC_UID_LEN	 32

struct part {
	const char *s;
	size_t len;
};

/* What is known of a path up to a component of it. */
struct walk {
	struct part unit; /* the deepest */
	struct part parent;
	struct cgroup_container container;
};

static bool is(struct part p, const char *name)
{
	return p.len == strlen(name) && !memcmp(p.s, name, p.len);
}

static bool ends_with(struct part p, const char *suffix)
{
	size_t n = strlen(suffix);

	return p.len >= n && !memcmp(p.s + p.len - n, suffix, n);
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

static bool all_hex(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_hex(s[i]))
			return false;
	return true;
}

/* --- containers ------------------------------------------------------------------------------ */

/* The 64 hex digits at the end of "docker-ID.scope", "pod:cri-containerd:ID" or plain "ID", and
 * what stands before them. */
static bool container_id(struct part p, struct part *ret_before, struct part *ret_id)
{
	if (ends_with(p, ".scope"))
		p.len -= strlen(".scope");
	if (p.len < CONTAINER_ID_LEN || !all_hex(p.s + p.len - CONTAINER_ID_LEN, CONTAINER_ID_LEN))
		return false;
	*ret_before = (struct part){p.s, p.len - CONTAINER_ID_LEN};
	*ret_id = (struct part){p.s + ret_before->len, CONTAINER_ID_LEN};
	return true;
}

/* By what stands before an id: of a plain one the folder that it lies in tells. */
static const char *runtime_of(struct part before, struct part parent)
{
	static const struct {
		const char *before, *runtime;
	} rows[] = {
		{"docker-", "docker"},
		{"cri-containerd-", "containerd"},
		{"containerd-", "containerd"},
		{"nerdctl-", "containerd"},
		{"crio-", "cri-o"},
		{"libpod-", "podman"},
		{"libpod-payload-", "podman"},
	};

	if (!before.len)
		return is(parent, "docker")	     ? "docker"
		       : is(parent, "libpod_parent") ? "podman"
						     : "";
	if (ends_with(before, ":cri-containerd:"))
		return "containerd";
	if (ends_with(before, ":docker:"))
		return "docker";
	if (ends_with(before, ":crio:"))
		return "cri-o";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (is(before, rows[i].before))
			return rows[i].runtime;
	return "";
}

/* --- pods ------------------------------------------------------------------------------------ */

/* The UID that p ends in, '_' made '-' again: 36 characters, or the 32 digits of a static pod. */
static size_t uid_at_end(struct part p, char ret_uid[CONTAINER_POD_UID_BYTES])
{
	size_t len = p.len >= POD_UID_LEN + 3 && !memcmp(p.s + p.len - POD_UID_LEN - 3, "pod", 3)
			     ? POD_UID_LEN
			     : STATIC_UID_LEN;
	const char *uid;

	if (p.len < len + 3)
		return 0;
	uid = p.s + p.len - len;
	if (memcmp(uid - 3, "pod", 3))
		return 0;
	for (size_t i = 0; i < len; i++) {
		bool dash = len == POD_UID_LEN && (i == 8 || i == 13 || i == 18 || i == 23);

		if (dash ? uid[i] != '-' && uid[i] != '_' : !is_hex(uid[i]))
			return 0;
		ret_uid[i] = dash ? '-' : uid[i];
	}
	ret_uid[len] = '\0';
	return len;
}

/* The class stands in the name of the pod's slice, or is the folder that the pod lies in. */
static const char *qos_of(struct part before, struct part parent)
{
	struct part where = before.len ? before : parent;

	if (ends_with(where, "burstable-") || is(where, "burstable"))
		return "burstable";
	if (ends_with(where, "besteffort-") || is(where, "besteffort"))
		return "besteffort";
	return ends_with(where, "kubepods-") || is(where, "kubepods") ? "guaranteed" : "";
}

/* "podUID", "kubepods-burstable-podUID.slice", and that before ":cri-containerd:ID". */
static bool read_pod(struct part p, struct walk *w)
{
	const char *colon = memchr(p.s, ':', p.len);
	char uid[CONTAINER_POD_UID_BYTES];
	struct part before;
	size_t len;

	if (colon)
		p.len = (size_t)(colon - p.s);
	if (ends_with(p, ".slice"))
		p.len -= strlen(".slice");
	len = uid_at_end(p, uid);
	before = (struct part){p.s, len ? p.len - len - 3 : 0};
	if (!len || (before.len && before.s[before.len - 1] != '-'))
		return false;
	w->container = (struct cgroup_container){.qos = qos_of(before, w->parent), .runtime = ""};
	memcpy(w->container.pod_uid, uid, len + 1);
	snprintf(w->container.text, sizeof(w->container.text), "pod %s", uid);
	w->unit.len = 0; /* what is above is the engine's */
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

static bool read_container(struct part p, struct walk *w)
{
	struct cgroup_container *c = &w->container;
	struct part before, id;

	/* conmon watches the container from outside. */
	if (!container_id(p, &before, &id) || ends_with(before, "-conmon-"))
		return false;
	/* The unit above is the container engine's, but for a container in the group of its
	 * unit. */
	if (!is(before, "libpod-payload-"))
		w->unit.len = 0;
	if (c->pod_uid[0] && c->id[0])
		return true;
	c->runtime = runtime_of(before, w->parent);
	memcpy(c->id, id.s, id.len);
	c->id[id.len] = '\0';
	snprintf(c->text, sizeof(c->text), "%.*s", SHORT_ID_LEN, id.s);
	return true;
}

/* Deeper components override what their parents told. */
static void read_component(struct part p, struct walk *w)
{
	bool pod = read_pod(p, w);

	if (read_container(p, w) || pod)
		return;
	if (starts_with(p, "lxc.payload.")) {
		w->container = (struct cgroup_container){.qos = "", .runtime = "lxc"};
		snprintf(w->container.text, sizeof(w->container.text), "%.*s", (int)(p.len - 12),
			 p.s + 12);
	} else if (ends_with(p, ".service") || ends_with(p, ".scope")) {
		w->unit = p;
	}
}

static void read_path(struct part path, char *unit, struct cgroup_container *ret_container)
{
	struct walk w = {.container = {.qos = "", .runtime = ""}};
	const char *end = path.s + path.len;

	for (const char *s = path.s; s < end;) {
		const char *slash = memchr(s, '/', (size_t)(end - s));
		struct part p = {s, (size_t)((slash ? slash : end) - s)};

		read_component(p, &w);
		w.parent = p;
		s += p.len + 1;
	}
	if (w.unit.len)
		unescape_unit(w.unit, unit, CGROUP_UNIT_BYTES);
	*ret_container = w.container;
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

/* How telling it is: an id beats a pod, anything beats nothing. */
static int rank_of(const struct cgroup_container *c)
{
	return c->id[0] ? (c->pod_uid[0] ? 3 : 2) : c->text[0] ? 1 : 0;
}

static void read_line(struct part line, int *path_rank, struct cgroup_facts *facts)
{
	struct cgroup_container container;
	char unit[CGROUP_UNIT_BYTES] = "";
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
	read_path(path, unit, &container);
	/* On hybrid hosts only some hierarchies know the unit: systemd's own line comes first. */
	if (unit[0] && (!facts->unit[0] || has_controller(controllers, "name=systemd")))
		memcpy(facts->unit, unit, sizeof(unit));
	if (rank_of(&container) > rank_of(&facts->container))
		facts->container = container;
}

void cgroup_parse(const char *text, size_t len, struct cgroup_facts *ret_facts)
{
	const char *end = text + len;
	int path_rank = 0;

	ret_facts->path[0] = ret_facts->unit[0] = '\0';
	ret_facts->container = (struct cgroup_container){.qos = "", .runtime = ""};
	for (const char *s = text; s < end;) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		struct part line = {s, (size_t)((newline ? newline : end) - s)};

		read_line(line, &path_rank, ret_facts);
		s += line.len + 1;
	}
}

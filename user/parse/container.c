/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/container.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"

static void put_json(struct json_object **o)
{
	json_object_put(*o);
}

/* NULL where it is no JSON, or nested too deep. Owned. */
static struct json_object *parse(const char *json, size_t len)
{
	struct json_tokener *tokener = json_tokener_new_ex(CONTAINER_JSON_DEPTH);
	struct json_object *o = NULL;

	if (tokener && len < INT_MAX)
		o = json_tokener_parse_ex(tokener, json, (int)len);
	if (tokener)
		json_tokener_free(tokener);
	return o;
}

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	/* Asked of anything else than an object, json-c ends the program in debug builds. */
	if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, key, &value))
		return NULL;
	return value;
}

static bool put_name(char *buf, size_t buf_bytes, const char *s, size_t len)
{
	if (!len || len >= buf_bytes || memchr(s, '\0', len))
		return false;
	memcpy(buf, s, len);
	buf[len] = '\0';
	return true;
}

static bool take_text(struct json_object *text, char *buf, size_t buf_bytes)
{
	if (!json_object_is_type(text, json_type_string))
		return false;
	return put_name(buf, buf_bytes, json_object_get_string(text),
			(size_t)json_object_get_string_len(text));
}

/* What containers of pods are labelled with. */
struct labels {
	const char *name, *pod, *namespace, *pod_uid;
};

static bool take_labels(struct json_object *o, const struct labels *labels,
			struct container_names *names)
{
	take_text(member(o, labels->name), names->name, sizeof(names->name));
	take_text(member(o, labels->namespace), names->namespace, sizeof(names->namespace));
	take_text(member(o, labels->pod_uid), names->pod_uid, sizeof(names->pod_uid));
	return take_text(member(o, labels->pod), names->pod, sizeof(names->pod));
}

/* pkg/kubelet/types/labels.go of Kubernetes. */
static const struct labels kubelet_labels = {
	"io.kubernetes.container.name", "io.kubernetes.pod.name", "io.kubernetes.pod.namespace",
	"io.kubernetes.pod.uid"};

/* The container that only keeps a pod's namespaces has no name there; others call it POD. */
static void forget_pause(struct container_names *names)
{
	if (names->pod[0] && !strcmp(names->name, "POD"))
		names->name[0] = '\0';
}

bool container_from_spec(const char *json, size_t len, struct container_names *ret_names)
{
	static const struct labels cri = {
		"io.kubernetes.cri.container-name", "io.kubernetes.cri.sandbox-name",
		"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-uid"};
	_cleanup_(put_json) struct json_object *spec = parse(json, len);
	struct json_object *notes = member(spec, "annotations");
	struct container_names names = {0};
	char manager[16] = "";

	if (take_labels(notes, &cri, &names)) {
		strcpy(names.runtime, "containerd");
	} else if (take_labels(notes, &kubelet_labels, &names)) {
		take_text(member(notes, "io.container.manager"), manager, sizeof(manager));
		if (!strcmp(manager, "cri-o"))
			strcpy(names.runtime, "cri-o");
	} else {
		return false;
	}
	forget_pause(&names);
	*ret_names = names;
	return true;
}

bool container_from_docker(const char *json, size_t len, struct container_names *ret_names)
{
	_cleanup_(put_json) struct json_object *config = parse(json, len);
	struct json_object *labels = member(member(config, "Config"), "Labels");
	struct json_object *name = member(config, "Name");
	struct container_names names = {.runtime = "docker"};

	if (take_labels(labels, &kubelet_labels, &names)) {
		forget_pause(&names);
	} else if (take_text(name, names.name, sizeof(names.name))) {
		if (names.name[0] == '/')
			memmove(names.name, names.name + 1, strlen(names.name));
	}
	if (!names.name[0] && !names.pod[0])
		return false;
	*ret_names = names;
	return true;
}

bool container_from_storage(const char *json, size_t len, const char *id,
			    struct container_names *ret_names)
{
	_cleanup_(put_json) struct json_object *list = parse(json, len);
	size_t cnt =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	struct container_names names = {0};

	for (size_t i = 0; i < cnt; i++) {
		struct json_object *container = json_object_array_get_idx(list, i);
		struct json_object *own_id = member(container, "id");
		struct json_object *own_names = member(container, "names");

		if (!json_object_is_type(own_id, json_type_string) ||
		    strcmp(json_object_get_string(own_id), id) != 0)
			continue;
		if (!json_object_is_type(own_names, json_type_array) ||
		    !take_text(json_object_array_get_idx(own_names, 0), names.name,
			       sizeof(names.name)))
			return false;
		*ret_names = names;
		return true;
	}
	return false;
}

/* Three names with '_' between them, which Kubernetes allows in none. */
static bool split(const char *s, size_t len, const char *parts[3], size_t lens[3])
{
	const char *first = memchr(s, '_', len), *second;

	if (!first)
		return false;
	second = memchr(first + 1, '_', len - (size_t)(first + 1 - s));
	if (!second || memchr(second + 1, '_', len - (size_t)(second + 1 - s)))
		return false;
	parts[0] = s;
	lens[0] = (size_t)(first - s);
	parts[1] = first + 1;
	lens[1] = (size_t)(second - first - 1);
	parts[2] = second + 1;
	lens[2] = len - (size_t)(second + 1 - s);
	return true;
}

bool container_from_log(const char *file, size_t len, const char *id,
			struct container_names *ret_names)
{
	size_t id_len = strlen(id), tail = id_len + strlen("-.log");
	struct container_names names = {0};
	const char *parts[3];
	size_t lens[3];

	if (len < tail || file[len - tail] != '-' || memcmp(file + len - tail + 1, id, id_len) ||
	    memcmp(file + len - strlen(".log"), ".log", strlen(".log")) ||
	    !split(file, len - tail, parts, lens) ||
	    !put_name(names.pod, sizeof(names.pod), parts[0], lens[0]) ||
	    !put_name(names.namespace, sizeof(names.namespace), parts[1], lens[1]) ||
	    !put_name(names.name, sizeof(names.name), parts[2], lens[2]))
		return false;
	*ret_names = names;
	return true;
}

bool container_from_pod_folder(const char *folder, size_t len, const char *pod_uid,
			       struct container_names *ret_names)
{
	struct container_names names = {0};
	const char *parts[3];
	size_t lens[3];

	if (!split(folder, len, parts, lens) || lens[2] != strlen(pod_uid) ||
	    memcmp(parts[2], pod_uid, lens[2]) ||
	    !put_name(names.namespace, sizeof(names.namespace), parts[0], lens[0]) ||
	    !put_name(names.pod, sizeof(names.pod), parts[1], lens[1]) ||
	    !put_name(names.pod_uid, sizeof(names.pod_uid), parts[2], lens[2]))
		return false;
	*ret_names = names;
	return true;
}

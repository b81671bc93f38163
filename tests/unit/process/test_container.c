/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the node's own files call a container: their contents, and a node in a temporary folder. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "names_support.h"
#include "opener/node_look.h"
#include "parse/container.h"
#include "process/node.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ID	      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER	      "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID	      "01234567-89ab-cdef-0123-456789abcdef"

#define CONTAINERD_SPEC                                                                       \
	"{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"a\"]},\"annotations\":{"          \
	"\"io.kubernetes.cri.container-name\":\"api\",\"io.kubernetes.cri.container-type\":"  \
	"\"container\",\"io.kubernetes.cri.sandbox-name\":\"shop-7d9c6b5f4d-x2x9k\","         \
	"\"io.kubernetes.cri.sandbox-namespace\":\"prod\",\"io.kubernetes.cri.sandbox-uid\":" \
	"\"" UID "\"}}"
#define CRIO_SPEC                                                                         \
	"{\"annotations\":{\"io.container.manager\":\"cri-o\",\"io.kubernetes.container." \
	"name\":\"api\",\"io.kubernetes.pod.name\":\"shop-0\",\"io.kubernetes.pod."       \
	"namespace\":\"prod\",\"io.kubernetes.pod.uid\":\"" UID "\"},\"hostname\":\"shop\"}"
#define DOCKER_CONFIG "{\"ID\":\"" ID "\",\"Name\":\"/web\",\"Config\":{\"Labels\":{\"a\":\"b\"}}}"
#define DOCKER_POD                                                                              \
	"{\"Name\":\"/k8s_api_shop_prod\",\"Config\":{\"Labels\":{\"io.kubernetes.container."   \
	"name\":\"api\",\"io.kubernetes.pod.name\":\"shop-0\",\"io.kubernetes.pod.namespace\":" \
	"\"prod\",\"io.kubernetes.pod.uid\":\"" UID "\"}}}"
#define STORAGE_LIST                                                  \
	"[{\"id\":\"" OTHER "\",\"names\":[\"other\"]},{\"id\":\"" ID \
	"\",\"names\":[\"web\",\"alias\"],\"metadata\":\"{}\"}]"

static bool from_storage(const char *text, size_t len, struct container_names *names)
{
	return container_from_storage(text, len, ID, names);
}

static bool from_log(const char *text, size_t len, struct container_names *names)
{
	return container_from_log(text, len, ID, names);
}

static bool from_folder(const char *text, size_t len, struct container_names *names)
{
	return container_from_pod_folder(text, len, UID, names);
}

static const struct {
	const char *name;
	bool (*read)(const char *text, size_t len, struct container_names *names);
	const char *text;
	bool found;
	struct container_names want;
} rows[] = {
#define NAMES(c, p, n, u, r)                                                    \
	{                                                                       \
		.name = c, .pod = p, .namespace = n, .pod_uid = u, .runtime = r \
	}
	{"containerd", container_from_spec, CONTAINERD_SPEC, true,
	 NAMES("api", "shop-7d9c6b5f4d-x2x9k", "prod", UID, "containerd")},
	{"containerd's pause", container_from_spec,
	 "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"shop-0\"}}", true,
	 NAMES("", "shop-0", "", "", "containerd")},
	{"cri-o", container_from_spec, CRIO_SPEC, true,
	 NAMES("api", "shop-0", "prod", UID, "cri-o")},
	{"cri-o's pause", container_from_spec,
	 "{\"annotations\":{\"io.kubernetes.container.name\":\"POD\","
	 "\"io.kubernetes.pod.name\":\"shop-0\"}}",
	 true, NAMES("", "shop-0", "", "", "")},
	{"a spec of nobody's", container_from_spec, "{\"annotations\":{\"a\":\"b\"}}", false, {}},
	{"no annotations", container_from_spec, "{}", false, {}},
	{"annotations of another type", container_from_spec, "{\"annotations\":[1]}", false, {}},
	{"a pod that is a number",
	 container_from_spec,
	 "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":7}}",
	 false,
	 {}},
	{"an empty pod",
	 container_from_spec,
	 "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"\"}}",
	 false,
	 {}},
	{"a NUL byte in a name",
	 container_from_spec,
	 "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"a\\u0000b\"}}",
	 false,
	 {}},
	{"escapes of a terminal are kept for the output to make safe", container_from_spec,
	 "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"a\\u001b[31m\"}}", true,
	 NAMES("", "a\033[31m", "", "", "containerd")},
	{"no JSON", container_from_spec, "hello", false, {}},
	{"nothing", container_from_spec, "", false, {}},
	{"docker", container_from_docker, DOCKER_CONFIG, true, NAMES("web", "", "", "", "docker")},
	{"docker in a pod", container_from_docker, DOCKER_POD, true,
	 NAMES("api", "shop-0", "prod", UID, "docker")},
	{"docker without a name", container_from_docker, "{\"Name\":\"/\"}", false, {}},
	{"docker, labels of another type", container_from_docker, "{\"Name\":\"web\",\"Config\":3}",
	 true, NAMES("web", "", "", "", "docker")},
	{"podman", from_storage, STORAGE_LIST, true, NAMES("web", "", "", "", "")},
	{"podman, not in the list",
	 from_storage,
	 "[{\"id\":\"" OTHER "\",\"names\":[\"x\"]}]",
	 false,
	 {}},
	{"podman, no name", from_storage, "[{\"id\":\"" ID "\",\"names\":[]}]", false, {}},
	{"podman, names of another type",
	 from_storage,
	 "[1,null,{\"id\":2},{\"id\":\"" ID "\",\"names\":{}}]",
	 false,
	 {}},
	{"podman, no list", from_storage, "{}", false, {}},
	{"kubelet's link", from_log, "shop-0_prod_api-" ID ".log", true,
	 NAMES("api", "shop-0", "prod", "", "")},
	{"a link of another container", from_log, "shop-0_prod_api-" OTHER ".log", false, {}},
	{"a link without a namespace", from_log, "shop-0_api-" ID ".log", false, {}},
	{"a link with too many parts", from_log, "a_b_c_d-" ID ".log", false, {}},
	{"a link with an empty part", from_log, "_prod_api-" ID ".log", false, {}},
	{"only the id", from_log, "-" ID ".log", false, {}},
	{"another ending", from_log, "shop-0_prod_api-" ID ".txt", false, {}},
	{"pod's folder", from_folder, "prod_shop-0_" UID, true,
	 NAMES("", "shop-0", "prod", UID, "")},
	{"another pod's folder", from_folder, "prod_shop-0_x" UID, false, {}},
	{"a folder with too many parts", from_folder, "a_b_c_" UID, false, {}},
};

Test(container, what_each_file_tells)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct container_names got = {.name = "untouched"};
		bool found = rows[i].read(rows[i].text, strlen(rows[i].text), &got);

		cr_expect_eq(found, rows[i].found, "%s", rows[i].name);
		if (!found) {
			cr_expect_str_eq(got.name, "untouched", "%s", rows[i].name);
			continue;
		}
		cr_expect_str_eq(got.name, rows[i].want.name, "%s: %s", rows[i].name, got.name);
		cr_expect_str_eq(got.pod, rows[i].want.pod, "%s: %s", rows[i].name, got.pod);
		cr_expect_str_eq(got.namespace, rows[i].want.namespace, "%s", rows[i].name);
		cr_expect_str_eq(got.pod_uid, rows[i].want.pod_uid, "%s", rows[i].name);
		cr_expect_str_eq(got.runtime, rows[i].want.runtime, "%s", rows[i].name);
	}
}

/* Read from memory of just that size, so that ASan sees a byte too far. */
Test(container, cut_at_every_byte_it_is_none)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t len = 0; len < strlen(rows[i].text); len++) {
			char *cut = memcpy(malloc(len + !len), rows[i].text, len);
			struct container_names got = {0};

			cr_expect_not(rows[i].read(cut, len, &got), "%s cut at %zu", rows[i].name,
				      len);
			free(cut);
		}
	}
}

Test(container, names_have_bounds)
{
	char name[600], text[1200];
	struct container_names got;

	for (size_t len = CONTAINER_NAME_BYTES - 2; len < CONTAINER_NAME_BYTES + 2; len++) {
		memset(name, 'a', len);
		name[len] = '\0';
		snprintf(text, sizeof(text), "{\"Name\":\"%s\"}", name);
		cr_expect_eq(container_from_docker(text, strlen(text), &got),
			     len < CONTAINER_NAME_BYTES, "%zu", len);
		snprintf(text, sizeof(text), "%s_prod_api-%s.log", name, ID);
		cr_expect_eq(container_from_log(text, strlen(text), ID, &got),
			     len < CONTAINER_NAME_BYTES, "%zu", len);
	}
}

Test(container, nesting_has_a_bound)
{
	static char text[2000000];

	memset(text, '[', sizeof(text));
	for (size_t len = 1; len <= sizeof(text); len = len * 10) {
		struct container_names got;

		cr_expect_not(container_from_spec(text, len, &got));
		cr_expect_not(container_from_storage(text, len, ID, &got));
	}
}

/* --- a node ---------------------------------------------------------------------------------- */

struct fake_node {
	struct fake_proc files; /* the root of the node's files */
	struct file_requests requests;
	struct node *node;
	struct model *m;
	uint32_t process;
};

static void node_make(struct fake_node *f)
{
	fake_proc_make(&f->files);
	cr_assert_eq(file_requests_init(&f->requests, NULL, f->files.path, 3000000000ull), 0);
	f->node = node_new(&f->requests, f->files.path);
	f->m = model_new();
	cr_assert(f->node && f->m);
	f->process = model_process_get(f->m, 100, 1000);
	f->m->processes[f->process].container_id = ID;
	f->m->processes[f->process].pod_uid = UID;
}

static void node_end(struct fake_node *f)
{
	node_free(f->node);
	file_requests_clear(&f->requests);
	model_free(f->m);
	fake_proc_remove(&f->files);
}

static const struct model_process *named(struct fake_node *f)
{
	node_name(f->node, f->m, f->process);
	return &f->m->processes[f->process];
}

#define TASKS	"/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"
#define STORAGE "/overlay-containers/" ID "/userdata/config.json"

Test(node, every_runtimes_files_are_found)
{
	static const struct {
		const char *name, *file, *text, *container, *pod, *runtime;
	} files[] = {
		{"containerd", "run" TASKS, CONTAINERD_SPEC, "api", "shop-7d9c6b5f4d-x2x9k",
		 "containerd"},
		{"k3s", "run/k3s" TASKS, CONTAINERD_SPEC, "api", "shop-7d9c6b5f4d-x2x9k",
		 "containerd"},
		{"microk8s", "var/snap/microk8s/common/run" TASKS, CONTAINERD_SPEC, "api",
		 "shop-7d9c6b5f4d-x2x9k", "containerd"},
		{"cri-o", "run/containers/storage" STORAGE, CRIO_SPEC, "api", "shop-0", "cri-o"},
		{"cri-o in /var", "var/lib/containers/storage" STORAGE, CRIO_SPEC, "api", "shop-0",
		 "cri-o"},
		{"podman", "var/lib/containers/storage/overlay-containers/containers.json",
		 STORAGE_LIST, "web", "", ""},
		{"podman on vfs", "var/lib/containers/storage/vfs-containers/containers.json",
		 STORAGE_LIST, "web", "", ""},
		{"docker", "var/lib/docker/containers/" ID "/config.v2.json", DOCKER_CONFIG, "web",
		 "", "docker"},
		{"kubelet's link", "var/log/containers/shop-0_prod_api-" ID ".log", "", "api",
		 "shop-0", ""},
		{"pod's folder", "var/log/pods/prod_shop-0_" UID "/api/0.log", "", "", "shop-0",
		 ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct model_process *p;
		struct fake_node f;

		node_make(&f);
		fake_text(&f.files, "var/log/containers/a_b_c-" OTHER ".log", "");
		fake_text(&f.files, files[i].file, files[i].text);
		p = named(&f);
		cr_expect_str_eq(p->container_name, files[i].container, "%s: %s", files[i].name,
				 p->container_name);
		cr_expect_str_eq(p->pod, files[i].pod, "%s: %s", files[i].name, p->pod);
		cr_expect_str_eq(p->namespace, *p->pod ? "prod" : "", "%s", files[i].name);
		cr_expect_str_eq(p->runtime, files[i].runtime, "%s", files[i].name);
		node_end(&f);
	}
}

Test(node, a_pod_alone_is_named_by_its_folder)
{
	const struct model_process *p;
	struct fake_node f;

	node_make(&f);
	f.m->processes[f.process].container_id = "";
	fake_text(&f.files, "var/log/pods/prod_shop-0_" UID "/api/0.log", "");
	p = named(&f);
	cr_expect_str_eq(p->pod, "shop-0");
	cr_expect_str_eq(p->container_name, "");
	node_end(&f);
}

/* What lies there is no file, too large, spoilt, or a link out: the next source tells. */
Test(node, what_is_no_sound_file_is_passed_over)
{
	static char large[NODE_FILE_BYTES_MAX + 2];
	const char *path;
	struct fake_node f;

	for (int spoilt = 0; spoilt < 4; spoilt++) {
		node_make(&f);
		fake_text(&f.files, "var/log/containers/shop-0_prod_api-" ID ".log", "");
		fake_text(&f.files, "run" TASKS, CONTAINERD_SPEC);
		path = fake_path(&f.files, "run" TASKS);
		if (spoilt == 0) {
			cr_assert(!unlink(path) && !mkfifo(path, 0600), "a FIFO");
		} else if (spoilt == 1) {
			memset(large, ' ', sizeof(large));
			memcpy(large + sizeof(large) - sizeof(CONTAINERD_SPEC), CONTAINERD_SPEC,
			       sizeof(CONTAINERD_SPEC));
			fake_file(&f.files, "run" TASKS, large, sizeof(large));
		} else if (spoilt == 2) {
			fake_text(&f.files, "run" TASKS, "{\"annotations\":");
		} else {
			cr_assert(!unlink(path) && !symlink("/proc/self/root/etc/passwd", path),
				  "a link through /proc");
		}
		cr_expect_str_eq(named(&f)->pod, "shop-0", "%d", spoilt);
		node_end(&f);
	}
}

/* As root, another user's rights are put on; the helper process has them, too. */
Test(node, without_the_right_to_read_a_container_has_no_name)
{
	struct fake_node f = {0};
	uid_t user = geteuid();

	fake_proc_make(&f.files);
	fake_text(&f.files, "run" TASKS, CONTAINERD_SPEC);
	fake_text(&f.files, "var/log/containers/shop-0_prod_api-" ID ".log", "");
	cr_assert(!chmod(fake_path(&f.files, "run"), 0) &&
		  !chmod(fake_path(&f.files, "var/log/containers"), 0) &&
		  !chmod(f.files.path, 0755));
	if (!user)
		cr_assert_eq(seteuid(65534), 0);
	cr_assert_eq(file_requests_init(&f.requests, NULL, f.files.path, 3000000000ull), 0);
	f.node = node_new(&f.requests, f.files.path);
	f.m = model_new();
	cr_assert(f.node && f.m);
	f.process = model_process_get(f.m, 100, 1000);
	f.m->processes[f.process].container_id = ID;
	cr_expect_str_eq(named(&f)->pod, "");
	if (!user)
		cr_assert_eq(seteuid(user), 0);
	cr_assert(!chmod(fake_path(&f.files, "run"), 0755) &&
		  !chmod(fake_path(&f.files, "var/log/containers"), 0755));
	node_end(&f);
}

/* Two thousand containers, ours the last; a list beyond the bound is not read. */
Test(node, long_lists_are_read_and_overlong_ones_are_not)
{
	static const char *const list =
		"var/lib/containers/storage/overlay-containers/containers.json";
	size_t room = NODE_LIST_BYTES_MAX + 4096, len;
	char *text = malloc(room);

	cr_assert(text);
	for (int overlong = 0; overlong < 2; overlong++) {
		size_t until = overlong ? NODE_LIST_BYTES_MAX : NODE_LIST_BYTES_MAX - 3000;
		struct fake_node f;

		for (len = 0; len < until;)
			len += (size_t)snprintf(text + len, room - len,
						"%c{\"id\":\"%064zx\",\"metadata\":\"%02000d\"}",
						len ? ',' : '[', len, 0);
		snprintf(text + len, room - len, ",{\"id\":\"%s\",\"names\":[\"web\"]}]", ID);
		node_make(&f);
		fake_text(&f.files, list, text);
		cr_expect_str_eq(named(&f)->container_name, overlong ? "" : "web");
		node_end(&f);
	}
	free(text);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

Test(node, names_that_come_later_are_found_later)
{
	uint64_t start_ns = now_ns();
	const struct model_process *p;
	struct fake_node f;

	node_make(&f);
	p = named(&f);
	cr_expect_str_eq(p->pod, "");
	f.m->processes[f.process].dirty = false;
	fake_text(&f.files, "var/log/containers/shop-0_prod_api-" ID ".log", "");
	while (!*p->pod && now_ns() - start_ns < 20000000000ull) {
		usleep(20000);
		node_tail(f.node, f.m);
	}
	cr_expect_str_eq(p->pod, "shop-0");
	cr_expect(p->dirty, "the store is to write it again");
	cr_expect_geq(now_ns() - start_ns, NODE_AGAIN_NS, "but not at once");
	node_end(&f);
}

/* The end of a recording waits for it. */
Test(node, a_look_that_goes_on_says_so)
{
	uint64_t start_ns = now_ns();
	struct fake_node f;

	node_make(&f);
	fake_text(&f.files, "var/log/containers/shop-0_prod_api-" ID ".log", "");
	f.requests.waited_ns = UINT64_MAX / 2; /* this slice has no time left */
	cr_expect_str_eq(named(&f)->pod, "");
	cr_expect(node_is_looking(f.node));
	while (node_is_looking(f.node) && now_ns() - start_ns < 20000000000ull) {
		usleep(1000);
		workers_poll(f.requests.workers);
		node_tail(f.node, f.m);
	}
	cr_expect_str_eq(f.m->processes[f.process].pod, "shop-0");
	cr_expect_not(node_is_looking(f.node));
	node_end(&f);
}

Test(node, a_container_is_looked_up_once)
{
	struct fake_node f;
	uint32_t other;

	node_make(&f);
	fake_text(&f.files, "var/log/containers/shop-0_prod_api-" ID ".log", "");
	cr_expect_str_eq(named(&f)->pod, "shop-0");
	cr_assert_eq(unlink(fake_path(&f.files, "var/log/containers/shop-0_prod_api-" ID ".log")),
		     0);
	other = model_process_get(f.m, 101, 1000);
	f.m->processes[other].container_id = ID;
	node_name(f.node, f.m, other);
	cr_expect_str_eq(f.m->processes[other].pod, "shop-0", "its files are gone already");
	node_end(&f);
}

/* Ten thousand containers without names: bounded in look-ups, memory and time. */
Test(node, storms_of_containers_are_bounded)
{
	uint64_t start_ns = now_ns();
	struct fake_node f;
	char id[65];

	node_make(&f);
	for (unsigned i = 0; i < 10000; i++) {
		uint32_t p = model_process_get(f.m, 1000 + i, 1);

		snprintf(id, sizeof(id), "%064x", i);
		f.m->processes[p].container_id = model_str(f.m, id);
		node_name(f.node, f.m, p);
	}
	node_tail(f.node, f.m);
	cr_expect_leq(now_ns() - start_ns, 20000000000ull);
	/* Another slice has room for another container. */
	node_tail(f.node, f.m);
	node_end(&f);
}

/* In a container the host's files are below the root of the host's first process. */
Test(node, without_a_root_the_hosts_is_found)
{
	struct fake_node f;

	node_make(&f);
	node_free(f.node);
	f.node = node_new(&f.requests, NULL);
	cr_assert(f.node);
	fake_text(&f.files, "1/root/var/log/containers/shop-0_prod_api-" ID ".log", "");
	cr_expect_str_eq(named(&f)->pod, "shop-0");
	node_end(&f);
}

Test(node, a_root_that_is_not_there_names_nothing)
{
	struct fake_node f;

	node_make(&f);
	node_free(f.node);
	f.node = node_new(&f.requests, "/nowhere/at/all");
	cr_assert(f.node);
	cr_expect_str_eq(named(&f)->pod, "");
	node_end(&f);
}

Test(node, a_long_root_is_refused)
{
	static char root[5000];
	struct file_requests requests = {0};

	memset(root, 'a', sizeof(root) - 1);
	cr_expect_null(node_new(&requests, root));
}

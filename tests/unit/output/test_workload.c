/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which workload a process belongs to, and its pods and containers in the report. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "golden.h"
#include "model/workload.h"
#include "output/label.h"
#include "output/report.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CS	      (BUILD_SECOND / 100)

Test(workload, owners_of_pods)
{
	static const struct {
		const char *name, *pod, *owner;
	} rows[] = {
		{"deployment", "shop-7d9c6b5f4d-x2x9k", "shop"},
		{"deployment, 8 of hash", "shop-api-5d8f9c7b-zk4tr", "shop-api"},
		{"deployment, 9 of hash", "shop-api-65d8f9c7b-zk4tr", "shop-api"},
		{"hash of 7 is a name's part", "shop-5d8f9c7-zk4tr", "shop-5d8f9c7"},
		{"hash of 11 is a name's part", "shop-7d9c6b5f4dd-x2x9k", "shop-7d9c6b5f4dd"},
		{"daemon set", "node-exporter-x8k2p", "node-exporter"},
		{"job", "migrate-orders-q7w9z", "migrate-orders"},
		{"cron job", "backup-28451230-x2x9k", "backup"},
		{"cron job of seconds", "backup-1707073800-x2x9k", "backup"},
		{"stateful set", "postgres-0", "postgres"},
		{"stateful set, many", "kafka-broker-112", "kafka-broker"},
		{"static pod", "kube-apiserver-master.example.org",
		 "kube-apiserver-master.example.org"},
		{"vowels are never random", "web-apple", "web-apple"},
		{"0, 1 and 3 are never random", "web-b0c1d", "web-b0c1d"},
		{"four letters", "web-bcdf", "web-bcdf"},
		{"six letters", "web-bcdfgh", "web-bcdfgh"},
		{"no dash", "bcdfg", "bcdfg"},
		{"nothing would be left", "-bcdfg", "-bcdfg"},
		{"nothing would be left of a set", "-0", "-0"},
		{"only its owner would be left out", "-7d9c6b5f4d-x2x9k", "-7d9c6b5f4d"},
		{"a dash at the end", "shop-", "shop-"},
		{"empty", "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = workload_owner(rows[i].pod, strlen(rows[i].pod));

		cr_expect_eq(len, strlen(rows[i].owner), "%s: %.*s", rows[i].name, (int)len,
			     rows[i].pod);
		/* Within memory of just that size, however it is cut. */
		for (size_t n = 0; n <= strlen(rows[i].pod); n++) {
			char *cut = memcpy(malloc(n + !n), rows[i].pod, n);

			cr_expect_leq(workload_owner(cut, n), n);
			free(cut);
		}
	}
}

Test(workload, what_is_known_best_names_it)
{
	static const struct {
		const char *name, *namespace, *pod, *container_name, *container_short, *unit;
		const char *process, *comm;
		uint32_t flags;
		const char *container, *workload;
	} rows[] = {
		{"a pod's container", "prod", "shop-7d9c6b5f4d-x2x9k", "api", "0123456789ab",
		 "x.service", "Shop", "dotnet", 0, "prod/shop-7d9c6b5f4d-x2x9k/api",
		 "prod/shop/api"},
		{"a pod alone", "prod", "shop-0", "", "", "", "Shop", "", 0, "prod/shop-0",
		 "prod/shop"},
		{"no namespace", "", "shop-0", "api", "", "", "Shop", "", 0, "shop-0/api",
		 "shop/api"},
		{"an engine's container", "", "", "web", "0123456789ab", "", "nginx", "", 0, "web",
		 "web"},
		{"a container without a name: its program", "", "", "", "0123456789ab", "", "nginx",
		 "", 0, "0123456789ab", "nginx"},
		{"a unit", "", "", "", "", "nginx.service", "nginx", "", 0, "", "nginx.service"},
		{"a program", "", "", "", "", "", "sshd", "x", 0, "", "sshd"},
		{"a comm", "", "", "", "", "", "", "sshd", 0, "", "sshd"},
		{"the kernel", "", "", "", "", "", "", "kworker/0:1", PROCESS_KERNEL, "",
		 "kernel threads"},
	};
	char text[WORKLOAD_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct model_process p = {
			.namespace = rows[i].namespace,
			.pod = rows[i].pod,
			.container_name = rows[i].container_name,
			.container = rows[i].container_short,
			.unit = rows[i].unit,
			.name = rows[i].process,
			.comm = rows[i].comm,
			.flags = rows[i].flags,
		};

		workload_container(&p, text);
		cr_expect_str_eq(text, rows[i].container, "%s: %s", rows[i].name, text);
		workload_of(&p, text);
		cr_expect_str_eq(text, rows[i].workload, "%s: %s", rows[i].name, text);
	}
}

Test(workload, long_names_are_cut)
{
	static char pod[3000];
	struct model_process p = {.pod = pod, .namespace = pod, .container_name = pod};
	char text[WORKLOAD_BYTES];

	memset(pod, 'a', sizeof(pod) - 1);
	workload_container(&p, text);
	cr_expect_eq(strlen(text), WORKLOAD_BYTES - 1);
	workload_of(&p, text);
	cr_expect_eq(strlen(text), WORKLOAD_BYTES - 1);
}

/* --- in the report ---------------------------------------------------------------------------- */

/* A process of one thread, with as many samples as it ran hundredths of a second. */
static struct model_process *add(struct model *m, uint32_t tgid, const char *name, uint32_t flags,
				 uint32_t ran)
{
	uint32_t p = build_process(m, tgid, name, flags);
	uint32_t loop = build_symbol(m, "loop", name, KIND_NATIVE, true);

	BUILD_SAMPLES(m, build_thread(m, p, tgid, name, ran * CS, 'S'), ran, loop);
	return &m->processes[p];
}

static void in_pod(struct model *m, struct model_process *p, const char *pod, const char *container)
{
	char id[13];

	snprintf(id, sizeof(id), "%012x", p->tgid);
	p->pod = model_str(m, pod);
	p->namespace = model_str(m, "prod");
	p->container_name = model_str(m, container);
	p->container = p->container_id = model_str(m, id);
	p->runtime = model_str(m, "containerd");
	p->qos = model_str(m, "burstable");
}

/* Three replicas of a shop, each with a proxy beside it, a database, a program of podman's, a
 * unit. */
static struct model *node(void)
{
	static const char *const pods[] = {"shop-7d9c6b5f4d-x2x9k", "shop-7d9c6b5f4d-b8d4w",
					   "shop-7d9c6b5f4d-zk4tr"};
	struct model *m = build_model(4, 100);
	struct model_process *p;

	for (uint32_t i = 0; i < ARRAY_SIZE(pods); i++) {
		in_pod(m, add(m, 100 + i, "Shop.Api", 0, 300), pods[i], "api");
		in_pod(m, add(m, 200 + i, "envoy", 0, 20), pods[i], "proxy");
	}
	in_pod(m, add(m, 300, "postgres", 0, 90), "orders-db-0", "postgres");
	p = add(m, 400, "nginx", 0, 30);
	p->container = model_str(m, "abcdef012345");
	p->container_name = model_str(m, "web");
	add(m, 500, "kubelet", 0, 10)->unit = model_str(m, "kubelet.service");
	add(m, 501, "kubelet-helper", 0, 8)->unit = model_str(m, "kubelet.service");
	add(m, 7, "kworker", PROCESS_KERNEL, 5);
	add(m, 600, "hotrun", PROCESS_SELF, 1)->unit = model_str(m, "kubelet.service");
	build_books(m, 10);
	return m;
}

static void expect(const char *golden, const struct report_options *options)
{
	struct model *m = node();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(report_write(out, m, options), 0);
	fclose(out);
	golden_expect(golden, text, len);
	free(text);
	model_free(m);
}

Test(workload, a_row_each_in_the_report)
{
	expect("report_workloads.txt",
	       &(struct report_options){.by_workload = true, .process_cnt = 1});
}

Test(workload, processes_stand_with_their_pods)
{
	expect("report_pods.txt", &(struct report_options){.summary = true});
}

Test(workload, live_views_name_the_pod)
{
	struct model *m = node();
	char text[NAME_BYTES];

	label_process(text, &m->processes[0], 200);
	cr_expect_str_eq(text, "Shop.Api (prod/shop-7d9c6b5f4d-x2x9k/api)");
	model_free(m);
}

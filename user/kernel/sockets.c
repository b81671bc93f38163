/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a session that sees requests: programs of net.bpf.c. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/host.h"
#include "kernel/iterate.h"
#include "kernel/namespaces.h"
#include "kernel/session_private.h"

/* T where nobody says one: the limit of "satisfied" that most services are judged by. */
#define SLOW_NS_DEFAULT 500000000ull

static int explain(struct session *s, int err, const char *what)
{
	snprintf(s->requests_why, sizeof(s->requests_why), "%s: %s", what, strerror(-err));
	return err;
}

/* 1 / CONFIG_HZ: what the coarse clocks advance by (clock_getres(2)). */
static uint64_t tick_ns(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec || !tick.tv_nsec)
		return 4000000;
	return (uint64_t)tick.tv_nsec;
}

static void configure(struct session *s)
{
	const struct session_options *o = &s->options;
	size_t cnt = o->slow_port_cnt < SESSION_SLOW_PORTS_MAX ? o->slow_port_cnt
							       : SESSION_SLOW_PORTS_MAX;

	s->bpf->rodata->slow_ns = o->slow_ns ?: SLOW_NS_DEFAULT;
	for (size_t i = 0; i < cnt; i++) {
		s->bpf->rodata->slow_ports[i] = o->slow_ports[i].port;
		s->bpf->rodata->slow_port_ns[i] = o->slow_ports[i].slow_ns;
	}
	s->bpf->rodata->slow_port_cnt = (uint32_t)cnt;
	s->bpf->rodata->tick_ns = tick_ns();
}

/* Before 6.3 there is no tracepoint of sends; what takes its place is loaded instead. */
static struct bpf_program *choose_send(struct session *s, const struct btf *kernel)
{
	bool has =
		btf__find_by_name_kind(kernel, "btf_trace_sock_send_length", BTF_KIND_TYPEDEF) > 0;

	bpf_program__set_autoload(s->bpf->progs.on_send, has);
	bpf_program__set_autoload(s->bpf->progs.on_send_older, !has);
	return has ? s->bpf->progs.on_send : s->bpf->progs.on_send_older;
}

/* The kernel's function is there since 6.4, and open to our kind of program since 6.12. */
static bool reads_pages(const struct btf *kernel)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	return (major > 6 || (major == 6 && minor >= 12)) &&
	       btf__find_by_name_kind(kernel, "bpf_dynptr_from_skb", BTF_KIND_FUNC) > 0;
}

int sockets_prepare(struct session *s)
{
	struct btf *kernel = btf__load_vmlinux_btf();

	if (!kernel)
		return explain(s, -errno, "the kernel's types (BTF)");
	configure(s);
	s->bpf->rodata->reads_pages = reads_pages(kernel);
	s->on_send = choose_send(s, kernel);
	btf__free(kernel);
	return 0;
}

void sockets_omit(struct session *s)
{
	struct bpf_program *programs[] = {
		s->bpf->progs.on_state,	      s->bpf->progs.on_data,
		s->bpf->progs.on_send,	      s->bpf->progs.on_send_older,
		s->bpf->progs.on_receive,     s->bpf->progs.read_sockets,
		s->bpf->progs.find_listeners, s->bpf->progs.find_connections,
		s->bpf->progs.find_owners,
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		bpf_program__set_autoload(programs[i], false);
	bpf_map__set_autocreate(s->bpf->maps.connections, false);
	bpf_map__set_autocreate(s->bpf->maps.endpoints, false);
	bpf_map__set_autocreate(s->bpf->maps.rows, false);
	bpf_map__set_autocreate(s->bpf->maps.listening, false);
	bpf_map__set_autocreate(s->bpf->maps.openings, false);
	bpf_map__set_autocreate(s->bpf->maps.readings, false);
}

static int attach_programs(struct session *s)
{
	union bpf_iter_link_info info = {
		.map.map_fd = (__u32)bpf_map__fd(s->bpf->maps.connections),
	};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct {
		struct bpf_program *program;
		struct bpf_link **link;
	} programs[] = {
		{s->on_send, &s->bpf->links.on_send},
		{s->bpf->progs.on_receive, &s->bpf->links.on_receive},
		{s->bpf->progs.on_data, &s->bpf->links.on_data},
		{s->bpf->progs.on_state, &s->bpf->links.on_state},
		{s->bpf->progs.find_listeners, &s->bpf->links.find_listeners},
		{s->bpf->progs.find_connections, &s->bpf->links.find_connections},
		{s->bpf->progs.find_owners, &s->bpf->links.find_owners},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		*programs[i].link = bpf_program__attach(programs[i].program);
		if (!*programs[i].link)
			return -errno;
	}
	s->bpf->links.read_sockets = bpf_program__attach_iter(s->bpf->progs.read_sockets, &opts);
	return s->bpf->links.read_sockets ? 0 : -errno;
}

static void detach_programs(struct session *s)
{
	struct bpf_link **links[] = {
		&s->bpf->links.on_send,	       &s->bpf->links.on_receive,
		&s->bpf->links.on_data,	       &s->bpf->links.on_state,
		&s->bpf->links.find_listeners, &s->bpf->links.find_connections,
		&s->bpf->links.find_owners,    &s->bpf->links.read_sockets,
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
}

/* Rounds bytes up to whole pages. NULL with errno. */
static const void *map_memory(const struct bpf_map *map, size_t *bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	*bytes = (*bytes + page - 1) / page * page;
	memory = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static int map_tables(struct session *s)
{
	s->endpoints_bytes = ENDPOINTS_MAX * sizeof(*s->endpoints);
	s->endpoints = map_memory(s->bpf->maps.endpoints, &s->endpoints_bytes);
	if (!s->endpoints)
		return -errno;
	s->readings_bytes = READINGS_MAX * sizeof(*s->readings);
	s->readings = map_memory(s->bpf->maps.readings, &s->readings_bytes);
	return s->readings ? 0 : -errno;
}

static int find_listeners(void *ctx)
{
	struct session *s = ctx;

	return iterate(bpf_link__fd(s->bpf->links.find_listeners), 1, NULL, NULL);
}

static int find_connections(void *ctx)
{
	struct session *s = ctx;

	return iterate(bpf_link__fd(s->bpf->links.find_connections), 1, NULL, NULL);
}

static int find_owners(struct session *s)
{
	return iterate(bpf_link__fd(s->bpf->links.find_owners), 1, NULL, NULL);
}

/* One pass over all namespaces, then one over all files if there is something to be found in them. */
static int find(struct session *s, const struct namespaces *list, int (*visit)(void *session))
{
	int seen;

	s->bpf->bss->sockets_found = 0;
	seen = namespaces_visit(list, visit, s);
	if (seen < 0)
		return seen;
	s->namespaces_seen = (uint32_t)seen;
	return s->bpf->bss->sockets_found ? find_owners(s) : 0;
}

/* What is there before us: who listens where, then the connections to these. */
static int find_earlier(struct session *s)
{
	_cleanup_free_ struct namespaces *list = malloc(sizeof(*list));
	int err;

	if (!list)
		return -ENOMEM;
	err = namespaces_open(list);
	if (err)
		return err;
	s->namespaces = list->cnt + list->unseen;
	err = find(s, list, find_listeners);
	if (!err)
		err = find(s, list, find_connections);
	namespaces_close(list);
	return err;
}

int sockets_attach(struct session *s)
{
	int err = map_tables(s);

	if (!err)
		err = attach_programs(s);
	if (!err)
		err = find_earlier(s);
	if (err)
		detach_programs(s);
	return err ? explain(s, err, "attaching the programs that see requests") : 0;
}

/* One pass over the sockets. */
struct pass {
	const struct session *s;
	const struct session_ops *ops;
	uint32_t gone; /* a process that is said to listen, and is gone; 0 = none */
};

static void take_socket(struct pass *pass, const struct event_socket *socket)
{
	if (socket->flags & SOCKET_LISTENS && socket->tgid && !pass->gone &&
	    socket->tgid != pass->s->heirs_of && kill((pid_t)socket->tgid, 0) && errno == ESRCH)
		pass->gone = socket->tgid;
	pass->ops->socket(pass->ops->ctx, socket);
}

/* A look at all open files, some ms on a large host. */
#define HEIRS_PAUSE_NS 2000000000ull

/* Who called listen() may have left the socket to a child, as daemons do. One such process at a time. */
static void find_heirs(struct session *s, uint32_t gone)
{
	uint64_t now_ns = host_now_ns();

	if (s->heirs_ns && now_ns - s->heirs_ns < HEIRS_PAUSE_NS)
		return;
	s->heirs_ns = now_ns;
	s->heirs_of = gone;
	s->bpf->bss->gone_owner = gone;
	find_owners(s);
	s->bpf->bss->gone_owner = 0;
}

/* A million unanswered requests. What comes or goes between two passes may be missed or seen twice. */
#define PASSES_MAX 64

int session_read_sockets(struct session *s, const struct session_ops *ops)
{
	struct pass pass = {s, ops, 0};
	uint32_t from = 0, found = 1;
	int err = 0;

	if (!s->requests)
		return 0;
	for (int i = 0; i < PASSES_MAX && !err && found > from; i++, from += READINGS_MAX) {
		s->bpf->bss->readings_from = from;
		s->bpf->bss->readings_cnt = 0;
		s->bpf->bss->readings_last = 0;
		err = iterate(bpf_link__fd(s->bpf->links.read_sockets), 1, NULL, NULL);
		found = s->bpf->bss->readings_cnt;
		for (uint32_t k = from; k < found && k - from < READINGS_MAX; k++)
			take_socket(&pass, &s->readings[k - from]);
	}
	if (!err && pass.gone)
		find_heirs(s, pass.gone);
	return err;
}

uint32_t session_endpoints(const struct session *s, const struct endpoint **ret_rows)
{
	uint32_t cnt;

	if (!s->requests)
		return 0;
	*ret_rows = s->endpoints;
	cnt = __atomic_load_n(&s->bpf->bss->rows_taken, __ATOMIC_ACQUIRE);
	return cnt < ENDPOINTS_MAX ? cnt : ENDPOINTS_MAX;
}

void session_namespaces(const struct session *s, uint32_t *ret_seen, uint32_t *ret_all)
{
	*ret_seen = s->namespaces_seen;
	*ret_all = s->namespaces;
}

const char *session_requests_why(const struct session *s)
{
	return *s->requests_why ? s->requests_why : NULL;
}

void sockets_free(struct session *s)
{
	if (s->endpoints)
		munmap((void *)s->endpoints, s->endpoints_bytes);
	if (s->readings)
		munmap((void *)s->readings, s->readings_bytes);
}

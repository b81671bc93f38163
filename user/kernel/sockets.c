/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a session that sees requests: programs of net.bpf.c. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "kernel/iterate.h"
#include "kernel/release.h"
#include "kernel/namespaces.h"
#include "kernel/rows.h"
#include "kernel/session_private.h"

/* T where nobody says one: the limit of "satisfied" that most services are judged by. */
#define SLOW_NS_DEFAULT 500000000ull

static bool sees_requests(const struct session *s)
{
	return feature_is_on(&s->features, FEATURE_REQUESTS);
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
	size_t cnt = o->slow_port_cnt < SLOW_PORTS_MAX ? o->slow_port_cnt : SLOW_PORTS_MAX;

	s->bpf->rodata->slow_ns = o->slow_ns ?: SLOW_NS_DEFAULT;
	for (size_t i = 0; i < cnt; i++) {
		s->bpf->rodata->slow_ports[i] = o->slow_ports[i].port;
		s->bpf->rodata->slow_port_ns[i] = o->slow_ports[i].slow_ns;
	}
	s->bpf->rodata->slow_port_cnt = (uint32_t)cnt;
	s->bpf->rodata->tick_ns = tick_ns();
	/* Where there is none, the kernel's own key is all that nobody knows. */
	(void)!getrandom(&s->bpf->rodata->follow_seed, sizeof(s->bpf->rodata->follow_seed),
			 GRND_NONBLOCK);
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
	return release_is_from(6, 12) &&
	       btf__find_by_name_kind(kernel, "bpf_dynptr_from_skb", BTF_KIND_FUNC) > 0;
}

void sockets_prepare(struct session *s)
{
	struct btf *kernel;

	if (!sees_requests(s))
		return;
	kernel = btf__load_vmlinux_btf();
	if (!kernel) {
		feature_switch_off(&s->features, FEATURE_REQUESTS, FEATURE_OFF,
				   "the kernel's types (BTF): %s", strerror(errno));
		return;
	}
	configure(s);
	s->bpf->rodata->reads_pages = reads_pages(kernel);
	/* Before 6.1 a program that is run by user space takes hash maps with all their memory
	 * alone. */
	if (!release_is_from(6, 1))
		bpf_map__set_map_flags(s->bpf->maps.rows, 0);
	s->on_send = choose_send(s, kernel);
	btf__free(kernel);
}

static bool attach_programs(struct session *s)
{
	struct {
		struct bpf_program *program;
		struct bpf_link **link;
	} programs[] = {
		{s->on_send, &s->bpf->links.on_send},
		{s->bpf->progs.on_data, &s->bpf->links.on_data},
		{s->bpf->progs.on_state, &s->bpf->links.on_state},
		{s->bpf->progs.find_listeners, &s->bpf->links.find_listeners},
		{s->bpf->progs.find_connections, &s->bpf->links.find_connections},
		{s->bpf->progs.find_owners, &s->bpf->links.find_owners},
		{s->bpf->progs.find_held, &s->bpf->links.find_held},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!features_attach(&s->features, FEATURE_REQUESTS, programs[i].program,
				     programs[i].link))
			return false;
	return true;
}

static void detach_programs(struct session *s)
{
	struct bpf_link **links[] = {
		&s->bpf->links.on_send,		 &s->bpf->links.on_data,
		&s->bpf->links.on_state,	 &s->bpf->links.find_listeners,
		&s->bpf->links.find_connections, &s->bpf->links.find_owners,
		&s->bpf->links.find_held,
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
	s->socket_rows_bytes = SOCKET_ROWS_MAX * sizeof(*s->socket_rows);
	s->socket_rows = map_memory(s->bpf->maps.socket_rows, &s->socket_rows_bytes);
	return s->socket_rows ? 0 : -errno;
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

/* Of namespaces that may not be entered, what processes hold open. */
static int find_held(struct session *s, bool connections)
{
	s->bpf->bss->held_connections = connections;
	return iterate(bpf_link__fd(s->bpf->links.find_held), 1, NULL, NULL);
}

/* One pass over all namespaces, then one over all files if there is something to be found in
 * them. */
static int find(struct session *s, const struct namespaces *list, bool connections)
{
	int seen, err = 0;

	s->bpf->bss->sockets_found = 0;
	seen = namespaces_visit(list, connections ? find_connections : find_listeners, s);
	if (seen < 0)
		return seen;
	s->namespaces_seen = (uint32_t)seen;
	if (s->namespaces_seen < s->namespaces)
		err = find_held(s, connections);
	if (err || !s->bpf->bss->sockets_found)
		return err;
	s->bpf->bss->notes_listening = !connections;
	err = find_owners(s);
	s->bpf->bss->notes_listening = 0;
	return err;
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
	err = find(s, list, false);
	if (!err)
		err = find(s, list, true);
	namespaces_close(list);
	return err;
}

void sockets_attach(struct session *s)
{
	int err;

	if (!sees_requests(s))
		return;
	err = map_tables(s);
	if (!err && attach_programs(s))
		err = find_earlier(s);
	if (!err) {
		LIBBPF_OPTS(bpf_test_run_opts, run);

		/* Some kernels may load it and refuse to run it. */
		err = bpf_prog_test_run_opts(bpf_program__fd(s->bpf->progs.read_sockets), &run);
	}
	if (err)
		feature_switch_off(&s->features, FEATURE_REQUESTS, FEATURE_OFF,
				   "looking for served sockets: %s", strerror(-err));
	if (!sees_requests(s))
		detach_programs(s);
}

/* Places of sockets that are gone, though no program saw them close. */
static void free_places(struct session *s)
{
	for (uint32_t i = 0; i < s->bpf->bss->places_gone_cnt && i < SERVED_PART; i++)
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.free_places), NULL,
				    &s->bpf->bss->places_gone[i], BPF_ANY);
}

/* Goes on with a pass over the sockets until the rows are full or it is done. 0 or negative
 * errno. */
static int read_some(struct session *s, uint32_t *ret_cnt)
{
	int program = bpf_program__fd(s->bpf->progs.read_sockets), err = 0;

	s->bpf->bss->socket_rows_cnt = 0;
	while (!err && s->bpf->bss->served_at < s->bpf->bss->places_taken &&
	       s->bpf->bss->socket_rows_cnt + SERVED_PART <= SOCKET_ROWS_MAX) {
		LIBBPF_OPTS(bpf_test_run_opts, run);

		err = bpf_prog_test_run_opts(program, &run);
		if (!err)
			free_places(s);
	}
	*ret_cnt = s->bpf->bss->socket_rows_cnt;
	return err;
}

static int begin_read(struct session *s, uint32_t *ret_cnt)
{
	s->bpf->bss->served_at = 0;
	s->bpf->bss->connections_followed = 0;
	return read_some(s, ret_cnt);
}

/* Who called listen() may have left the socket to a child, as daemons do. */
static bool is_left(const struct session *s, const struct event_socket *socket)
{
	return socket->flags & SOCKET_LISTENS && socket->tgid && socket->tgid != s->heirs_of &&
	       kill((pid_t)socket->tgid, 0) && errno == ESRCH;
}

/* The least age of a request for which it is asked who holds its connection: others are gone before
 * that is known. */
#define UNOWNED_NS 100000000ull
/* A look at all open files: some ms on a large host, at the most a hundredth of the time. */
#define HOLDERS_PAUSE_NS    2000000000ull
#define HOLDERS_PAUSE_TIMES 100

/* Whether somebody is to be looked for among who holds sockets; of those who left a listening one,
 * one at a time. */
static bool wants_holders(struct session *s, uint32_t cnt, uint64_t now_ns, uint32_t *ret_gone)
{
	bool wanted = false;

	*ret_gone = 0;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct event_socket *socket = &s->socket_rows[i];

		if (socket->flags & SOCKET_UNOWNED && now_ns > socket->begun_ns + UNOWNED_NS)
			wanted = true;
		if (!*ret_gone && is_left(s, socket))
			*ret_gone = socket->tgid;
	}
	return wanted || *ret_gone;
}

/* True when holders were found, perhaps: what was read tells of them when it is read again. */
static bool find_holders(struct session *s, uint32_t cnt)
{
	uint64_t now_ns = clock_now_ns(), pause_ns;
	uint32_t gone;

	if (now_ns < s->holders_ns || !wants_holders(s, cnt, now_ns, &gone))
		return false;
	if (gone)
		s->heirs_of = gone;
	s->bpf->bss->gone_owner = gone;
	find_owners(s);
	s->bpf->bss->gone_owner = 0;
	pause_ns = HOLDERS_PAUSE_TIMES * (clock_now_ns() - now_ns);
	s->holders_ns = now_ns + (pause_ns > HOLDERS_PAUSE_NS ? pause_ns : HOLDERS_PAUSE_NS);
	return true;
}

static void hand_over(const struct session *s, uint32_t cnt, const struct session_ops *ops)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct event_socket socket = s->socket_rows[i];

		socket.flags &= (__u8)~SOCKET_UNOWNED;
		ops->socket(ops->ctx, &socket);
	}
}

static int read_all(struct session *s, const struct session_ops *ops)
{
	uint32_t cnt = 0;
	int err = begin_read(s, &cnt);

	if (!err && find_holders(s, cnt))
		err = begin_read(s, &cnt);
	if (!err)
		rows_give_back(s, cnt, s->bpf->bss->served_at >= s->bpf->bss->places_taken);
	while (!err && cnt) {
		hand_over(s, cnt, ops);
		err = read_some(s, &cnt);
	}
	return err;
}

/* One look may cost so small a part of the time until the next: all of it is to stay below 1 % of a
 * CPU. */
#define LOOK_PAUSE_TIMES 125
#define LOOK_EARLY_NS	 50000000ull

int session_read_sockets(struct session *s, const struct session_ops *ops)
{
	uint64_t since_ns = clock_now_ns(), cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	if (!sees_requests(s))
		return 0;
	err = read_all(s, ops);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	s->sockets_due_ns = since_ns + LOOK_PAUSE_TIMES * cpu_ns;
	return err;
}

bool session_sockets_due(const struct session *s)
{
	/* The look of a slice comes some ms sooner or later than that of the one before. */
	return sees_requests(s) && clock_now_ns() + LOOK_EARLY_NS >= s->sockets_due_ns;
}

/* The programs see the shift last, and by then that connections of these levels were not
 * followed. */
void session_follow_share(struct session *s, unsigned int bucket, unsigned int shift)
{
	struct follow_share *share = &s->bpf->bss->follow_shares[bucket % FOLLOW_BUCKETS];
	unsigned int was = share->shift;
	uint16_t turn = (uint16_t)(share->turn + 1);

	if (!sees_requests(s))
		return;
	if (shift > FOLLOW_SHIFT_MAX)
		shift = FOLLOW_SHIFT_MAX;
	for (unsigned int level = shift; level < was; level++)
		share->since[level] = turn;
	if (shift || was)
		s->bpf->bss->follows_some = 1;
	if (shift < was)
		__atomic_store_n(&share->turn, turn, __ATOMIC_RELEASE);
	__atomic_store_n(&share->shift, (uint8_t)shift, __ATOMIC_RELEASE);
}

void session_take_followed(struct session *s, struct follow_seen ret_seen[FOLLOW_BUCKETS])
{
	for (unsigned int i = 0; i < FOLLOW_BUCKETS; i++) {
		struct follow_seen seen = {0}, was = s->follow_seen[i];

		if (sees_requests(s))
			seen = s->bpf->bss->follow_seen[i];
		ret_seen[i].requests = seen.requests - was.requests;
		ret_seen[i].connections = seen.connections - was.connections;
		s->follow_seen[i] = seen;
	}
	if (sees_requests(s))
		s->bpf->bss->follow_epoch++;
}

uint32_t session_connections_followed(const struct session *s)
{
	return sees_requests(s) ? s->bpf->bss->connections_followed : 0;
}

int session_read_refused(struct session *s, const struct session_ops *ops)
{
	return sees_requests(s) ? rows_read_refused(s, ops) : 0;
}

void session_namespaces(const struct session *s, uint32_t *ret_seen, uint32_t *ret_all)
{
	*ret_seen = s->namespaces_seen;
	*ret_all = s->namespaces;
}

void sockets_free(struct session *s)
{
	if (s->endpoints)
		munmap((void *)s->endpoints, s->endpoints_bytes);
	if (s->socket_rows)
		munmap((void *)s->socket_rows, s->socket_rows_bytes);
}

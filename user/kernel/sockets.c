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
#include "kernel/host.h"
#include "kernel/iterate.h"
#include "kernel/release.h"
#include "kernel/namespaces.h"
#include "kernel/rows.h"
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
		s->bpf->progs.on_state,		s->bpf->progs.on_data,
		s->bpf->progs.on_send,		s->bpf->progs.on_send_older,
		s->bpf->progs.read_sockets,	s->bpf->progs.find_listeners,
		s->bpf->progs.find_connections, s->bpf->progs.find_owners,
		s->bpf->progs.find_held,
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		bpf_program__set_autoload(programs[i], false);
	bpf_map__set_autocreate(s->bpf->maps.connections, false);
	bpf_map__set_autocreate(s->bpf->maps.endpoints, false);
	bpf_map__set_autocreate(s->bpf->maps.rows, false);
	bpf_map__set_autocreate(s->bpf->maps.free_rows, false);
	bpf_map__set_autocreate(s->bpf->maps.shares, false);
	bpf_map__set_autocreate(s->bpf->maps.refused, false);
	bpf_map__set_autocreate(s->bpf->maps.listening, false);
	bpf_map__set_autocreate(s->bpf->maps.openings, false);
	bpf_map__set_autocreate(s->bpf->maps.socket_rows, false);
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
		{s->bpf->progs.on_data, &s->bpf->links.on_data},
		{s->bpf->progs.on_state, &s->bpf->links.on_state},
		{s->bpf->progs.find_listeners, &s->bpf->links.find_listeners},
		{s->bpf->progs.find_connections, &s->bpf->links.find_connections},
		{s->bpf->progs.find_owners, &s->bpf->links.find_owners},
		{s->bpf->progs.find_held, &s->bpf->links.find_held},
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
		&s->bpf->links.on_send,		 &s->bpf->links.on_data,
		&s->bpf->links.on_state,	 &s->bpf->links.find_listeners,
		&s->bpf->links.find_connections, &s->bpf->links.find_owners,
		&s->bpf->links.read_sockets,	 &s->bpf->links.find_held,
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

/* One pass over the sockets, that notes those from that one on. */
static int read_from(struct session *s, uint32_t from, uint32_t *ret_found)
{
	int err;

	s->bpf->bss->socket_rows_from = from;
	s->bpf->bss->socket_rows_cnt = 0;
	s->bpf->bss->socket_rows_last = 0;
	s->bpf->bss->connections_followed = 0;
	err = iterate(bpf_link__fd(s->bpf->links.read_sockets), 1, NULL, NULL);
	*ret_found = s->bpf->bss->socket_rows_cnt;
	return err;
}

static uint32_t noted(uint32_t from, uint32_t found)
{
	if (found <= from)
		return 0;
	return found - from < SOCKET_ROWS_MAX ? found - from : SOCKET_ROWS_MAX;
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

/* A million unanswered requests. What comes or goes between two passes may be missed or seen
 * twice. */
#define PASSES_MAX 64

static int read_all(struct session *s, const struct session_ops *ops)
{
	uint32_t from = 0, found = 0;
	int err;

	err = read_from(s, 0, &found);
	if (!err && find_holders(s, noted(0, found)))
		err = read_from(s, 0, &found);
	if (!err)
		rows_give_back(s, found);
	for (int i = 1; !err; i++) {
		hand_over(s, noted(from, found), ops);
		from += SOCKET_ROWS_MAX;
		if (found <= from || i == PASSES_MAX)
			break;
		err = read_from(s, from, &found);
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

	if (!s->requests)
		return 0;
	err = read_all(s, ops);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	s->sockets_due_ns = since_ns + LOOK_PAUSE_TIMES * cpu_ns;
	return err;
}

bool session_sockets_due(const struct session *s)
{
	/* The look of a slice comes some ms sooner or later than that of the one before. */
	return s->requests && clock_now_ns() + LOOK_EARLY_NS >= s->sockets_due_ns;
}

/* The programs see the shift last, and by then that connections of these levels were not
 * followed. */
void session_follow_share(struct session *s, unsigned int bucket, unsigned int shift)
{
	struct follow_share *share = &s->bpf->bss->follow_shares[bucket % FOLLOW_BUCKETS];
	unsigned int was = share->shift;
	uint16_t turn = (uint16_t)(share->turn + 1);

	if (!s->requests)
		return;
	if (shift > FOLLOW_SHIFT_MAX)
		shift = FOLLOW_SHIFT_MAX;
	for (unsigned int level = shift; level < was; level++)
		share->since[level] = turn;
	if (shift < was)
		__atomic_store_n(&share->turn, turn, __ATOMIC_RELEASE);
	__atomic_store_n(&share->shift, (uint8_t)shift, __ATOMIC_RELEASE);
}

void session_take_followed(struct session *s, struct follow_seen ret_seen[FOLLOW_BUCKETS])
{
	for (unsigned int i = 0; i < FOLLOW_BUCKETS; i++) {
		struct follow_seen seen = {0}, was = s->follow_seen[i];

		if (s->requests)
			seen = s->bpf->bss->follow_seen[i];
		ret_seen[i].requests = seen.requests - was.requests;
		ret_seen[i].connections = seen.connections - was.connections;
		s->follow_seen[i] = seen;
	}
	if (s->requests)
		s->bpf->bss->follow_epoch++;
}

uint32_t session_connections_followed(const struct session *s)
{
	return s->requests ? s->bpf->bss->connections_followed : 0;
}

int session_read_refused(struct session *s, const struct session_ops *ops)
{
	return s->requests ? rows_read_refused(s, ops) : 0;
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
	if (s->socket_rows)
		munmap((void *)s->socket_rows, s->socket_rows_bytes);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes listen, by a /proc of our own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_model.h"
#include "collect/listeners.h"

#define TITLES "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
#define LISTENS(inode)                                                                       \
	"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 " \
	"       0 " #inode " 1 0000000000000000 100 0 0 10 0\n"
#define LISTENS_6(inode)                                                                        \
	"   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A " \
	"00000000:00000000 00:00000000 00000000     0        0 " #inode " 1 0 100 0 0 10 0\n"
#define CONNECTED(inode)                                                                     \
	"   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 02:00000AB1 00000000  1000 " \
	"       0 " #inode " 2 0000000000000000 20 4 30 10 -1\n"

static char folder[] = "/tmp/hotrun-test-XXXXXX";

static void make_folder(void)
{
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_expect_eq(system(command), 0);
}

static void put(uint32_t tgid, const char *name, const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%u/%s", tgid, name);
	f = fopen(path, "w");
	cr_assert(f, "%s", path);
	fputs(text, f);
	fclose(f);
}

static void open_file(uint32_t tgid, unsigned int fd, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "%u/fd/%u", tgid, fd);
	cr_assert_eq(symlink(what, path), 0);
}

/* network: of that process, or its own. */
static uint32_t begin(struct model *m, uint32_t tgid, uint32_t network)
{
	uint32_t row = build_process(m, tgid, "x", 0);
	static const char *const folders[] = {"", "/fd", "/ns", "/net"};
	char path[64], of[64], stat[256];

	m->processes[row].start_exact = true;
	m->processes[row].dirty = false;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%u%s", tgid, folders[i]);
		cr_assert_eq(mkdir(path, 0700), 0);
	}
	snprintf(stat, sizeof(stat),
		 "%u (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0 0 0 0 0 0\n", tgid,
		 tgid * (uint32_t)sysconf(_SC_CLK_TCK));
	put(tgid, "stat", stat);
	put(tgid, "net/tcp", TITLES);
	put(tgid, "net/tcp6", TITLES);
	snprintf(path, sizeof(path), "%u/ns/net", tgid);
	snprintf(of, sizeof(of), "%u/ns/net", network);
	if (network == tgid)
		put(tgid, "ns/net", "");
	else
		cr_assert_eq(link(of, path), 0);
	return row;
}

#define FLAGS(m, row) ((m)->processes[row].flags & (PROCESS_SOCKETS | PROCESS_LISTENS))
#define LISTENER      (PROCESS_SOCKETS | PROCESS_LISTENS)

Test(listeners, who_holds_a_socket_that_listens, .init = make_folder, .fini = remove_folder)
{
	struct model *m = build_model(2, 99);
	uint32_t v4 = begin(m, 10, 10), v6 = begin(m, 11, 10), client = begin(m, 12, 10),
		 none = begin(m, 13, 10), other = begin(m, 20, 20), handed = begin(m, 14, 10);

	put(10, "net/tcp", TITLES LISTENS(500) LISTENS(501) CONNECTED(502) LISTENS(503));
	put(10, "net/tcp6", TITLES LISTENS_6(600));
	put(20, "net/tcp", TITLES LISTENS(700));
	cr_assert_eq(unlink("20/net/tcp6"), 0, "a kernel without IPv6");
	open_file(10, 0, "/dev/null");
	open_file(10, 7, "socket:[501]");
	open_file(11, 3, "socket:[600]");
	open_file(12, 3, "socket:[502]");
	open_file(12, 4, "socket:[503]");
	open_file(12, 5, "pipe:[500]");
	open_file(12, 6, "/tmp/socket:[500]");
	open_file(13, 0, "/dev/null");
	open_file(14, 3, "socket:[700]");
	open_file(20, 3, "socket:[700]");
	cr_expect_eq(listeners_read(m, folder), 0);
	cr_expect_eq(FLAGS(m, v4), LISTENER);
	cr_expect_eq(FLAGS(m, v6), LISTENER);
	cr_expect_eq(FLAGS(m, client), PROCESS_SOCKETS, "behind connections nothing is read");
	cr_expect_eq(FLAGS(m, none), PROCESS_SOCKETS);
	cr_expect_eq(FLAGS(m, other), LISTENER, "in a network of its own");
	cr_expect_eq(FLAGS(m, handed), LISTENER, "a socket of another network");
	cr_expect(m->processes[v4].dirty && m->processes[none].dirty, "the store is to write it");
	/* It served. */
	cr_assert_eq(unlink("10/fd/7"), 0);
	m->processes[v4].dirty = false;
	listeners_read(m, folder);
	cr_expect_eq(FLAGS(m, v4), LISTENER);
	cr_expect_not(m->processes[v4].dirty);
	model_free(m);
}

Test(listeners, what_is_not_known_is_said, .init = make_folder, .fini = remove_folder)
{
	struct model *m = build_model(2, 99);
	uint32_t no_table = begin(m, 10, 10), no_socket = begin(m, 11, 10), many = begin(m, 12, 12),
		 gone = begin(m, 13, 12), later = begin(m, 14, 12), ended = begin(m, 15, 12),
		 kernel = begin(m, 16, 12);

	cr_assert_eq(unlink("10/net/tcp"), 0);
	open_file(10, 3, "socket:[400]");
	open_file(11, 3, "/dev/null");
	put(12, "net/tcp", TITLES LISTENS(500));
	for (unsigned int i = 0; i < 4097; i++)
		open_file(12, i, "pipe:[1]");
	cr_assert_eq(unlink("13/stat"), 0);
	m->processes[later].start_ns += 10 * BUILD_SECOND; /* of another process of that id */
	m->processes[ended].exit_ns = 1;
	m->processes[kernel].flags |= PROCESS_KERNEL;
	cr_expect_eq(listeners_read(m, folder), 2);
	cr_expect_eq(FLAGS(m, no_table), 0);
	cr_expect_eq(FLAGS(m, no_socket), PROCESS_SOCKETS, "whatever listens there");
	cr_expect_eq(FLAGS(m, many), 0);
	cr_expect_eq(FLAGS(m, gone), 0);
	cr_expect_eq(FLAGS(m, later), 0);
	cr_expect_eq(FLAGS(m, ended), 0);
	cr_expect_eq(FLAGS(m, kernel), 0);
	model_free(m);
}

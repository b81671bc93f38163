/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts in bytes of targets: what a worker finds, and what is made of answers that are forged. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "fact_kinds.h"
#include "names/names.h"
#include "names/symbol_dirs.h"
#include "names_support.h"
#include "opener/opener.h"
#include "parse/parse_fact.h"
#include "process/dotnet.h"
#include "process/node.h"

static union fact_answer answer;

/* As a worker does it. */
static enum model_reason find(struct parse_request *request, const void *bytes, size_t len)
{
	static char reply[WORKERS_REPLY_BYTES];
	int fd = fake_fd(bytes, len), result = memfd_create("result", 0);
	size_t wanted = parse_fact_bytes(request->kind);

	parse_do(request, parse_request_bytes(request), &fd, 1, result, reply);
	memset(&answer, 0, sizeof(answer));
	if (!((struct parse_reply *)reply)->reason) {
		cr_expect_eq(pread(result, &answer, sizeof(answer), 0), (ssize_t)wanted);
		parse_fact_mend(request->kind, &answer);
	}
	close(fd);
	close(result);
	return ((struct parse_reply *)reply)->reason;
}

Test(fact, an_environment_tells_of_maps_profilers_and_diagnostics)
{
#define ENV(s) (s), sizeof(s) - 1
	static const struct {
		const char *bytes;
		size_t len;
		enum perfmap_enabled enabled;
		const char *temp_dir, *profiler;
		bool off;
	} rows[] = {
		{ENV(""), PERFMAP_ENABLED_UNSET, "", "", false},
		{ENV("TMPDIR=/t\0DOTNET_PerfMapEnabled=1\0"), PERFMAP_ENABLED_ON, "/t", "", false},
		{ENV("COMPlus_EnableDiagnostics=0\0"), PERFMAP_ENABLED_UNSET, "", "", true},
		{ENV("COMPlus_EnableDiagnostics=0\0DOTNET_EnableDiagnostics=1\0"),
		 PERFMAP_ENABLED_UNSET, "", "", false},
		{ENV("DOTNET_EnableDiagnostics_IPC=0\0"), PERFMAP_ENABLED_UNSET, "", "", true},
		{ENV("CORECLR_ENABLE_PROFILING=1\0CORECLR_PROFILER_PATH_64=/p.so\0"),
		 PERFMAP_ENABLED_UNSET, "", "/p.so", false},
		{ENV("CORECLR_PROFILER_PATH=/p.so\0"), PERFMAP_ENABLED_UNSET, "", "", false},
		{ENV("DOTNET_EnableDiagnostics"), PERFMAP_ENABLED_UNSET, "", "", false},
	};
	struct parse_request request = {.kind = PARSE_ENVIRON};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(find(&request, rows[i].bytes, rows[i].len), REASON_NAMED);
		cr_expect_eq(answer.env.map.enabled, rows[i].enabled, "%zu", i);
		cr_expect_str_eq(answer.env.map.temp_dir, rows[i].temp_dir, "%zu", i);
		cr_expect_str_eq(answer.env.profiler, rows[i].profiler, "%zu", i);
		cr_expect_eq(answer.env.diagnostics_off, rows[i].off, "%zu", i);
	}
}

Test(fact, an_environment_tells_the_ports_at_which_a_runtime_waits)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool by_default;
		uint32_t cnt;
		const char *path;
	} rows[] = {
		{ENV("DOTNET_DiagnosticPorts=/t/a.sock\0"), false, 1, "/t/a.sock"},
		{ENV("COMPlus_DiagnosticPorts=a\0"), false, 1, "a"},
		{ENV("DOTNET_DiagnosticPorts=/b\0COMPlus_DiagnosticPorts=/c\0"), false, 1, "/b"},
		{ENV("DOTNET_DiagnosticPorts=/a,connect,suspend\0"), false, 1, "/a"},
		{ENV("DOTNET_DiagnosticPorts=/a,SUSPEND\0"), false, 1, "/a"},
		{ENV("DOTNET_DiagnosticPorts=/a,nosuspend\0"), false, 0, ""},
		{ENV("DOTNET_DiagnosticPorts=/a,listen\0"), false, 0, ""},
		{ENV("DOTNET_DiagnosticPorts=/a,listen,suspend;/b\0"), false, 1, "/b"},
		{ENV("DOTNET_DiagnosticPorts=;;,;/b;\0"), false, 1, "/b"},
		{ENV("DOTNET_DiagnosticPorts=/1;/2;/3;/4;/5;/6\0"), false, PARSE_PORTS_MAX, "/1"},
		{ENV("DOTNET_DiagnosticPorts=\0"), false, 0, ""},
		{ENV("DOTNET_DiagnosticPorts=/a,"), false, 1, "/a"},
		{ENV("DOTNET_DefaultDiagnosticPortSuspend=1\0"), true, 0, ""},
		{ENV("DOTNET_DefaultDiagnosticPortSuspend=0\0"), false, 0, ""},
	};
	struct parse_request request = {.kind = PARSE_ENVIRON};
	char longest[256] = "DOTNET_DiagnosticPorts=";
	size_t name_len = strlen(longest);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(find(&request, rows[i].bytes, rows[i].len), REASON_NAMED);
		cr_expect_eq(answer.env.default_suspends, rows[i].by_default, "%zu", i);
		cr_expect_eq(answer.env.ports_cnt, rows[i].cnt, "%zu", i);
		cr_expect_str_eq(answer.env.ports[0].path, rows[i].path, "%zu", i);
	}
	/* The runtime takes no path that does not fit an address, and waits at none. */
	memset(longest + name_len, 'a', PARSE_PORT_BYTES);
	cr_expect_eq(find(&request, longest, name_len + PARSE_PORT_BYTES), REASON_NAMED);
	cr_expect_eq(answer.env.ports_cnt, 0);
	cr_expect_eq(find(&request, longest, name_len + PARSE_PORT_BYTES - 1), REASON_NAMED);
	cr_expect_eq(answer.env.ports_cnt, 1);
}

Test(fact, lines_are_counted_up_to_the_bytes_that_may_be_read)
{
	static const char map[] = "7f0000001000 40 void [a] A::B()\n7f0000002000 80 stub X<Y>\nz\n";
	struct parse_request request = {.kind = PARSE_LINES, .fact.bytes_max = 1 << 20};

	cr_expect_eq(find(&request, map, sizeof(map) - 1), REASON_NAMED);
	cr_expect_eq(answer.lines.entries, 2);
	cr_expect_eq(answer.lines.methods, 1);
	cr_expect_eq(answer.lines.bytes, sizeof(map) - 1);
	cr_expect_not(answer.lines.cut);
	request.fact.bytes_max = 1;
	cr_expect_eq(find(&request, map, sizeof(map) - 1), REASON_NAMED);
	cr_expect(answer.lines.cut);
}

Test(fact, files_of_symbols_are_known_by_what_is_in_them)
{
	struct parse_request request = {.kind = PARSE_SYMBOLS};
	struct fake_elf elf = {.build_id = 0xab};
	static uint8_t image[FAKE_ELF_BYTES];

	fake_elf(&elf, image);
	cr_expect_eq(find(&request, image, sizeof(image)), REASON_NAMED);
	cr_expect(answer.symbols.rows[0].is_elf);
	cr_expect_eq(answer.symbols.rows[0].build_id_len, 20);
	cr_expect_eq(answer.symbols.rows[0].build_id[19], 0xab);
	cr_expect_not(answer.symbols.rows[0].has_version);
	cr_expect_eq(find(&request, "\177ELF and no more", 16), REASON_NAMED);
	cr_expect_not(answer.symbols.rows[0].is_elf);
}

/* Whatever the bytes are: no kind may fall over them, and none says what is not so. */
Test(fact, garbage_tells_nothing)
{
	static const char *const texts[] = {"",
					    "x",
					    "\177ELF",
					    "{\"annotations\":",
					    "DOTNET_IPC_V1",
					    "\xff\xff\xff\xff\xff\xff\xff\xff",
					    "MZ"};

	for (size_t k = 0; k < FACT_KINDS; k++) {
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			struct parse_request request = {.kind = fact_kinds[k],
							.fact.bytes_max = 4096};

			cr_expect_eq(find(&request, texts[i], strlen(texts[i])), REASON_NAMED,
				     "%zu %zu", k, i);
			if (fact_kinds[k] == PARSE_PROGRAM)
				cr_expect(!answer.program.has_runtime);
			if (fact_kinds[k] == PARSE_RUNTIME)
				cr_expect_str_empty(answer.runtime.version);
			if (fact_kinds[k] == PARSE_REPLY)
				cr_expect_lt(answer.reply.error, 0);
			if (fact_kinds[k] == PARSE_NODE)
				cr_expect_not(answer.node.found);
		}
	}
}

static void expect_flag(const void *flag)
{
	cr_expect_leq(*(const unsigned char *)flag, 1);
}

/* A worker that was taken over may answer anything. */
Test(fact, forged_answers_are_made_sound)
{
	for (int byte = 1; byte <= 0xff; byte += 0xfe) {
		for (size_t k = 0; k < FACT_KINDS; k++) {
			memset(&answer, byte, sizeof(answer));
			parse_fact_mend(fact_kinds[k], &answer);
			switch (fact_kinds[k]) {
			case PARSE_ENVIRON:
				cr_expect(memchr(answer.env.map.dump_dir, 0, PERFMAP_PATH_BYTES));
				cr_expect(memchr(answer.env.map.temp_dir, 0, PERFMAP_PATH_BYTES));
				cr_expect(memchr(answer.env.profiler, 0, PATH_MAX));
				cr_expect_eq(answer.env.map.enabled, PERFMAP_ENABLED_UNKNOWN);
				expect_flag(&answer.env.diagnostics_off);
				expect_flag(&answer.env.default_suspends);
				cr_expect_leq(answer.env.ports_cnt, PARSE_PORTS_MAX);
				cr_expect(memchr(answer.env.ports[PARSE_PORTS_MAX - 1].path, 0,
						 PARSE_PORT_BYTES));
				break;
			case PARSE_PROGRAM:
				expect_flag(&answer.program.is_32bit);
				expect_flag(&answer.program.has_runtime);
				expect_flag(&answer.program.native_aot);
				expect_flag(&answer.program.class_object);
				cr_expect_str_empty(answer.program.version);
				break;
			case PARSE_RUNTIME:
				cr_expect_str_empty(answer.runtime.version);
				break;
			case PARSE_LINES:
				expect_flag(&answer.lines.cut);
				break;
			case PARSE_REPLY:
				expect_flag(&answer.reply.reply.ok);
				cr_expect_eq(answer.reply.error, -EPROTO);
				cr_expect_str_empty(answer.reply.reply.version);
				break;
			case PARSE_NODE:
				expect_flag(&answer.node.found);
				cr_expect(memchr(answer.node.names.runtime, 0,
						 sizeof(answer.node.names.runtime)));
				break;
			default:
				expect_flag(&answer.symbols.rows[0].is_elf);
				if (byte == 0xff)
					cr_expect_not(answer.symbols.rows[0].is_elf);
			}
		}
	}
}

/* --- who does it ------------------------------------------------------------------------------ */

static enum { SILENT, SHORT, INVENTS, DIES_OF_MANY } manner;

static size_t work(const void *request, size_t len, const int *fds, unsigned fd_cnt, int result_fd,
		   void *reply)
{
	struct parse_runtime invented = {"99.1.2"};
	struct parse_node node = {.found = true, .names = {.name = "invented"}};
	struct parse_symbols symbols = {.rows[0] = {.is_elf = true, .build_id_len = 20}};
	uint32_t kind;

	memcpy(&kind, request, sizeof(kind));
	while (manner == SILENT)
		usleep(100000);
	if (manner == DIES_OF_MANY && fd_cnt > 1)
		_exit(1);
	len = parse_do(request, len, fds, fd_cnt, result_fd, reply);
	if (manner == SHORT && ftruncate(result_fd, 3))
		abort();
	if (manner == INVENTS && kind == PARSE_RUNTIME &&
	    pwrite(result_fd, &invented, sizeof(invented), 0) != (ssize_t)sizeof(invented))
		abort();
	if (manner == INVENTS && kind == PARSE_SYMBOLS &&
	    pwrite(result_fd, &symbols, sizeof(symbols), 0) != (ssize_t)sizeof(symbols))
		abort();
	if (manner == INVENTS && kind == PARSE_NODE &&
	    pwrite(result_fd, &node, sizeof(node), 0) != (ssize_t)sizeof(node))
		abort();
	return len;
}

struct asking {
	struct nursery *nursery;
	struct workers *workers;
	struct file_requests requests;
};

static void asking_begin(struct asking *a, const char *proc_path)
{
	struct workers_limits limits = {0};

	a->nursery = nursery_new(OPENER_CAPABILITIES);
	a->workers = workers_new(a->nursery, work, &limits);
	cr_assert(a->nursery && a->workers);
	cr_assert_eq(file_requests_init_with(&a->requests, a->nursery, a->workers, 0, proc_path,
					     10000000000ull),
		     0);
}

static void asking_end(struct asking *a)
{
	file_requests_clear(&a->requests);
	workers_free(a->workers);
	nursery_free(a->nursery);
}

Test(fact, a_worker_that_does_not_answer_is_paid_for_by_the_party)
{
	struct file_requests_subject who = {.process = 1, .party = 77, .wait_ns = 1200000000ull};
	struct parse_request request = {.kind = PARSE_RUNTIME};
	uint64_t start_ns = clock_now_ns();
	struct parse_runtime runtime;
	struct asking a;

	manner = SILENT;
	asking_begin(&a, "/proc");
	cr_expect_eq(file_requests_find_in(&a.requests, &who, &request, fake_fd("x", 1), false,
					   &runtime),
		     REASON_FILE_TIMEOUT);
	cr_expect_eq(file_requests_find_in(&a.requests, &who, &request, fake_fd("x", 1), false,
					   &runtime),
		     REASON_LIMIT, "in debt, nobody waits for it again");
	cr_expect_lt(clock_now_ns() - start_ns, 10000000000ull);
	asking_end(&a);
}

Test(fact, an_answer_of_another_size_is_none)
{
	struct file_requests_subject who = {.process = 1, .party = 77, .wait_ns = 10000000000ull};
	struct parse_request request = {.kind = PARSE_RUNTIME};
	struct parse_runtime runtime;
	struct asking a;

	manner = SHORT;
	asking_begin(&a, "/proc");
	cr_expect_eq(file_requests_find_in(&a.requests, &who, &request, fake_fd("x", 1), false,
					   &runtime),
		     REASON_FILE_MALFORMED);
	asking_end(&a);
}

/* Were the library read anywhere else, nobody could know of that version. */
Test(fact, a_runtime_is_read_by_a_worker)
{
	struct fake_process p = {.tgid = 4711,
				 .start_ticks = 100,
				 .comm = "app",
				 .exe = "/no/such",
				 .maps = "7f0000000000-7f0000001000 r-xp 00000000 08:01 0 "
					 "/app/libcoreclr.so\n"};
	struct dotnet_list list = {0};
	struct fake_proc proc;
	struct asking a;

	manner = INVENTS;
	fake_proc_make(&proc);
	fake_process(&proc, &p);
	fake_text(&proc, "4711/root/app/libcoreclr.so", "@(#)Version 8.0.3126.42015 @Commit: x");
	asking_begin(&a, proc.path);
	cr_assert_eq(dotnet_read(&a.requests, 4711, &list), 0);
	cr_expect_str_eq(list.rows[0].process.version, "99.1.2");
	dotnet_clear(&list);
	asking_end(&a);
	fake_proc_remove(&proc);
}

Test(fact, a_file_of_the_node_is_read_by_a_worker)
{
	struct model *m = model_new();
	uint32_t process = model_process_get(m, 100, 1000);
	struct fake_proc files;
	struct asking a;
	struct node *n;

	manner = INVENTS;
	fake_proc_make(&files);
	fake_text(&files, "var/lib/docker/containers/0123/config.v2.json", "{\"Name\":\"/web\"}");
	asking_begin(&a, files.path);
	n = node_new(&a.requests, files.path);
	cr_assert(n);
	m->processes[process].container_id = "0123";
	node_name(n, m, process);
	cr_expect_str_eq(m->processes[process].container_name, "invented");
	node_free(n);
	asking_end(&a);
	model_free(m);
	fake_proc_remove(&files);
}

static size_t symbols_found(const struct fake_proc *folder)
{
	struct symbol_dirs *d = symbol_dirs_new();
	struct workers *own;
	struct asking a;
	size_t cnt;

	asking_begin(&a, "/proc");
	own = d->requests.workers;
	d->requests.workers = a.workers;
	cr_expect_eq(symbol_dirs_add(d, folder->path), 0);
	cnt = d->files_cnt;
	d->requests.workers = own;
	symbol_dirs_free(d);
	asking_end(&a);
	return cnt;
}

Test(fact, a_folder_of_symbols_is_read_by_workers)
{
	struct fake_elf elf = {.build_id = 0xab};
	static uint8_t image[FAKE_ELF_BYTES];
	struct fake_proc folder;

	fake_proc_make(&folder);
	fake_text(&folder, "text", "no ELF at all");
	manner = INVENTS;
	cr_expect_eq(symbols_found(&folder), 1, "who reads it says so");
	/* Nor does one that is too much for a worker take others with it. */
	fake_elf(&elf, image);
	fake_file(&folder, "a", image, sizeof(image));
	fake_file(&folder, "b/c", image, sizeof(image));
	manner = DIES_OF_MANY;
	cr_expect_eq(symbols_found(&folder), 2);
	fake_proc_remove(&folder);
}

/* --- copies of maps --------------------------------------------------------------------------- */

/* Maps on file systems that may hang are copied by the worker, too. Returns what the copy holds. */
static uint64_t copy(int copy_fd, const char *map, uint64_t copied, uint64_t copy_max)
{
	struct parse_request request = {
		.kind = PARSE_MAP,
		.map = {.max_bytes = 1 << 20, .copied_bytes = copied, .copy_max = copy_max}};
	static char bytes[WORKERS_REPLY_BYTES];
	const struct parse_reply *reply = (const struct parse_reply *)bytes;
	int fds[2] = {copy_fd, fake_fd(map, strlen(map))}, result = memfd_create("result", 0);

	parse_do(&request, parse_request_bytes(&request), fds, 2, result, bytes);
	cr_expect_eq(reply->reason, REASON_NAMED);
	cr_expect_eq(reply->error, 0);
	close(fds[1]);
	close(result);
	return reply->copied_bytes;
}

Test(fact, a_copy_of_a_map_follows_it_within_its_bound)
{
	int fd = memfd_create("copy", 0);
	char text[64] = "";

	cr_expect_eq(copy(fd, "1000 40 a\n", 0, 1000), 10);
	cr_expect_eq(copy(fd, "1000 40 a\n2000 40 b\n", 10, 1000), 20);
	cr_expect_eq(copy(fd, "1000 40 a\n2000 40 b\n3000 40 c\n", 20, 25), 25,
		     "no more than may be");
	cr_expect_eq(pread(fd, text, sizeof(text), 0), 25);
	cr_expect_str_eq(text, "1000 40 a\n2000 40 b\n3000 ");
	cr_expect_eq(copy(fd, "9000 40 x\n9100 40 y\n9200 40 z\n", 25, 1000), 0, "another text");
	cr_expect_eq(copy(fd, "9000 40 x\n", 25, 1000), 0, "it was truncated");
	close(fd);
}

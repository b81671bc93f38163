/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What workers find in bytes of targets, as jobs: the first byte is the kind, the second what of
 * it. And the answers that one which was taken over might give: the bytes themselves.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "fact_kinds.h"
#include "isolate/workers.h"

#define LINES_MAX 4096u

/* These have no count of their work: the time of a CPU stands for it, sanitized and on a slow
 * machine. */
#define MOST_NS	     500000000ull
#define MOST_BYTE_NS 20000ull

static union fact_answer answer;

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void must_end(const char *text, size_t bytes)
{
	must(memchr(text, 0, bytes) != NULL);
}

static void must_be_flag(const void *flag)
{
	must(*(const unsigned char *)flag <= 1);
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);

	must(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return fd;
}

static void check(enum parse_kind kind)
{
	switch (kind) {
	case PARSE_ENVIRON:
		must((uint32_t)answer.env.map.enabled <= PERFMAP_ENABLED_ON);
		must_end(answer.env.map.dump_dir, sizeof(answer.env.map.dump_dir));
		must_end(answer.env.map.temp_dir, sizeof(answer.env.map.temp_dir));
		must_end(answer.env.profiler, sizeof(answer.env.profiler));
		must_be_flag(&answer.env.diagnostics_off);
		must_be_flag(&answer.env.default_suspends);
		must(answer.env.ports_cnt <= PARSE_PORTS_MAX);
		for (unsigned i = 0; i < PARSE_PORTS_MAX; i++)
			must_end(answer.env.ports[i].path, PARSE_PORT_BYTES);
		break;
	case PARSE_PROGRAM:
		must_be_flag(&answer.program.has_runtime);
		must_be_flag(&answer.program.native_aot);
		must_end(answer.program.version, sizeof(answer.program.version));
		break;
	case PARSE_RUNTIME:
		must_end(answer.runtime.version, sizeof(answer.runtime.version));
		break;
	case PARSE_LINES:
		must_be_flag(&answer.lines.cut);
		break;
	case PARSE_REPLY:
		must_be_flag(&answer.reply.reply.ok);
		must(answer.reply.error <= 0);
		must_end(answer.reply.reply.version, sizeof(answer.reply.reply.version));
		break;
	case PARSE_NODE:
		must_be_flag(&answer.node.found);
		must_end(answer.node.names.name, sizeof(answer.node.names.name));
		must_end(answer.node.names.runtime, sizeof(answer.node.names.runtime));
		break;
	default:
		for (unsigned i = 0; i < PARSE_SYMBOLS_MAX; i++)
			must(!answer.symbols.rows[i].is_elf ||
			     answer.symbols.rows[i].build_id_len <= BUILD_ID_MAX);
	}
}

/* Answers have one size, and nothing is read or copied beyond what may be. */
static void check_job(enum parse_kind kind, uint8_t what, const uint8_t *data, size_t size)
{
	static char bytes[WORKERS_REPLY_BYTES];
	struct parse_request request = {.kind = kind};
	const struct parse_reply *reply = (const struct parse_reply *)bytes;
	int fds[2] = {file_of(data, size / (kind == PARSE_MAP ? 2 : 1)), file_of(data, size)};
	int result = memfd_create("result", 0);
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct stat st;

	request.fact.what = what % 6;
	strcpy(request.fact.id, "0123456789ab");
	request.fact.bytes_max = LINES_MAX;
	if (kind == PARSE_MAP) {
		request.map.max_bytes = 1 << 20;
		request.map.copied_bytes = size / 2;
		request.map.copy_max = size / 2 + what;
	}
	must(parse_do(&request, parse_request_bytes(&request), fds, kind == PARSE_MAP ? 2 : 1,
		      result, bytes) == sizeof(*reply));
	must(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns < MOST_NS + MOST_BYTE_NS * size);
	must(!fstat(result, &st));
	if (kind == PARSE_MAP) {
		must(reply->copied_bytes <= size / 2 + what);
		must(!fstat(fds[0], &st) && (uint64_t)st.st_size <= size / 2 + what);
	} else if (!reply->reason) {
		must((size_t)st.st_size == parse_fact_bytes(kind));
		must(pread(result, &answer, sizeof(answer), 0) == st.st_size);
		check(kind);
		if (kind == PARSE_LINES)
			must(answer.lines.bytes <= size && answer.lines.entries <= size / 2 &&
			     answer.lines.methods <= answer.lines.entries);
		if (kind == PARSE_PROGRAM)
			must(answer.program.has_runtime || !*answer.program.version);
	}
	close(fds[0]);
	close(fds[1]);
	close(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum parse_kind kind;

	if (size < 2)
		return 0;
	kind = data[0] % (FACT_KINDS + 1) < FACT_KINDS ? fact_kinds[data[0] % (FACT_KINDS + 1)]
						       : PARSE_MAP;
	check_job(kind, data[1], data + 2, size - 2);
	if (kind == PARSE_MAP)
		return 0;
	memset(&answer, data[1], sizeof(answer));
	memcpy(&answer, data + 2, size - 2 < sizeof(answer) ? size - 2 : sizeof(answer));
	parse_fact_mend(kind, &answer);
	check(kind);
	return 0;
}

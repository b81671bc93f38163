/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/parse_fact.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/workers.h"
#include "perfmap/images/image.h"
#include "perfmap/maps/line.h"

#define CHUNK_BYTES (1u << 20)

static const size_t answer_bytes[] = {
	[PARSE_ENVIRON] = sizeof(struct parse_environ),
	[PARSE_PROGRAM] = sizeof(struct dotnet_executable),
	[PARSE_RUNTIME] = sizeof(struct parse_runtime),
	[PARSE_LINES] = sizeof(struct parse_lines),
	[PARSE_REPLY] = sizeof(struct parse_answer),
	[PARSE_NODE] = sizeof(struct parse_node),
	[PARSE_SYMBOLS] = sizeof(struct parse_symbols),
};

size_t parse_fact_bytes(enum parse_kind kind)
{
	return kind < sizeof(answer_bytes) / sizeof(answer_bytes[0]) ? answer_bytes[kind] : 0;
}

bool parse_is_fact(enum parse_kind kind)
{
	return parse_fact_bytes(kind) != 0;
}

/* The first max bytes of a file and a NUL behind them. Owned, or NULL. */
static char *read_whole(int fd, size_t max, size_t *ret_len)
{
	size_t cap = 65536 < max ? 65536 : max, len = 0;
	_cleanup_free_ char *bytes = malloc(cap + 1);

	while (bytes && len < max) {
		ssize_t n = pread(fd, bytes + len, cap - len, (off_t)len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NULL;
		if (!n)
			break;
		len += (size_t)n;
		if (len == cap && cap < max) {
			char *grown;

			cap = 2 * cap < max ? 2 * cap : max;
			grown = realloc(bytes, cap + 1);
			if (!grown)
				return NULL;
			bytes = grown;
		}
	}
	if (!bytes)
		return NULL;
	bytes[len] = '\0';
	*ret_len = len;
	return take_ptr(&bytes);
}

/* --- environments ----------------------------------------------------------------------------- */

/* DOTNET_ wins over COMPlus_. docs/design/coreclr/profiling: a profiler's path may be given for one
 * architecture alone. */
enum variable {
	VARIABLE_DIAGNOSTICS,
	VARIABLE_DIAGNOSTICS_OLD,
	VARIABLE_IPC,
	VARIABLE_IPC_OLD,
	VARIABLE_SUSPEND,
	VARIABLE_SUSPEND_OLD,
	VARIABLE_PORTS,
	VARIABLE_PORTS_OLD,
	VARIABLE_PROFILING,
	VARIABLE_PROFILER,
	VARIABLE_PROFILER_LAST = VARIABLE_PROFILER + 4,
	VARIABLE_CNT,
};

static const char *const variables[VARIABLE_CNT] = {
	"DOTNET_EnableDiagnostics",
	"COMPlus_EnableDiagnostics",
	"DOTNET_EnableDiagnostics_IPC",
	"COMPlus_EnableDiagnostics_IPC",
	"DOTNET_DefaultDiagnosticPortSuspend",
	"COMPlus_DefaultDiagnosticPortSuspend",
	"DOTNET_DiagnosticPorts",
	"COMPlus_DiagnosticPorts",
	"CORECLR_ENABLE_PROFILING",
	"CORECLR_PROFILER_PATH",
	"CORECLR_PROFILER_PATH_64",
	"CORECLR_PROFILER_PATH_32",
	"CORECLR_PROFILER_PATH_ARM64",
	"CORECLR_PROFILER_PATH_ARM",
};

/* Values of the first entry of each, NULL where there is none. */
static void find_variables(const char *bytes, size_t len, const char *values[VARIABLE_CNT])
{
	for (size_t at = 0; at < len; at += strlen(bytes + at) + 1) {
		const char *entry = bytes + at;

		if (*entry != 'D' && *entry != 'C')
			continue;
		for (unsigned i = 0; i < VARIABLE_CNT; i++) {
			size_t name_len = strlen(variables[i]);

			if (!values[i] && !strncmp(entry, variables[i], name_len) &&
			    entry[name_len] == '=')
				values[i] = entry + name_len + 1;
		}
	}
}

/* The runtime reads its numbers as hexadecimal. */
static bool is_number(const char *value, const char *old_value, unsigned long number)
{
	value = value ? value : old_value;
	return value && *value && strtoul(value, NULL, 16) == number;
}

/* Whether it is the word, in any case. */
static bool is_word(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && !strncasecmp(at, word, len);
}

/* One of "PATH[,listen|connect][,suspend|nosuspend]", of which connect and suspend need not be
 * said (dotnet/runtime, src/native/eventpipe/ds-ipc.c; listen is ignored there). */
static void add_port(const char *at, size_t len, struct parse_environ *answer)
{
	struct parse_port *port = &answer->ports[answer->ports_cnt];
	size_t path_len = strcspn(at, ",;");
	bool suspends = true, listens = false;

	if (!path_len || path_len >= sizeof(port->path) || answer->ports_cnt >= PARSE_PORTS_MAX)
		return;
	for (size_t i = path_len; i < len;) {
		const char *word = at + i + 1;
		size_t word_len = strcspn(word, ",;");

		if (is_word(word, word_len, "listen") || is_word(word, word_len, "connect"))
			listens = *word == 'l' || *word == 'L';
		if (is_word(word, word_len, "suspend") || is_word(word, word_len, "nosuspend"))
			suspends = *word == 's' || *word == 'S';
		i += 1 + word_len;
	}
	if (!suspends || listens)
		return;
	memcpy(port->path, at, path_len);
	port->path[path_len] = '\0';
	answer->ports_cnt++;
}

static void find_ports(const char *value, struct parse_environ *answer)
{
	while (value && *value) {
		size_t len = strcspn(value, ";");

		add_port(value, len, answer);
		value += len + (value[len] == ';');
	}
}

static enum model_reason do_environ(int fd, struct parse_environ *answer)
{
	const char *values[VARIABLE_CNT] = {0}, *profiler = NULL;
	_cleanup_free_ char *bytes = NULL;
	size_t len;

	bytes = read_whole(fd, PERFMAP_ENVIRONMENT_BYTES_MAX, &len);
	if (!bytes)
		return REASON_LIMIT;
	perfmap_environment_parse(bytes, len, &answer->map);
	find_variables(bytes, len, values);
	answer->diagnostics_off =
		is_number(values[VARIABLE_DIAGNOSTICS], values[VARIABLE_DIAGNOSTICS_OLD], 0) ||
		is_number(values[VARIABLE_IPC], values[VARIABLE_IPC_OLD], 0);
	answer->default_suspends =
		is_number(values[VARIABLE_SUSPEND], values[VARIABLE_SUSPEND_OLD], 1);
	find_ports(values[VARIABLE_PORTS] ? values[VARIABLE_PORTS] : values[VARIABLE_PORTS_OLD],
		   answer);
	for (unsigned i = VARIABLE_PROFILER; i <= VARIABLE_PROFILER_LAST && !profiler; i++)
		profiler = values[i];
	if (profiler && is_number(values[VARIABLE_PROFILING], NULL, 1))
		snprintf(answer->profiler, sizeof(answer->profiler), "%s", profiler);
	return REASON_NAMED;
}

/* --- lines of a perf map ---------------------------------------------------------------------- */

static void count_line(const char *line, size_t len, struct parse_lines *answer)
{
	struct perfmap_line parsed;

	if (perfmap_line_parse(line, len, &parsed))
		return;
	answer->entries++;
	answer->methods += !perfmap_line_is_stub(line + parsed.name_offset, parsed.name_len);
}

static enum model_reason do_lines(int fd, uint64_t bytes_max, struct parse_lines *answer)
{
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES);
	size_t len = 0;

	if (!chunk)
		return REASON_LIMIT;
	if (bytes_max > PARSE_LINES_BYTES_MAX)
		bytes_max = PARSE_LINES_BYTES_MAX;
	while (answer->bytes < bytes_max) {
		ssize_t n = pread(fd, chunk + len, CHUNK_BYTES - len, (off_t)answer->bytes);
		char *line = chunk, *newline;

		if (n <= 0)
			return REASON_NAMED;
		answer->bytes += (uint64_t)n;
		len += (size_t)n;
		while ((newline = memchr(line, '\n', len - (size_t)(line - chunk)))) {
			count_line(line, (size_t)(newline - line), answer);
			line = newline + 1;
		}
		len -= (size_t)(line - chunk);
		if (len == CHUNK_BYTES) /* longer than any line */
			len = 0;
		memmove(chunk, line, len);
	}
	answer->cut = true;
	return REASON_NAMED;
}

/* --- replies of a runtime --------------------------------------------------------------------- */

static enum model_reason do_reply(int fd, uint32_t request, struct parse_answer *answer)
{
	_cleanup_free_ char *bytes = NULL;
	size_t len, wanted;

	bytes = read_whole(fd, DIAGNOSTICS_REPLY_BYTES_MAX, &len);
	if (!bytes)
		return REASON_LIMIT;
	answer->error = diagnostics_decode((enum diagnostics_request)request,
					   (const uint8_t *)bytes, len, &wanted, &answer->reply);
	return REASON_NAMED;
}

/* --- the node's files ------------------------------------------------------------------------- */

static enum model_reason do_node(int fd, const struct parse_fact *fact, struct parse_node *answer)
{
	_cleanup_free_ char *bytes = NULL;
	struct container_names *names = &answer->names;
	char id[sizeof(fact->id)];
	size_t len;

	bytes = read_whole(fd, PARSE_NODE_BYTES_MAX, &len);
	if (!bytes)
		return REASON_LIMIT;
	snprintf(id, sizeof(id), "%.*s", (int)sizeof(id) - 1, fact->id);
	switch (fact->what) {
	case PARSE_NODE_SPEC:
		answer->found = container_from_spec(bytes, len, names);
		break;
	case PARSE_NODE_DOCKER:
		answer->found = container_from_docker(bytes, len, names);
		break;
	case PARSE_NODE_STORAGE:
		answer->found = container_from_storage(bytes, len, id, names);
		break;
	case PARSE_NODE_LOG:
		answer->found = container_from_log(bytes, len, id, names);
		break;
	case PARSE_NODE_POD_FOLDER:
		answer->found = container_from_pod_folder(bytes, len, id, names);
		break;
	}
	return REASON_NAMED;
}

/* --- files of symbols ------------------------------------------------------------------------- */

/* Whether the code is in the file: debug files keep its headers alone. 64-bit files, the only ones
 * that stacks are walked in. */
static bool has_code(int fd)
{
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (unsigned i = 0; i < header.e_phnum && i < ELF_SEGMENTS_MAX; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), (off_t)(header.e_phoff + i * sizeof(ph))) !=
		    sizeof(ph))
			return false;
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			return ph.p_filesz != 0;
	}
	return false;
}

static ssize_t read_at(void *source, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = pread(*(const int *)source, buf, len, (off_t)offset);

	return n < 0 ? -errno : n;
}

static void read_version(int fd, struct parse_symbol *symbol)
{
	struct perfmap_image *image = NULL;
	const uint8_t *version;

	if (perfmap_image_load(read_at, &fd, &image))
		return;
	version = perfmap_image_mvid(image);
	symbol->has_version = version != NULL;
	if (version)
		memcpy(symbol->version, version, sizeof(symbol->version));
	perfmap_image_free(image);
}

static void identify(int fd, struct parse_symbol *symbol)
{
	struct elf_identity identity;
	char magic[SELFMAG];

	if (pread(fd, magic, SELFMAG, 0) != SELFMAG)
		return;
	if (memcmp(magic, ELFMAG, SELFMAG)) {
		read_version(fd, symbol);
		return;
	}
	if (elf_identify(fd, &identity) || identity.build_id_len < 2)
		return;
	symbol->is_elf = true;
	memcpy(symbol->build_id, identity.build_id, sizeof(symbol->build_id));
	symbol->build_id_len = identity.build_id_len;
	symbol->has_code = has_code(fd);
}

static enum model_reason do_symbols(const int *fds, unsigned fd_cnt, struct parse_symbols *answer)
{
	for (unsigned i = 0; i < fd_cnt && i < PARSE_SYMBOLS_MAX; i++)
		if (fds[i] >= 0)
			identify(fds[i], &answer->rows[i]);
	return REASON_NAMED;
}

/* ---------------------------------------------------------------------------------------------- */

union answer {
	struct parse_environ environ_of;
	struct dotnet_executable program;
	struct parse_runtime runtime;
	struct parse_lines lines;
	struct parse_answer reply;
	struct parse_node node;
	struct parse_symbols symbols;
};

static enum model_reason find(const struct parse_request *request, const int *fds, unsigned fd_cnt,
			      union answer *answer)
{
	switch (request->kind) {
	case PARSE_ENVIRON:
		return do_environ(fds[0], &answer->environ_of);
	case PARSE_PROGRAM:
		dotnet_version_executable(fds[0], &answer->program);
		return REASON_NAMED;
	case PARSE_RUNTIME:
		dotnet_version_library(fds[0], answer->runtime.version);
		return REASON_NAMED;
	case PARSE_LINES:
		return do_lines(fds[0], request->fact.bytes_max, &answer->lines);
	case PARSE_REPLY:
		return do_reply(fds[0], request->fact.what, &answer->reply);
	case PARSE_NODE:
		return do_node(fds[0], &request->fact, &answer->node);
	case PARSE_SYMBOLS:
		return do_symbols(fds, fd_cnt, &answer->symbols);
	default:
		return REASON_LIMIT;
	}
}

enum model_reason parse_fact_do(const struct parse_request *request, const int *fds,
				unsigned fd_cnt, int result_fd)
{
	size_t bytes = parse_fact_bytes(request->kind);
	union answer answer;
	enum model_reason reason;

	memset(&answer, 0, sizeof(answer));
	reason = find(request, fds, fd_cnt, &answer);
	if (!reason && pwrite(result_fd, &answer, bytes, 0) != (ssize_t)bytes)
		reason = REASON_LIMIT;
	return reason;
}

/* --- at home ---------------------------------------------------------------------------------- */

/* Whatever byte a flag is. */
static void mend_flag(bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, 1);
	*flag = byte != 0;
}

#define MEND_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

static void mend_version(char *version, size_t bytes)
{
	static const char allowed[] = ".-+0123456789abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	version[bytes - 1] = '\0';
	if (version[strspn(version, allowed)])
		version[0] = '\0';
}

static void mend_environ(struct parse_environ *e)
{
	if ((uint32_t)e->map.enabled > PERFMAP_ENABLED_ON)
		e->map.enabled = PERFMAP_ENABLED_UNKNOWN;
	MEND_TEXT(e->map.dump_dir);
	MEND_TEXT(e->map.temp_dir);
	MEND_TEXT(e->profiler);
	mend_flag(&e->diagnostics_off);
	mend_flag(&e->default_suspends);
	if (e->ports_cnt > PARSE_PORTS_MAX)
		e->ports_cnt = 0;
	for (unsigned i = 0; i < PARSE_PORTS_MAX; i++) {
		MEND_TEXT(e->ports[i].path);
	}
}

static void mend_program(struct dotnet_executable *e)
{
	mend_flag(&e->is_32bit);
	mend_flag(&e->has_runtime);
	mend_flag(&e->native_aot);
	mend_flag(&e->class_object);
	mend_version(e->version, sizeof(e->version));
}

static void mend_reply(struct parse_answer *answer)
{
	mend_flag(&answer->reply.ok);
	mend_version(answer->reply.version, sizeof(answer->reply.version));
	/* As diagnostics_decode() has it. */
	if (answer->error && answer->error != -EAGAIN)
		answer->error = -EPROTO;
}

static void mend_node(struct parse_node *node)
{
	mend_flag(&node->found);
	MEND_TEXT(node->names.name);
	MEND_TEXT(node->names.pod);
	MEND_TEXT(node->names.namespace);
	MEND_TEXT(node->names.pod_uid);
	MEND_TEXT(node->names.runtime);
}

static void mend_symbols(struct parse_symbols *symbols)
{
	for (unsigned i = 0; i < PARSE_SYMBOLS_MAX; i++) {
		struct parse_symbol *s = &symbols->rows[i];

		mend_flag(&s->is_elf);
		mend_flag(&s->has_code);
		mend_flag(&s->has_version);
		if (s->build_id_len > BUILD_ID_MAX)
			s->is_elf = false;
	}
}

void parse_fact_mend(enum parse_kind kind, void *answer)
{
	struct parse_runtime *runtime = answer;
	struct parse_lines *lines = answer;

	switch (kind) {
	case PARSE_ENVIRON:
		mend_environ(answer);
		break;
	case PARSE_PROGRAM:
		mend_program(answer);
		break;
	case PARSE_RUNTIME:
		mend_version(runtime->version, sizeof(runtime->version));
		break;
	case PARSE_LINES:
		mend_flag(&lines->cut);
		break;
	case PARSE_REPLY:
		mend_reply(answer);
		break;
	case PARSE_NODE:
		mend_node(answer);
		break;
	case PARSE_SYMBOLS:
		mend_symbols(answer);
		break;
	default:
		break;
	}
}

bool parse_fact_take(struct workers_job *job, enum parse_kind kind, void *ret_answer)
{
	size_t bytes = 0, wanted = parse_fact_bytes(kind);
	_cleanup_close_ int fd = workers_job_take_result(job, &bytes);

	if (fd < 0 || bytes != wanted || pread(fd, ret_answer, wanted, 0) != (ssize_t)wanted)
		return false;
	parse_fact_mend(kind, ret_answer);
	return true;
}

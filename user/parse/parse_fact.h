/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_PARSE_FACT_H
#define HOTRUN_PARSE_PARSE_FACT_H
/*
 * Facts that a worker (parse/parse.h) finds in bytes of targets and of others whom nobody knows:
 * environments, programs, replies, JSON of the node. Each kind has one answer of fixed size, which
 * crosses in memory. The worker's side runs in its sandbox and the work is a constant for each
 * byte; at home an answer is made sound before anybody looks at it, as the worker may have been
 * taken over. No state.
 */
#include <limits.h>

#include "parse/container.h"
#include "parse/dotnet_version.h"
#include "parse/elf.h"
#include "parse/parse.h"
#include "perfmap/maps/locate.h"
#include "perfmap/socket/diagnostics.h"

/* A port to which the runtime connects, and at which it waits at its start until it is told to go
 * on. Ports in listen mode are not among them: the runtime takes no notice of these. */
#define PARSE_PORT_BYTES 108 /* sun_path: the runtime takes no longer ones */
#define PARSE_PORTS_MAX	 4u
struct parse_port {
	char path[PARSE_PORT_BYTES];
};

/* PARSE_ENVIRON. */
struct parse_environ {
	struct perfmap_environment map;
	char profiler[PATH_MAX]; /* path of another profiler's library; "" none is to be loaded */
	bool diagnostics_off;	 /* by DOTNET_EnableDiagnostics or DOTNET_EnableDiagnostics_IPC */
	/* DOTNET_DefaultDiagnosticPortSuspend; and the ports of DOTNET_DiagnosticPorts that
	 * suspend, those beyond PARSE_PORTS_MAX are left out. */
	bool default_suspends;
	uint32_t ports_cnt;
	struct parse_port ports[PARSE_PORTS_MAX];
};

/* PARSE_RUNTIME. */
struct parse_runtime {
	char version[DOTNET_VERSION_BYTES]; /* "" it tells none */
};

/* PARSE_LINES. */
struct parse_lines {
	uint64_t bytes; /* read */
	uint64_t entries, methods;
	bool cut; /* it has more than was read */
};

/* PARSE_REPLY. */
struct parse_answer {
	int32_t error; /* of diagnostics_decode() */
	struct diagnostics_reply reply;
};

/* PARSE_NODE: what the bytes of its file are. */
enum parse_node_source {
	PARSE_NODE_SPEC,
	PARSE_NODE_DOCKER,
	PARSE_NODE_STORAGE,
	PARSE_NODE_LOG,	       /* the name of a file */
	PARSE_NODE_POD_FOLDER, /* the name of a folder */
};
struct parse_node {
	bool found;
	struct container_names names;
};

/* PARSE_SYMBOLS: of each descriptor, in their order; one that there is none of is all 0. */
#define PARSE_SYMBOLS_MAX 10u
struct parse_symbol {
	bool is_elf; /* with a build id, too */
	bool has_code;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	bool has_version;
	uint8_t version[16]; /* of a precompiled image */
};
struct parse_symbols {
	struct parse_symbol rows[PARSE_SYMBOLS_MAX];
};

/* Of a perf map whose lines are counted, a tenth of a second's work; usual ones have 1 MB. */
#define PARSE_LINES_BYTES_MAX (64u << 20)
/* A bundle's config.json has 10 to 60 KiB; containers.json 1 KiB a container. JSON of empty lists
 * alone takes 50 times its size in memory: more than a worker has, which then gives up. */
#define PARSE_NODE_BYTES_MAX (2u << 20)

/* Whether a kind is one of these. */
bool parse_is_fact(enum parse_kind kind);
/* The size of its answer. */
size_t parse_fact_bytes(enum parse_kind kind);

/* The worker's side: writes the answer to result_fd. fds: -1 where there is none. */
enum model_reason parse_fact_do(const struct parse_request *request, const int *fds,
				unsigned fd_cnt, int result_fd);

/* At home: makes an answer sound. Texts end, flags are flags, versions are such. */
void parse_fact_mend(enum parse_kind kind, void *answer);

struct workers_job;
/* Takes the answer of a job that was answered well. False: it has none of that size. */
bool parse_fact_take(struct workers_job *job, enum parse_kind kind, void *ret_answer);
#endif

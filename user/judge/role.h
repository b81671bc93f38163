/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_ROLE_H
#define HOTRUN_JUDGE_ROLE_H
/*
 * What the threads of a process are for, told from their names alone: CPU by role needs no symbol
 * and uses the exact time by switches. Pure; no threads.
 *
 * .NET names its threads so that the kernel sees 15 characters ("`.NET TP Worker`"); the list is
 * that of .NET 8 to 10 (clrthread names in coreclr, Thread.Name in the libraries), with the short
 * forms of dotnet/runtime #125919. Names are no contract: what is not known keeps its own name.
 */
#include "model/model.h"

enum role {
	ROLE_OWN, /* a name of its own, digits folded */
	ROLE_MAIN,
	ROLE_POOL_WORKER,
	ROLE_POOL_GATE,
	ROLE_POOL_WAIT,
	ROLE_TIMER,
	ROLE_FINALIZER,
	ROLE_GC_SERVER,
	ROLE_GC_BACKGROUND,
	ROLE_TIERING,
	ROLE_SOCKETS,
	ROLE_LONG_RUNNING,
	ROLE_DIAGNOSTICS,
	ROLE_SIGNALS,
	ROLE_FILE_WATCH,
	ROLE_CONSOLE_LOGGER,
	ROLE_CNT
};

#define ROLE_LABEL_BYTES 64

struct role_row {
	enum role role;
	char label
		[ROLE_LABEL_BYTES]; /* for people; of ROLE_OWN the name with # for digits: untrusted
					 bytes, escape on output */
	uint32_t threads;
	uint32_t threads_ran; /* of these, with CPU time */
	uint64_t on_cpu_ns;
};

struct roles {
	struct role_row *rows; /* most CPU first, then by label */
	size_t rows_cnt, rows_cap;
	uint64_t on_cpu_ns;
};

/* Role by the name of a thread; main says that it is the thread whose tid is the process's. */
enum role role_of(const char *comm, bool main);
/* Text for people; "" for ROLE_OWN. Static. */
const char *role_text(enum role role);
/* Writes comm with each run of digits as one '#', cut to buf_bytes - 1. */
void role_fold_digits(char *buf, size_t buf_bytes, const char *comm);

/* Rows of that process, or NULL with errno ENOMEM. Owned by the caller. */
struct roles *roles_new(const struct model *m, uint32_t process);
void roles_free(struct roles *r);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_AGAIN_H
#define HOTRUN_NAMES_AGAIN_H
/*
 * Looks up names again in a finished capture: from the processes that still live, from files of
 * this host, from folders of symbol files. A name is never replaced by none. One thread.
 *
 * Kernel frames are left as they are: where kallsyms was hidden, the capture does not tell where
 * the kernel lay.
 */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "names/symbol_dirs.h"

struct again_options {
	const char *proc_path;	  /* "/proc"; another in tests */
	bool ask;		  /* the capture is of this host since its boot: ask processes */
	bool all;		  /* also frames that have a name */
	unsigned int from;	  /* enum names_from: of code that runtimes compiled */
	struct symbol_dirs *dirs; /* borrowed, or NULL */
	const volatile int *stop; /* ends the work when not 0, or NULL */
};

/* What became of a process with frames that were looked up. */
struct again_process {
	uint32_t process;		/* row */
	uint32_t asked;			/* places of code (an address, from a time on) */
	uint32_t named;			/* of these, have a name now that had none or another */
	uint32_t later;			/* of these, from a perf map written since: "named later" */
	uint32_t managed;		/* of these, JIT code */
	uint32_t by_reason[REASON_CNT]; /* the others: why not */
	bool alive;
};

struct again {
	struct again_process *processes; /* those with asked > 0, most named first */
	size_t processes_cnt, processes_cap;
	uint64_t asked, named;
};

/*
 * Names what can be named in m. fresh: the same capture, read once more; it is used up. Returns 0,
 * -ENOMEM, -EINTR (stop), or -errno of the helper processes. ret_again is owned (again_clear).
 */
int again_run(struct model *m, struct model *fresh, const struct again_options *options,
	      struct again *ret_again);
void again_clear(struct again *again);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_NAMES_H
#define HOTRUN_NAMES_NAMES_H
/*
 * Turns addresses into symbols with reasons, and process ids into facts. The only room (with
 * perfmap/) that opens files of watched processes, all of them hostile: see guard.h for the door,
 * opener.h for the process that opens them, parse.h for those that read them, and loader.h for the
 * deadline of what is read of /proc. Symbols, locations and process facts are written into the
 * model. Used by one thread.
 *
 * Waiting is bounded (file_requests.h): some 300 ms for a look-up, 400 ms for a process and a
 * second for all between two names_tail(). A frame whose file there was no time for has
 * REASON_LIMIT until a later sample of it finds the time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/privileges.h"
#include "isolate/ledger.h"
#include "model/model.h"

struct names;
struct symbol_dirs;

struct nursery;
struct workers;

/* Of tables and maps, where the options do not say: a large service has 30 MB. */
#define NAMES_MEMORY_BYTES (160u << 20)

/* Where names of code come from that a .NET runtime compiled. */
enum names_from {
	NAMES_AUTO,   /* its perf map, else its memory */
	NAMES_MAP,    /* its perf map alone */
	NAMES_MEMORY, /* its memory alone */
};

struct names_options {
	/* Borrowed until names_free(): the nursery of helpers that outlive this; NULL = one of its
	 * own. */
	struct nursery *nursery;
	/* Borrowed until names_free(), of names_workers(): who has used up what naming may cost is
	 * known to them, however often the model is begun anew. NULL = some of its own. */
	struct workers *workers;
	/* of tables of files and of perf maps together; 0 = NAMES_MEMORY_BYTES */
	size_t memory_bytes;
	const char *proc_path; /* "/proc"; another root in tests */
	uint64_t deadline_ns;  /* for one look-up of a target's files; 0 = 300 ms */
	/* For a finished capture: monotonic time after all of its samples. Names out of perf maps
	 * are marked LOCATION_LATER then, since nobody knows if they held at the time. 0 =
	 * recording. */
	uint64_t later_ns;
	const char *node_root; /* of the node's files, see node.h; NULL = "/", then /proc/1/root */
	struct symbol_dirs *symbols; /* borrowed; where else files may lie, or NULL */
	bool unwinds;		     /* names_unwind_code() is to know methods */
	enum names_from from;	     /* of code that runtimes compiled */
};

/* What reading one file may take; what takes more is left unread. 0 = 2 s; 10 s; what memory_bytes
 * of the options leaves for a table, 48 to 64 MiB. */
struct names_file_limits {
	uint64_t cpu_ns, wall_ns, memory_bytes;
};

/* Workers for names_options, of this nursery; memory_bytes as there. workers_free() after all that
 * borrow them. NULL with errno ENOMEM. */
struct workers *names_workers(struct nursery *nursery, size_t memory_bytes,
			      const struct names_file_limits *file);
/* Other limits of the same workers, from now on. */
void names_workers_limit(struct workers *workers, size_t memory_bytes,
			 const struct names_file_limits *file);

/* Without a nursery forks one: call it before there are descriptors and mappings that a helper
 * stuck in a target's file must not keep. Returns owned, or NULL with errno. Reads kallsyms at the
 * first kernel address, not here. */
struct names *names_new(const struct names_options *options);
void names_free(struct names *n);

/*
 * Reads what /proc tells of a process: exe, entry assembly, innermost NStgid, cgroup, unit,
 * container with the names of it and its pod (node.h), and its executable mappings (from_ns 0,
 * after an exec its time). Sets PROCESS_FACTS, or PROCESS_GONE where the process ended or another
 * one has its pid by now. Never fails: what could not be read stays unknown. Cheap to call again:
 * does nothing when the facts are there.
 */
void names_process(struct names *n, struct model *m, uint32_t process);

/*
 * The process runs .NET, as the kernel told (names_is_runtime()) or its facts do: keeps what is
 * needed to name its code when it is gone (kept_directories.h): directories, and its perf map as
 * soon as there is one. Returns true when there is nothing more to keep, else it is to be called
 * again some milliseconds later: the runtime makes the map after its library is mapped.
 */
bool names_keep(struct names *n, struct model *m, uint32_t process);
/* Whether a mapping of that name is the runtime's or of its JIT code. */
bool names_is_runtime(const char *path, size_t path_len);

/* The same for the name alone (exe, entry assembly, cgroup) after an exec, which keeps the
 * identity: facts are read again, mappings come from the side-band. */
void names_process_exec(struct names *n, struct model *m, uint32_t process);
/* What was kept of the program before the exec is dropped, nothing is read. */
void names_forget(struct names *n, struct model *m, uint32_t process);

/*
 * Names every frame of a stack that has no location valid at time_ns yet. Once all have one, it is
 * judged whether the stack reaches its thread's root (judged.h). JIT frames are looked at again
 * whenever their perf map grew, since addresses are reused; all others when another file was mapped
 * there. Never fails: a frame that cannot be named gets a symbol with its reason; one that waits
 * for its perf map has no location until names_tail has looked a few times, or names_settle.
 */
void names_stack(struct names *n, struct model *m, uint32_t stack, uint64_t time_ns);

/* The same for one address of a process, as model_stack_address() has it. */
void names_address(struct names *n, struct model *m, uint32_t process, uint64_t address,
		   uint64_t time_ns);

/* How the code of a mapping is unwound: rows of its file, page by page (bpf/events.h), and where
 * the file's addresses lie. Borrowed until the next call; content is the same number for the same
 * rows, whatever file they came from, and never given to others. Hostile. */
struct names_unwind {
	uint64_t content;
	uint64_t bias;
	const struct unwind_page *pages;
	const struct unwind_row *rows;
	uint32_t page_base, page_cnt, row_cnt;
};
/* REASON_NAMED; REASON_PENDING: the file is being read, names_poll() goes on with it; or why there
 * is nothing. page_cnt 0: the file tells nothing. */
enum model_reason names_unwind(struct names *n, const struct model *m, uint32_t process,
			       const struct model_mapping *mapping,
			       struct names_unwind *ret_unwind);

/* A page of code that a runtime compiled, see UNWIND_PAGE_BYTES of bpf/events.h: its number, and
 * rows of what is known of its methods. */
struct names_code_page {
	uint64_t number;
	const struct unwind_row *rows;
	uint32_t cnt;
};
/* Until the second, names_unwind() and names_unwind_code() ask for files for so long at the most,
 * and wait for no worker: what is not known by then is REASON_PENDING. */
void names_unwind_begin(struct names *n, uint64_t ns);
void names_unwind_end(struct names *n);

/* Whether code of a file of that name keeps frame pointers, but for some of it: it can wait. */
bool names_unwind_can_wait(const char *path);

/* Goes up with each change of what is known of a process's methods, or could be. */
uint32_t names_code_generation(const struct names *n, uint32_t process);
/* A stack led through code that a runtime compiled, at that address, of which nothing is known. */
void names_unwind_want(struct names *n, uint32_t process, uint64_t address);
/* Goes on with reading them; REASON_PENDING: there is more to come. */
enum model_reason names_unwind_code(struct names *n, const struct model *m, uint32_t process);
/* How many pages are known; the one of that index, by number. Borrowed until the next
 * names_unwind_code(). */
size_t names_code_pages(const struct names *n, uint32_t process);
struct names_code_page names_code_page(const struct names *n, uint32_t process, size_t index);

/* Who holds the locks of .NET for which these threads wait (holders.h): until then at the most, and
 * until debts_ns those whose party is in debt. False: it was not found out for all; names_tail()
 * begins the next budget. */
struct holders_wait;
bool names_holders(struct names *n, const struct model *m, struct holders_wait *waits, size_t cnt,
		   uint64_t debts_ns, uint64_t end_ns);

/* Whether the process lives: its id is that of the very incarnation. */
bool names_is_alive(const struct names *n, const struct model *m, uint32_t process);

/* After names_stack() of some, and at the start: has the memory of processes read whose code
 * nothing named yet, soon, since some code does not live long. Returns whether that goes on, or is
 * to be tried again at once. */
bool names_read(struct names *n, struct model *m);

/* Frames that wait for their perf map, or for a file that is being read. */
size_t names_waiting(const struct names *n);

/* Waits until something that frames wait for is there, for ns at the most; names_tail() names them.
 * For who has nothing else to do: the end of a recording, a finished capture. */
void names_await(struct names *n, uint64_t ns);

/* Whether something is being read. */
bool names_is_reading(const struct names *n);
/* Lets the reading of files go on that was begun: to be called some times a second while it returns
 * true. Nothing waits, and nothing is named by it. */
bool names_poll(struct names *n);
/* Within which time samples are to be named, and names_read() to be called, since code that does
 * not stay was sampled of late; UINT64_MAX: there is none. */
uint64_t names_soon_ns(const struct names *n);
/* How many answers workers gave so far: what is pending is to be asked for again when there are
 * more. */
uint64_t names_answers(const struct names *n);

/*
 * Reads what was appended to the perf maps of the processes whose JIT code was sampled. written_ns:
 * monotonic time of the previous call, i.e. the earliest moment at which new lines can have been
 * written (0 at first sight). Frames that had no entry and have one now get it, marked
 * LOCATION_LATER where the sample was before written_ns.
 */
void names_tail(struct names *n, struct model *m, uint64_t written_ns);

/*
 * The same in between, of open maps alone: memory of dynamic methods is used again, and a sample is
 * named by what lay there at its time only as exactly as the map's lines are stamped. Cheap where
 * nothing was written.
 */
void names_follow(struct names *n, struct model *m, uint64_t written_ns);

/*
 * When code of a process came to lie where other code may have been: samples from before and after
 * are to be named in the order of their times, each of them. Monotonic, 0 = never.
 */
uint64_t names_changed_ns(const struct names *n, const struct model *m, uint32_t process);

/* To be called once, after the last names_tail: gives every frame that still waits for its perf map
 * the reason why it has no name. */
void names_settle(struct names *n, struct model *m);

/*
 * Address of the kernel's _text for model.kernel_text, 0 where kallsyms is hidden. Reads kallsyms
 * (some 70 ms of CPU, most of it the kernel's).
 */
uint64_t names_kernel_text(struct names *n);

/* A process that caused more work than a process may, each once; MODEL_NONE: no other. What of it
 * was left out stands in the model (files_refused, map_unread_bytes). */
uint32_t names_next_costly(struct names *n);

/*
 * Users and containers, by numbers that stand for them: who caused most of the naming since
 * names_mark(), beyond what each may have once; the most first, max at the most. Who is set aside
 * is not named further until the next call says otherwise; its processes say since when
 * (names_aside_ns of the model).
 */
size_t names_most(const struct names *n, struct ledger_use *ret_most, size_t max);
void names_mark(struct names *n);
void names_set_aside(struct names *n, const uint64_t *parties, size_t cnt);
/* Its process whose naming cost most, to tell people who it is; MODEL_NONE: none is known. */
uint32_t names_face(struct names *n, const struct model *m, uint64_t party);

/* Look-ups abandoned at the deadline since names_new(). */
uint64_t names_timeouts(const struct names *n);

/* What naming costs besides this process. */
struct names_cost {
	/* of workers, those of before a new beginning too (see names_new()) */
	uint64_t worker_cpu_ns;
	uint64_t opener_cpu_ns; /* of who opens files, since names_new() */
	/* Of all that naming took, here as well: what everybody may use once; and what users and
	 * containers used beyond it. Only grow, as worker_cpu_ns. */
	uint64_t granted_ns, beyond_ns;
	uint64_t memory_bytes; /* resident, of workers now */
	uint64_t table_bytes;  /* of files and perf maps held here */
	uint64_t killed, died; /* jobs that passed their limits; that their worker died of */
	uint32_t without;      /* SANDBOX_WITHOUT_*: what the workers' sandbox lacks */
	bool no_helpers;       /* they cannot be had any more: what is not known stays unnamed */
};
struct names_cost names_cost(const struct names *n);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_LEFT_BEHIND_H
#define HOTRUN_PROCESS_LEFT_BEHIND_H
/*
 * Reads what others may have left of a process (model/left_behind.h). First what the kernel tells
 * in /proc, of each process and each of its threads: no file of this waits for the process. Then,
 * of .NET processes and those that are shown, what its own files tell, through the file requests.
 * Nothing is changed. One thread.
 */
#include <stddef.h>

#include "model/left_behind.h"
#include "process/dotnet.h"
#include "process/freezer.h"

/* Threads of one process that are looked at: 20 us each. Beyond it a process has threads_cut. */
#define LEFT_THREADS_MAX 65536u
/* Libraries of one process that are looked into, and files that are remembered. */
#define LEFT_LIBRARIES_MAX 128u
#define LEFT_FILES_MAX	   4096u

struct left_reader {
	struct file_requests *requests; /* borrowed */
	struct freezer freezer;
	struct left_file {
		uint64_t dev, inode;
		bool exports;
	} * files; /* libraries that were looked into */
	size_t files_cnt, files_cap;
};

/* Borrows the file requests until left_reader_clear(). */
void left_reader_init(struct left_reader *r, struct file_requests *requests);
void left_reader_clear(struct left_reader *r);

/* What the kernel tells. 0; -ESRCH: no such process, or one that ended; or another -errno. */
int left_behind_read(const struct left_reader *r, uint32_t tgid, struct left_process *ret_left);

/* Looks again: who is stopped, frozen or traced, or was. moves is set where those that were stopped
 * ran meanwhile, and where those in a trace stop ran before. Takes over what is not the kernel's.
 * The same results; -ESRCH for another process of that pid, too. */
int left_behind_read_again(const struct left_reader *r, struct left_process *left);

/* Adds what is known of a .NET process, found by dotnet_read(). */
void left_behind_add_dotnet(struct left_reader *r, const struct dotnet_target *target,
			    struct left_process *left);
/* Adds its name, unit and container where it is no .NET process. */
void left_behind_add_name(struct left_reader *r, struct left_process *left);

/* What a status file tells (proc(5)). Pure. */
struct left_status {
	char name[LEFT_COMM_BYTES]; /* still escaped */
	char state;
	uint32_t tgid;	 /* 0 = not told */
	uint32_t tracer; /* the thread that traces it */
	bool core_dumping;
	uint64_t switches; /* voluntary and not */
};
/* 0 or -EBADMSG. */
int left_status_parse(const char *text, struct left_status *ret_status);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_SIGNAL_READER_H
#define HOTRUN_ISOLATE_SIGNAL_READER_H
/*
 * Reads one file, or runs one command, again and again in a process of its own, which holds none of
 * hotrun's files: a file system that hangs, or a command that does not end, stops that process
 * alone. Make it before there are BPF objects and threads. It ends when hotrun does, and its
 * command with it.
 *
 * The command is executed directly, without a shell: words are split at blanks, there are no quotes
 * and no variables, the first word is looked up in PATH. Its input and its errors are /dev/null,
 * its folder is hotrun's, its output is read up to SIGNAL_TEXT_BYTES; it is killed, with its
 * process group, after SIGNAL_DEADLINE_MS. It holds no capability and gains none (base/confine.h),
 * and runs as hotrun's user or as the one that is said. The process that reads a file can do
 * nothing but read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/account.h"

#define SIGNAL_TEXT_BYTES  16384
#define SIGNAL_DEADLINE_MS 2000
#define SIGNAL_EVERY_MS	   1000
/* A file that was written longer ago than this says nothing of now. */
#define SIGNAL_FILE_AGE_S 30
#define SIGNAL_WORDS_MAX  32

struct signal_text {
	uint64_t time_ns; /* CLOCK_MONOTONIC of the reading's end; 0 = none has ended yet */
	/*
	 * 0, or negative errno. Of a file: -ENOTSUP no regular file, -ESTALE too old. Of both:
	 * -EFBIG too long. Of a command: -ETIMEDOUT it did not end, -ECHILD it ended with
	 * exit_code.
	 */
	int32_t err;
	int32_t exit_code; /* 128 + n after signal n */
	uint32_t len;
	char text[SIGNAL_TEXT_BYTES]; /* no NUL byte at its end */
};

struct signal_reader;

/* what: the path of a file, or the words of a command. account: who runs it, NULL = hotrun's user,
 * used before this returns. Returns it owned, or NULL with errno (EINVAL: no word, or more than
 * SIGNAL_WORDS_MAX). */
struct signal_reader *signal_reader_new(const char *what, bool is_command,
					const struct account *account);
/* The newest reading. 0, or -EAGAIN: it is being written at this instant, ask again. */
int signal_reader_get(const struct signal_reader *r, struct signal_text *ret_text);
/* Ends the process and what it runs; does not wait for one that hangs. Takes NULL. */
void signal_reader_free(struct signal_reader *r);
#endif

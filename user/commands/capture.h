/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_CAPTURE_H
#define HOTRUN_COMMANDS_CAPTURE_H
/*
 * What the commands that read a capture share: opening it, choosing a process, writing a result.
 */
#include <stdio.h>

#include "commands/time_window.h"
#include "model/model.h"

/* Reads the capture at path, or the newest of this folder when path is NULL (and says which).
 * Returns an enum exit_code; errors are logged. SIGINT and SIGTERM end the program. *ret_model is
 * owned by the caller. */
int capture_open(const char *path, struct model **ret_model);

/*
 * The rest of the command line, after its options: at most one capture, which is opened and cut
 * down to the window, and, with process, the rows of that name (else *ret_cnt 0). Nothing is caught
 * of signals afterwards (capture_leave_signals()). Returns an enum exit_code; errors are logged.
 */
int capture_argument(int argc, char **argv, const char *process, const struct time_window *window,
		     struct model **ret_model, uint32_t **ret_rows, size_t *ret_cnt);

/* Whether the user means that process by a pid or a name, or by the beginning of one; what NULL:
 * those that the recording was limited to. */
bool capture_is_meant(const struct model_process *p, const char *what, bool begins);
/*
 * Finds the processes that the user named by pid or by name, or, where none is called so, those
 * whose names begin so, most CPU first; what NULL: those that the recording was limited to (-p,
 * --cgroup), none otherwise. Returns EXIT_OK with *ret_rows owned, or EXIT_FAILED, logged.
 */
int capture_find(const struct model *m, const char *what, uint32_t **ret_rows, size_t *ret_cnt);

/* All captures are read: from here on SIGINT and SIGTERM end the program at once, as does one that
 * came before, since nothing would stay behind. */
void capture_leave_signals(void);

/* Under sudo the file belongs to the user who asked for it. */
void capture_give_to_user(int fd);

/* Opens path for writing a result, "-" or NULL = stdout; a file appears under its name only when
 * complete, with the mode 0600 less the umask: what a capture tells is as secret as the capture.
 * Returns NULL when logged. */
struct result;
struct result *result_open(const char *path);
/* The same where writing it is all that is left to do, with capture_leave_signals(); where the file
 * system has no nameless files, they wait until it is done. */
struct result *result_open_last(const char *path);
FILE *result_file(struct result *result);
/* Takes the result. err: 0 or what the writer returned. Returns an enum exit_code. */
int result_close(struct result *result, int err);
/* Takes the result; there is none. */
void result_drop(struct result *result);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SERVICE_SIGNAL_H
#define HOTRUN_COMMANDS_SERVICE_SIGNAL_H
/*
 * The option --service-signal of the commands that record: the operator's own number for processes,
 * taken into each slice of the model. What cannot be read is told once, and again when that
 * changes; it never stops a recording.
 */
#include "model/model.h"

#define SERVICE_SIGNALS_MAX 16

#define SERVICE_SIGNAL_HELP                                                                    \
	"      --service-signal [NAME=]FILE, [NAME=]!COMMAND\n"                                \
	"                          your own number for what the kernel cannot see, read\n"     \
	"                          once a second: the share of the work that is slow or\n"     \
	"                          fails, 0 to 1 or in %, of NAME: a process, unit or pid.\n"  \
	"                          Without NAME: lines of `NAME NUMBER`. FILE: regular, and\n" \
	"                          written less than 30 s ago. COMMAND: run without\n"         \
	"                          capabilities and not by a shell (words are split at\n"      \
	"                          blanks), killed after 2 s. Again for more\n"                \
	"      --signal-user USER  who runs these commands: a user of /etc/passwd, or\n"       \
	"                          UID:GID (default: the user of hotrun)\n"

struct service_signals;

/* Takes one more value of the option, borrowed until service_signals_free(). *signals: NULL before
 * the first, owned by the caller. Returns an enum exit_code; errors are logged. */
int service_signals_add(struct service_signals **signals, const char *value, const char *command);
/* The same for --signal-user: the last one counts, for all commands. */
int service_signals_set_user(struct service_signals **signals, const char *value,
			     const char *command);
/* Begins to read, in processes of their own: behind the last option, before there are threads and
 * BPF objects and before capabilities are dropped. NULL: nothing. Returns an enum exit_code; errors
 * are logged. */
int service_signals_start(struct service_signals *signals, const char *command);
/* Puts the numbers as they are now into the current slice of m, for its processes that live. NULL,
 * or without any: nothing. */
void service_signals_take(struct service_signals *s, struct model *m);
/* Takes NULL. */
void service_signals_free(struct service_signals *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SERVICE_SIGNAL_H
#define HOTRUN_COMMANDS_SERVICE_SIGNAL_H
/*
 * The option --service-signal of the commands that record: the operator's own number for processes,
 * taken into each slice of the model. What cannot be read is told once, and again when that changes;
 * it never stops a recording.
 */
#include "model/model.h"

#define SERVICE_SIGNALS_MAX 16

#define SERVICE_SIGNAL_HELP                                                                     \
	"      --service-signal [NAME=]FILE, [NAME=]!COMMAND\n"                                 \
	"                          your own number, read once a second, for what the kernel\n"  \
	"                          cannot see: the share of work that is slow or fails, 0 to\n" \
	"                          1 or in %, of NAME: a process, unit or pid. Without NAME\n"  \
	"                          it gives lines of `NAME NUMBER`. COMMAND runs as hotrun\n"   \
	"                          does, without a shell, for 2 s at the most. A file\n"        \
	"                          older than 30 s counts as silent. Again for more\n"

struct service_signals;

/* Takes one more value of the option, borrowed until service_signals_free(), and begins to read: before
 * there are threads and BPF objects. *signals: NULL before the first, owned by the caller. Returns an
 * enum exit_code; errors are logged. */
int service_signals_add(struct service_signals **signals, const char *value, const char *command);
/* Puts the numbers as they are now into the current slice of m, for its processes that live. NULL, or
 * without any: nothing. */
void service_signals_take(struct service_signals *s, struct model *m);
/* Takes NULL. */
void service_signals_free(struct service_signals *s);
#endif

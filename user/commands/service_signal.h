/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SERVICE_SIGNAL_H
#define HOTRUN_COMMANDS_SERVICE_SIGNAL_H
/*
 * The option --service-signal of the commands that record: the operator's own number for processes,
 * taken into each slice of the model. What cannot be read is told once, and again when that
 * changes; it never stops a recording.
 */
#include "commands/options.h"
#include "model/model.h"

#define SERVICE_SIGNALS_MAX 16

struct service_signals;

/* Of a struct service_signals *: NULL before the first, owned by the caller. Values are borrowed
 * until service_signals_free(). */
extern const struct command_option service_signal_options[2];

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

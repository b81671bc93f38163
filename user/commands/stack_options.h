/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_STACK_OPTIONS_H
#define HOTRUN_COMMANDS_STACK_OPTIONS_H
/* The options of commands that take stacks: how those of user code are walked. */
#include "collect/collector.h"
#include "commands/options.h"

/* Of a struct collector_stacks. */
extern const struct command_option stack_options[3];
#endif

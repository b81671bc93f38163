/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_CODE_H
#define HOTRUN_JUDGE_CODE_H
/*
 * Whose code a method is, for rules that name one: the application's own first, else what the
 * framework and libraries do, else anything. Pure; no threads.
 */
#include "model/model.h"

enum code { CODE_OF_APPLICATION, CODE_MANAGED, CODE_ANY };

/* Thread pool and awaiting, which stand below all that a service does, are not CODE_MANAGED; notes
 * are no code. */
bool code_is(const struct model *m, uint32_t symbol, enum code code);
#endif

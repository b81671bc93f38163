/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_LEDGER_H
#define HOTRUN_ISOLATE_LEDGER_H
/*
 * Accounts of work that is done because of somebody: each party has an allowance at once, which
 * fills again at a fixed rate. Pure; any unit of work; times in any clock that does not go back.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parties told apart; beyond it those that are farthest from debt are forgotten. */
#define LEDGER_PARTIES_MAX 4096u

struct ledger;

/* burst: allowance of a party not seen before; it gets one unit again every refill_ns nanoseconds
 * divided by a million, i.e. refill_ns is what a million units take. Owned, or NULL with errno
 * ENOMEM. */
struct ledger *ledger_new(uint64_t burst, uint64_t refill_ns);
void ledger_free(struct ledger *l);

/* Takes used units from a party's account, which may go below zero. */
void ledger_charge(struct ledger *l, uint64_t party, uint64_t used, uint64_t now_ns);

/* What a party has left; 0 or less: it is in debt. */
int64_t ledger_balance(const struct ledger *l, uint64_t party, uint64_t now_ns);
#endif

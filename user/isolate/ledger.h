/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_LEDGER_H
#define HOTRUN_ISOLATE_LEDGER_H
/*
 * Accounts of work that is done because of somebody: each party has an allowance at once, which
 * fills again at a fixed rate, and all parties together may have one, too. Pure; any unit of work;
 * times in any clock that does not go back.
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

/*
 * What all parties may use together, in the same terms. A quarter of it is kept for newcomers: who
 * has used less than one allowance in all. While half of the rest is spent, accounts fill in equal
 * parts of what it gets, so that who used most waits longest; while all of it is, only who has more
 * than half of his allowance left may still begin: a crowd slows down itself. To be called before
 * anything is charged.
 */
void ledger_bound(struct ledger *l, uint64_t burst, uint64_t refill_ns);

/* Takes used units from a party's account, which may go below zero, and from what all may use.
 * Returns how many of them were of its first allowance. */
uint64_t ledger_charge(struct ledger *l, uint64_t party, uint64_t used, uint64_t now_ns);

/* Takes units from a party's account that nobody worked: it waits for them, and that is all. */
void ledger_fine(struct ledger *l, uint64_t party, uint64_t units, uint64_t now_ns);

/* What a party has left; 0 or less: it is in debt. */
int64_t ledger_balance(const struct ledger *l, uint64_t party, uint64_t now_ns);

/* Whether a party's work may begin: it has something left, and so have all together. */
bool ledger_may(const struct ledger *l, uint64_t party, uint64_t now_ns);

/* What a party used since ledger_mark(), beyond its first allowance. */
struct ledger_use {
	uint64_t party, used;
};

/* Begins to count anew who used how much. */
void ledger_mark(struct ledger *l);
/* Those that used most since then, the most first; those with nothing are left out. Returns their
 * number, max at the most. */
size_t ledger_most(const struct ledger *l, struct ledger_use *ret_most, size_t max);
#endif

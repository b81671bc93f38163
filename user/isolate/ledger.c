/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"

struct account {
	uint64_t party;
	int64_t balance; /* at changed_ns */
	uint64_t changed_ns;
};

struct ledger {
	int64_t burst;
	uint64_t refill_ns;
	struct account *accounts;
	size_t cnt, cap;
	struct hash_index index;
};

struct ledger *ledger_new(uint64_t burst, uint64_t refill_ns)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (l) {
		l->burst = (int64_t)burst;
		l->refill_ns = refill_ns ? refill_ns : 1;
	}
	return l;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	free(l->accounts);
	hash_clear(&l->index);
	free(l);
}

static bool account_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct ledger *)owner)->accounts[row].party == *(const uint64_t *)key;
}

static struct account *account_of(const struct ledger *l, uint64_t party)
{
	uint32_t row = hash_find(&l->index, hash_u64(party), account_equal, l, &party);

	return row == HASH_NONE ? NULL : &l->accounts[row];
}

static int64_t balance_at(const struct ledger *l, const struct account *a, uint64_t now_ns)
{
	uint64_t past_ns = now_ns > a->changed_ns ? now_ns - a->changed_ns : 0;
	/* In doubles: the product of two 64-bit numbers has no room in one. */
	double filled = (double)a->balance + (double)past_ns * 1e6 / (double)l->refill_ns;

	return filled < (double)l->burst ? (int64_t)filled : l->burst;
}

int64_t ledger_balance(const struct ledger *l, uint64_t party, uint64_t now_ns)
{
	const struct account *a = account_of(l, party);

	return a ? balance_at(l, a, now_ns) : l->burst;
}

/* Keeps the half that is nearest to debt: the others are as good as not seen before. */
static void forget_half(struct ledger *l, uint64_t now_ns)
{
	size_t kept = 0;
	int64_t limit = l->burst - 1;

	while (limit > l->burst / 1024) {
		size_t below = 0;

		for (size_t i = 0; i < l->cnt; i++)
			below += balance_at(l, &l->accounts[i], now_ns) <= limit;
		if (below <= LEDGER_PARTIES_MAX / 2)
			break;
		limit /= 2;
	}
	hash_clear(&l->index);
	for (size_t i = 0; i < l->cnt && kept < LEDGER_PARTIES_MAX - 1; i++) {
		if (balance_at(l, &l->accounts[i], now_ns) > limit)
			continue;
		l->accounts[kept] = l->accounts[i];
		if (!hash_add(&l->index, hash_u64(l->accounts[kept].party), (uint32_t)kept))
			kept++;
	}
	l->cnt = kept;
}

static struct account *add_account(struct ledger *l, uint64_t party, uint64_t now_ns)
{
	if (l->cnt >= LEDGER_PARTIES_MAX)
		forget_half(l, now_ns);
	if (GROW(l->accounts, l->cnt, l->cap) ||
	    hash_add(&l->index, hash_u64(party), (uint32_t)l->cnt))
		return NULL;
	l->accounts[l->cnt] = (struct account){party, l->burst, now_ns};
	return &l->accounts[l->cnt++];
}

void ledger_charge(struct ledger *l, uint64_t party, uint64_t used, uint64_t now_ns)
{
	struct account *a = account_of(l, party);

	if (!a)
		a = add_account(l, party, now_ns);
	if (!a)
		return;
	a->balance =
		balance_at(l, a, now_ns) - (int64_t)(used < INT64_MAX / 4 ? used : INT64_MAX / 4);
	if (a->balance < INT64_MIN / 4)
		a->balance = INT64_MIN / 4;
	a->changed_ns = now_ns;
}

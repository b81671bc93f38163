/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

/* Of what all may use: for who is new here. */
#define RESERVE_PART 4.0
/* Between two counts of those whose accounts fill. */
#define COUNT_NS 1000000000ull
/* A debt of all that can be paid back, whatever is charged at once; in bursts. */
#define DEBT_MOST 2.0
/* More is no work of this life, and has room in 64 bits. */
#define USED_MOST (UINT64_MAX / 8)

struct account {
	uint64_t party;
	double balance; /* when income was so much */
	double income;
	uint64_t used, marked; /* since it was seen first; when ledger_mark() was called */
};

struct pool {
	double balance, burst, rate; /* units, units, units a nanosecond */
};

struct ledger {
	double burst, rate; /* of a party */
	bool bounded;
	struct pool common, reserve;
	double income;	/* what each account has got since the beginning */
	uint64_t at_ns; /* of the figures above */
	size_t filling; /* accounts that are not full, when they were counted */
	uint64_t counted_ns;
	struct account *accounts;
	size_t cnt, cap;
	struct hash_index index;
};

static double rate_of(uint64_t refill_ns)
{
	return 1e6 / (double)(refill_ns ? refill_ns : 1);
}

struct ledger *ledger_new(uint64_t burst, uint64_t refill_ns)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (l) {
		l->burst = (double)burst;
		l->rate = rate_of(refill_ns);
	}
	return l;
}

void ledger_bound(struct ledger *l, uint64_t burst, uint64_t refill_ns)
{
	double kept = (double)burst / RESERVE_PART, rate = rate_of(refill_ns) / RESERVE_PART;

	l->bounded = true;
	l->reserve = (struct pool){kept, kept, rate};
	l->common = (struct pool){(double)burst - kept, (double)burst - kept,
				  rate_of(refill_ns) - rate};
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

static double past_ns(const struct ledger *l, uint64_t now_ns)
{
	return now_ns > l->at_ns ? (double)(now_ns - l->at_ns) : 0;
}

static double pool_at(const struct pool *pool, double ns)
{
	double balance = pool->balance + ns * pool->rate;

	return balance < pool->burst ? balance : pool->burst;
}

/* While half of what all may use is spent, its income is all that there is to be given out: the
 * other half is for bursts. */
static double income_at(const struct ledger *l, double ns)
{
	double spent_ns = 0, part = l->common.rate / (double)(l->filling ? l->filling : 1);
	double lacking = l->common.burst / 2 - l->common.balance;

	if (l->bounded && lacking > 0) {
		spent_ns = lacking / l->common.rate;
		spent_ns = spent_ns < ns ? spent_ns : ns;
	}
	part = part < l->rate ? part : l->rate;
	return l->income + spent_ns * part + (ns - spent_ns) * l->rate;
}

static double balance_at(const struct ledger *l, const struct account *a, uint64_t now_ns)
{
	double filled = a->balance + income_at(l, past_ns(l, now_ns)) - a->income;

	return filled < l->burst ? filled : l->burst;
}

int64_t ledger_balance(const struct ledger *l, uint64_t party, uint64_t now_ns)
{
	const struct account *a = account_of(l, party);
	double balance = a ? balance_at(l, a, now_ns) : l->burst;

	return (int64_t)(balance < 0 ? balance - 0.5 : balance + 0.5);
}

static bool is_new(const struct ledger *l, const struct account *a)
{
	return !a || (double)a->used < l->burst;
}

bool ledger_may(const struct ledger *l, uint64_t party, uint64_t now_ns)
{
	const struct account *a = account_of(l, party);
	double balance = a ? balance_at(l, a, now_ns) : l->burst, ns = past_ns(l, now_ns);

	if (balance <= 0)
		return false;
	if (!l->bounded || pool_at(&l->common, ns) > 0)
		return true;
	return is_new(l, a) ? pool_at(&l->reserve, ns) > 0 : balance > l->burst / 2;
}

/* Keeps the half that is nearest to debt: the others are as good as not seen before. */
static void forget_half(struct ledger *l, uint64_t now_ns)
{
	size_t kept = 0;
	double limit = l->burst - 1;

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
	l->accounts[l->cnt] =
		(struct account){.party = party, .balance = l->burst, .income = l->income};
	return &l->accounts[l->cnt++];
}

/* What was given out until now is no more a matter of time. */
static void advance(struct ledger *l, uint64_t now_ns)
{
	double ns = past_ns(l, now_ns);

	l->income = income_at(l, ns);
	l->common.balance = pool_at(&l->common, ns);
	l->reserve.balance = pool_at(&l->reserve, ns);
	l->at_ns = now_ns > l->at_ns ? now_ns : l->at_ns;
	if (l->counted_ns && l->at_ns - l->counted_ns < COUNT_NS)
		return;
	l->counted_ns = l->at_ns;
	l->filling = 0;
	for (size_t i = 0; i < l->cnt; i++)
		l->filling += balance_at(l, &l->accounts[i], l->at_ns) < l->burst;
}

static void take(struct pool *pool, double used)
{
	pool->balance -= used;
	if (pool->balance < -DEBT_MOST * pool->burst)
		pool->balance = -DEBT_MOST * pool->burst;
}

static uint64_t rest_of_first(const struct ledger *l, const struct account *a)
{
	return is_new(l, a) ? (uint64_t)l->burst - a->used : 0;
}

/* The account, to be changed now; NULL without memory. */
static struct account *open_account(struct ledger *l, uint64_t party, uint64_t now_ns)
{
	struct account *a = account_of(l, party);

	advance(l, now_ns);
	return a ? a : add_account(l, party, l->at_ns);
}

static void pay(struct ledger *l, struct account *a, uint64_t units)
{
	a->balance = balance_at(l, a, l->at_ns) - (double)units;
	if (a->balance < -(double)USED_MOST)
		a->balance = -(double)USED_MOST;
	a->income = l->income;
}

uint64_t ledger_charge(struct ledger *l, uint64_t party, uint64_t used, uint64_t now_ns)
{
	struct account *a = open_account(l, party, now_ns);
	uint64_t first;

	if (!a)
		return 0;
	used = used < USED_MOST ? used : USED_MOST;
	if (l->bounded)
		take(l->common.balance <= 0 && is_new(l, a) ? &l->reserve : &l->common,
		     (double)used);
	first = rest_of_first(l, a);
	first = used < first ? used : first;
	pay(l, a, used);
	a->used = a->used < USED_MOST ? a->used + used : a->used;
	return first;
}

void ledger_fine(struct ledger *l, uint64_t party, uint64_t units, uint64_t now_ns)
{
	struct account *a = open_account(l, party, now_ns);

	if (a)
		pay(l, a, units < USED_MOST ? units : USED_MOST);
}

void ledger_mark(struct ledger *l)
{
	for (size_t i = 0; i < l->cnt; i++)
		l->accounts[i].marked = l->accounts[i].used;
}

static uint64_t used_since(const struct ledger *l, const struct account *a)
{
	uint64_t from = a->marked > (uint64_t)l->burst ? a->marked : (uint64_t)l->burst;

	return a->used > from ? a->used - from : 0;
}

size_t ledger_most(const struct ledger *l, struct ledger_use *ret_most, size_t max)
{
	size_t cnt = 0;

	for (size_t i = 0; i < l->cnt; i++) {
		struct ledger_use use = {l->accounts[i].party, used_since(l, &l->accounts[i])};
		size_t at = cnt;

		while (at && ret_most[at - 1].used < use.used)
			at--;
		if (!use.used || at == max)
			continue;
		cnt += cnt < max;
		memmove(&ret_most[at + 1], &ret_most[at], (cnt - 1 - at) * sizeof(*ret_most));
		ret_most[at] = use;
	}
	return cnt;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/suspects.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/compare.h"

static struct suspect *find(struct suspects *s, const struct suspect_row *row)
{
	for (size_t i = 0; i < s->cnt; i++)
		if (s->rows[i].tgid == row->tgid && s->rows[i].start_ns == row->start_ns)
			return &s->rows[i];
	return NULL;
}

static struct suspect *add(struct suspects *s, const struct suspect_row *row, uint64_t from_ns)
{
	struct suspect *to;

	if (s->cnt == SUSPECTS_MAX)
		return NULL;
	to = &s->rows[s->cnt++];
	*to = (struct suspect){.tgid = row->tgid,
			       .start_ns = row->start_ns,
			       .since_ns = from_ns,
			       .result = row->result,
			       .input = row->input};
	snprintf(to->name, sizeof(to->name), "%s", row->name);
	snprintf(to->unit, sizeof(to->unit), "%s", row->unit);
	snprintf(to->place, sizeof(to->place), "%s", row->place);
	to->tenant = row->tenant;
	return to;
}

void suspect_identity(char ret_text[static SUSPECT_IDENTITY], const struct suspect *s)
{
	*ret_text = '\0';
	if (s->tgid)
		snprintf(ret_text, SUSPECT_IDENTITY, "%s\n%s", s->name, s->place);
}

static double distance(const struct verdict_result *r)
{
	return r->evidence_cnt ? verdict_distance(&r->evidence[0]) : 0;
}

static bool is_worse(const struct verdict_result *a, const struct verdict_result *than)
{
	int c = verdict_compare(a->verdict, than->verdict);

	return c < 0 || (!c && distance(a) > distance(than));
}

static void note(struct suspect *to, const struct suspect_row *row, uint64_t from_ns,
		 uint64_t to_ns)
{
	to->process = row->process;
	to->no_capture = row->no_capture;
	to->last_ns = to_ns;
	to->bad_ns += to_ns - from_ns;
	if (!is_worse(&row->result, &to->result))
		return;
	to->result = row->result;
	to->input = row->input;
}

void suspects_second(struct suspects *s, const struct suspect_row *rows, size_t cnt, bool known,
		     uint64_t from_ns, uint64_t to_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct suspect *to = find(s, &rows[i]);

		if (!to)
			to = add(s, &rows[i], from_ns);
		if (to)
			note(to, &rows[i], from_ns, to_ns);
	}
	for (size_t i = 0; i < s->cnt; i++) {
		struct suspect *row = &s->rows[i];

		/* Nobody knows how it fared: as if the second had not been. */
		if (!known && row->last_ns != to_ns)
			row->last_ns += to_ns - from_ns;
		if (to_ns - row->last_ns >= SUSPECTS_GOOD_NS)
			continue;
		s->rows[kept++] = *row;
	}
	s->cnt = kept;
}

const struct suspect *suspects_first(const struct suspects *s)
{
	const struct suspect *first = NULL;

	for (size_t i = 0; i < s->cnt; i++)
		if (!first || s->rows[i].since_ns < first->since_ns)
			first = &s->rows[i];
	return first;
}

bool suspects_want_look(struct suspects *s, uint64_t passed_ns)
{
	uint64_t rested_ns = passed_ns / SUSPECTS_LOOK_PART;
	bool wanted = false;

	for (size_t i = 0; i < s->cnt; i++)
		wanted |= !s->rows[i].is_answered;
	if (wanted && s->looked_ns < SUSPECTS_LOOK_NS) {
		s->looked_ns += passed_ns;
		return true;
	}
	s->looked_ns -= s->looked_ns < rested_ns ? s->looked_ns : rested_ns;
	return false;
}

void suspects_taken(struct suspects *s)
{
	s->looked_ns = 0;
}

bool suspect_is_confirmed(const struct suspect *s, uint64_t confirm_ns, uint64_t now_ns)
{
	return s->last_ns == now_ns && s->bad_ns >= confirm_ns - confirm_ns / 100;
}

static int by_urgency(const void *a, const void *b)
{
	const struct suspect *x = *(struct suspect *const *)a, *y = *(struct suspect *const *)b;
	int c = verdict_compare(x->result.verdict, y->result.verdict);

	if (!c)
		c = COMPARE(x->tgid != 0, y->tgid != 0);
	if (!c)
		c = COMPARE(x->since_ns, y->since_ns);
	return c ? c : COMPARE(x->tgid, y->tgid);
}

size_t suspects_confirmed(struct suspects *s, uint64_t confirm_ns, uint64_t now_ns,
			  struct suspect *ret_rows[static SUSPECTS_MAX])
{
	size_t cnt = 0;

	for (size_t i = 0; i < s->cnt; i++)
		if (suspect_is_confirmed(&s->rows[i], confirm_ns, now_ns))
			ret_rows[cnt++] = &s->rows[i];
	if (cnt)
		qsort(ret_rows, cnt, sizeof(struct suspect *), by_urgency);
	return cnt;
}

double suspect_people(const struct verdict_input *in)
{
	double slow = in->slow_share * (double)in->requests;
	double ended = in->unanswered_share * (double)in->ended;
	double hung = in->stuck > slow ? (double)in->stuck - slow : 0;

	/* Who hangs counts as slow already; who gave up did not wait until then. */
	return slow + ended + hung + (double)in->refused;
}

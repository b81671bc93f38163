/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/text.h"
#include "output/history.h"
#include "output/report_text.h"

void history_knee_words(char buf[static HISTORY_WORDS_BYTES], const struct history_subject *s)
{
	const struct knee *k = &s->knee;

	if (!s->knee_sought)
		strcpy(buf, "-");
	else if (k->answer == KNEE_FOUND)
		snprintf(buf, HISTORY_WORDS_BYTES,
			 "from %s CPUs on (%s to %s): %s slow below, %s at %s",
			 number_fixed(k->at, 2).text, number_fixed(k->low, 2).text,
			 number_fixed(k->high, 2).text, number_percent(k->before).text,
			 number_percent(k->after).text, number_fixed(k->until, 2).text);
	else if (k->answer == KNEE_NONE)
		snprintf(buf, HISTORY_WORDS_BYTES, "none seen up to %s CPUs",
			 number_fixed(k->most, 2).text);
	else if (k->minutes < KNEE_MINUTES)
		snprintf(buf, HISTORY_WORDS_BYTES, "not known: %zu minutes with requests (of %d)",
			 k->minutes, KNEE_MINUTES);
	else
		snprintf(buf, HISTORY_WORDS_BYTES, "not known: CPU hardly differs (%s to %s CPUs)",
			 number_fixed(k->least, 2).text, number_fixed(k->most, 2).text);
}

const char *history_knee_id(const struct history_subject *s)
{
	if (s->knee_sought && s->knee.answer == KNEE_FOUND)
		return "found";
	return s->knee_sought && s->knee.answer == KNEE_NONE ? "none" : "unknown";
}

const char *history_verdict_id(uint64_t verdict)
{
	/* Of a later version. */
	return verdict < VERDICT_CNT ? verdict_id((enum verdict)verdict) : "unknown";
}

const char *history_verdict(const struct history_figures *f)
{
	return f->judged_ms ? history_verdict_id(f->verdict) : "";
}

void history_label(char buf[static HISTORY_LABEL_BYTES], const struct history_kind *kind)
{
	size_t len;

	if (kind->id == HISTORY_HOST) {
		strcpy(buf, "this host");
		return;
	}
	len = text_copy_safe(buf, HISTORY_LABEL_BYTES, kind->name, strlen(kind->name));
	if (!*kind->place)
		return;
	len += (size_t)snprintf(buf + len, HISTORY_LABEL_BYTES - len, " (");
	len += text_copy_safe(buf + len, HISTORY_LABEL_BYTES - len, kind->place,
			      strlen(kind->place));
	snprintf(buf + len, HISTORY_LABEL_BYTES - len, ")");
}

void history_title(char buf[static HISTORY_LABEL_BYTES], const struct history_view *v)
{
	if (v->options.name && v->kinds_cnt == 1)
		history_label(buf, &v->kinds[0].kind);
	else if (v->options.name)
		text_copy_safe(buf, HISTORY_LABEL_BYTES, v->options.name, strlen(v->options.name));
	else
		strcpy(buf, "this host");
}

struct number history_when(int64_t time_s)
{
	struct number n = number_utc(time_s);

	/* "2026-11-21 10:02:43 UTC" */
	if (strlen(n.text) > 16)
		n.text[16] = '\0';
	return n;
}

double history_observed_share(const struct history_view *v)
{
	double all_ms = (double)(v->last_s - v->first_s) * 1000;
	double share = all_ms > 0 ? (double)v->observed_ms / all_ms : 0;

	return share < 1 ? share : 1;
}

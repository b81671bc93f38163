/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/recover.h"

#define COLUMNS	    100 /* texts are long sentences */
#define INDENT	    20	/* of what stands behind a finding's level and id */
#define ESCAPED_MAX 4	/* bytes of one that is escaped */
#define NOBODY_CAN                                                                             \
	"nobody outside can undo what stands still: take it out of traffic and restart it in " \
	"quiet"

static const struct left_process *now_of(const struct recover_row *row)
{
	return row->acted ? &row->after : &row->found;
}

void recover_count(const struct recover_report *report, struct recover_counts *ret_counts)
{
	struct recover_finding *findings = calloc(RECOVER_FINDINGS_MAX, sizeof(*findings));
	struct recover_counts counts = {0};

	for (size_t r = 0; findings && r < report->rows_cnt; r++) {
		const struct recover_row *row = report->rows[r];
		size_t cnt = row->ended ? 0 : recover_judge(now_of(row), findings);
		bool stands = false;

		for (size_t i = 0; i < cnt; i++)
			stands |= findings[i].level == RECOVER_STANDS;
		counts.stand += stands;
		counts.left += cnt && !stands;
		for (size_t i = 0; i < row->done_cnt; i++)
			counts.failed += !row->done[i].ok;
	}
	free(findings);
	*ret_counts = counts;
}

/* Words of an escaped text, broken where a line is full; it begins at column `at`, the lines after
 * it at `indent`. */
static void put_words(FILE *out, const char *text, size_t at, size_t indent)
{
	for (bool first = true; *text;) {
		size_t len = strcspn(text, " ");

		if (!first && at + 1 + len > COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			putc(' ', out);
			at++;
		}
		fwrite(text, 1, len, out);
		at += len;
		text += len + (text[len] == ' ');
		first = false;
	}
	putc('\n', out);
}

static void put_text(FILE *out, const char *text, size_t at, size_t indent)
{
	size_t bytes = ESCAPED_MAX * strlen(text) + 1;
	_cleanup_free_ char *safe = malloc(bytes);

	if (!safe) {
		putc('\n', out);
		return;
	}
	text_copy_safe(safe, bytes, text, strlen(text));
	put_words(out, safe, at, indent);
}

static void put_safe(FILE *out, const char *text)
{
	text_put_safe(out, text, strlen(text));
}

static void paint(FILE *out, bool color, const char *sequence)
{
	if (color)
		fputs(sequence, out);
}

static void put_finding(FILE *out, const struct recover_finding *f, bool with_steps, bool color)
{
	char number[16];

	paint(out, color, f->level == RECOVER_STANDS ? "\033[1;31m" : "\033[1;33m");
	fprintf(out, "  %-6s", recover_level_text(f->level));
	paint(out, color, "\033[0m");
	fprintf(out, "  %-8s  ", f->id);
	put_text(out, f->text, INDENT, INDENT);
	for (size_t i = 0; with_steps && i < f->steps_cnt; i++) {
		size_t len = (size_t)snprintf(number, sizeof(number), "%zu. ", i + 1);

		fprintf(out, "%*s%s", INDENT, "", number);
		put_text(out, f->steps[i], INDENT + len, INDENT + len);
	}
}

static void put_done(FILE *out, const struct recover_done *d, bool color)
{
	paint(out, color, d->ok ? "\033[32m" : "\033[1;31m");
	fprintf(out, "  %-6s", d->ok ? "done" : "failed");
	paint(out, color, "\033[0m");
	fputs("            ", out);
	put_text(out, d->text, INDENT, INDENT);
}

static void put_heading(FILE *out, const struct left_process *p, bool color)
{
	paint(out, color, "\033[1m");
	put_safe(out, p->name);
	fprintf(out, " %u", p->tgid);
	if (*p->container) {
		fputs(" · container ", out);
		put_safe(out, p->container);
	} else if (*p->unit) {
		fputs(" · ", out);
		put_safe(out, p->unit);
	}
	paint(out, color, "\033[0m");
	putc('\n', out);
}

static bool was_done(const struct recover_row *row, enum recover_act act)
{
	for (size_t i = 0; i < row->done_cnt; i++)
		if (row->done[i].act == act)
			return true;
	return false;
}

/* Whether it stands although all was done that there is to do: not where an act was refused, had
 * no right, got no answer or was interrupted, or somebody can still do one. */
static bool is_beyond_help(const struct recover_row *row, const struct recover_finding *findings,
			   size_t cnt)
{
	bool stands = false, in_vain = false;

	for (size_t i = 0; i < cnt; i++) {
		if (findings[i].level != RECOVER_STANDS)
			continue;
		stands = true;
		if (findings[i].act != RECOVER_NOTHING && !was_done(row, findings[i].act))
			return false;
	}
	for (size_t i = 0; i < row->done_cnt; i++) {
		if (!row->done[i].ok && !row->done[i].in_vain)
			return false;
		in_vain |= row->done[i].in_vain;
	}
	return stands && in_vain;
}

/* What is there after the acts. */
static void put_after(FILE *out, const struct recover_row *row, struct recover_finding *findings,
		      bool color)
{
	size_t cnt = recover_judge(&row->after, findings);

	fputs(cnt ? "  now:\n" : "  nothing more to recover\n", out);
	for (size_t i = 0; i < cnt; i++)
		put_finding(out, &findings[i], true, color);
	if (is_beyond_help(row, findings, cnt)) {
		fputs("  → ", out);
		put_text(out, NOBODY_CAN, 4, 4);
	}
}

static void put_row(FILE *out, const struct recover_row *row, struct recover_finding *findings,
		    bool color)
{
	/* Where nothing was done, how it was then counts. */
	const struct left_process *p = row->done_cnt || row->ended ? &row->found : now_of(row);
	size_t cnt = recover_judge(p, findings);

	put_heading(out, &row->found, color);
	for (size_t i = 0; i < cnt; i++)
		put_finding(out, &findings[i], !row->done_cnt, color);
	if (!cnt)
		fputs("  nothing to recover\n", out);
	for (size_t i = 0; i < row->done_cnt; i++)
		put_done(out, &row->done[i], color);
	if (row->tracer_spared)
		fputs("  a tracer is ended only with --end-tracer and its pid: left as it is\n",
		      out);
	if (row->ended)
		fputs("  it has ended\n", out);
	else if (row->done_cnt)
		put_after(out, row, findings, color);
	putc('\n', out);
}

static const char *plural(size_t cnt)
{
	return cnt == 1 ? "" : "es";
}

static void put_summary(FILE *out, const struct recover_report *report)
{
	struct recover_counts counts;

	recover_count(report, &counts);
	if (!counts.stand && !counts.left)
		fputs("nothing to recover", out);
	else
		fprintf(out, "%zu process%s stand%s, in %zu other%s something was left",
			counts.stand, plural(counts.stand), counts.stand == 1 ? "s" : "",
			counts.left, counts.left == 1 ? "" : "s");
	fprintf(out, " (%zu process%s looked at%s)\n", report->looked_at, plural(report->looked_at),
		report->resume ? "" : "; nothing was touched");
	if (report->interrupted)
		fputs("interrupted: not all was looked at or done; the same command goes on\n",
		      out);
	if (report->cut)
		fputs("there are more than are shown\n", out);
	if (report->freeze_unseen)
		fprintf(out,
			"frozen groups cannot be seen from here for %zu process%s: look on the "
			"host\n",
			report->freeze_unseen, plural(report->freeze_unseen));
	if (report->unreadable)
		fprintf(out, "%zu process%s could be looked at in part alone, for lack of rights\n",
			report->unreadable, plural(report->unreadable));
	if (report->hung)
		fprintf(out, "%zu process%s did not answer in time\n", report->hung,
			plural(report->hung));
}

int recover_text_write(FILE *out, const struct recover_report *report, bool color)
{
	struct recover_finding *findings = calloc(RECOVER_FINDINGS_MAX, sizeof(*findings));

	if (!findings)
		return -ENOMEM;
	for (size_t i = 0; i < report->rows_cnt; i++)
		put_row(out, report->rows[i], findings, color);
	free(findings);
	put_summary(out, report);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

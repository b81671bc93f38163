/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/rename_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "model/share.h"
#include "output/report_text.h"

/* Listed one by one; the rest are counted. */
#define FILES_SHOWN	20
#define PROCESSES_SHOWN 10

static void put_text(FILE *out, const char *text)
{
	text_put_safe(out, text, strlen(text));
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint64_t without_name(const struct unnamed *u)
{
	return unnamed_frames(u);
}

static void put_change(FILE *out, const struct unnamed *before, const struct unnamed *after)
{
	fprintf(out, "unnamed frames of all samples: %s before",
		number_percent(share_of(without_name(before), before->frames)).text);
	if (after)
		fprintf(out, ", %s now",
			number_percent(share_of(without_name(after), after->frames)).text);
	putc('\n', out);
	for (uint32_t i = 1; i < REASON_CNT; i++) {
		uint64_t was = before->by_reason[i], is = after ? after->by_reason[i] : was;

		if (unnamed_is_note(i) || (!was && !is))
			continue;
		fprintf(out, "  %-20s %10s", model_reason_id(i), number_count(was).text);
		if (after)
			fprintf(out, " -> %-10s", number_count(is).text);
		fprintf(out, "  %s\n", model_reason_text(i));
	}
}

/* --- processes -------------------------------------------------------------------------------- */

static const char *state_text(const struct rename_result *r, const struct again_process *p)
{
	return p->alive ? "lives" : r->asked ? "gone" : "not asked";
}

/* What is left, on one line. */
static void put_left(FILE *out, const struct rename_result *r, const struct again_process *p)
{
	const char *before = "    left: ";

	for (uint32_t i = 1; i < REASON_CNT; i++) {
		if (!p->by_reason[i])
			continue;
		fprintf(out, "%s%s %s", before, number_count(p->by_reason[i]).text,
			model_reason_text(i));
		before = "; ";
	}
	if (before[0] == ';')
		putc('\n', out);
	if (p->by_reason[REASON_NO_PERF_MAP] && p->alive)
		fprintf(out, "    -> hotrun perfmap enable %" PRIu32 ", then rename again\n",
			r->m->processes[p->process].tgid);
}

static void put_process(FILE *out, const struct rename_result *r, const struct again_process *p)
{
	const struct model_process *process = &r->m->processes[p->process];

	fputs("  ", out);
	put_text(out, process->name);
	fprintf(out, " %" PRIu32 " (%s): %s of %s named", process->tgid, state_text(r, p),
		number_count(p->named).text, number_count(p->asked).text);
	if (p->later)
		fprintf(out, ", %s of these from a perf map read now (\"named later\")",
			number_count(p->later).text);
	putc('\n', out);
	put_left(out, r, p);
}

static void put_processes(FILE *out, const struct rename_result *r)
{
	size_t cnt = r->again->processes_cnt;

	if (!cnt)
		return;
	fputs("places of code that were looked up\n", out);
	for (size_t i = 0; i < cnt && i < PROCESSES_SHOWN; i++)
		put_process(out, r, &r->again->processes[i]);
	if (cnt > PROCESSES_SHOWN)
		fprintf(out, "  and %s more processes\n", number_count(cnt - PROCESSES_SHOWN).text);
}

/* --- files ------------------------------------------------------------------------------------ */

static const char *kind_text(const struct symbol_file *file)
{
	switch (file->kind) {
	case SYMBOL_FILE_MAP:
		return "perf map";
	case SYMBOL_FILE_ELF:
		return "by build id";
	case SYMBOL_FILE_IMAGE:
		return file->unproven ? "by file name only" : "by version id";
	}
	return "";
}

/* A map that was taken for a process, none of whose code it names. */
static bool is_misfit(const struct rename_result *r, const struct symbol_file *file)
{
	if (file->kind != SYMBOL_FILE_MAP)
		return false;
	for (size_t i = 0; i < r->again->processes_cnt; i++) {
		const struct again_process *p = &r->again->processes[i];
		const struct model_process *process = &r->m->processes[p->process];

		if ((process->tgid == file->pid || process->ns_pid == file->pid) && p->managed)
			return false;
	}
	return true;
}

static void put_file(FILE *out, const struct rename_result *r, const struct symbol_file *file)
{
	fputs("  ", out);
	put_text(out, r->dirs->folders[file->folder].name);
	putc('/', out);
	put_text(out, file->path);
	fprintf(out, ": %s%s\n", kind_text(file),
		is_misfit(r, file) ? "; it names no code of that process, is it another run's?"
				   : "");
}

static void put_files(FILE *out, const struct rename_result *r)
{
	const struct symbol_dirs *d = r->dirs;
	size_t used = 0, maps = 0;

	for (size_t i = 0; i < d->files_cnt; i++) {
		if (d->files[i].given && used++ < FILES_SHOWN)
			put_file(out, r, &d->files[i]);
		maps += !d->files[i].given && d->files[i].kind == SYMBOL_FILE_MAP;
	}
	if (used > FILES_SHOWN)
		fprintf(out, "  and %s more\n", number_count(used - FILES_SHOWN).text);
	fprintf(out, "  %s of %s symbol files used", number_count(used).text,
		number_count(d->files_cnt).text);
	if (used < d->files_cnt)
		fputs("; the others are of no file whose names are missing", out);
	if (maps)
		fprintf(out, " (%s perf map%s: of other pids, or not the only one of a pid)",
			number_count(maps).text, maps == 1 ? "" : "s");
	fputs(d->cut ? "; more lie there than are looked at\n" : "\n", out);
}

void rename_text(FILE *out, const struct rename_result *r)
{
	put_change(out, r->before, r->after);
	put_processes(out, r);
	if (!r->dirs)
		return;
	fputs("symbol files\n", out);
	put_files(out, r);
}

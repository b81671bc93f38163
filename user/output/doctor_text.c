/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "output/doctor.h"

/* Failures that the last line names; the others are above it. */
#define NAMED_MAX 5

struct printer {
	FILE *out;
	struct doctor_text_options o;
};

void doctor_count(const struct doctor_report *report, size_t ret_counts[static DOCTOR_LEVELS])
{
	struct doctor_finding findings[DOCTOR_HOST_MAX];
	size_t cnt = doctor_judge_host(report->facts, findings);

	memset(ret_counts, 0, DOCTOR_LEVELS * sizeof(*ret_counts));
	for (size_t i = 0; i < cnt; i++)
		ret_counts[findings[i].level]++;
	for (size_t p = 0; p < report->processes_cnt; p++) {
		cnt = doctor_judge_process(report->processes[p], findings);
		for (size_t i = 0; i < cnt; i++)
			ret_counts[findings[i].level]++;
	}
}

static void put(struct printer *p, const char *s)
{
	text_put_safe(p->out, s, strlen(s));
}

static void paint(struct printer *p, const char *sequence)
{
	if (p->o.color)
		fputs(sequence, p->out);
}

static void put_level(struct printer *p, enum doctor_level level)
{
	static const char *const colors[DOCTOR_LEVELS] = {
		[DOCTOR_OK] = "\033[32m",
		[DOCTOR_WARN] = "\033[1;33m",
		[DOCTOR_FAIL] = "\033[1;31m",
		[DOCTOR_NA] = "\033[2m",
	};

	paint(p, colors[level]);
	fprintf(p->out, "  %-4s", doctor_level_text(level));
	paint(p, "\033[0m");
}

static const char *name_of(const char *id)
{
	const char *dot = strchr(id, '.');

	return dot ? dot + 1 : id;
}

static void put_finding(struct printer *p, const struct doctor_finding *f)
{
	put_level(p, f->level);
	fprintf(p->out, "  %-22s  ", name_of(f->id));
	put(p, f->text);
	putc('\n', p->out);
	if (*f->remedy) {
		fprintf(p->out, "%32s→ ", "");
		put(p, f->remedy);
		putc('\n', p->out);
	}
	if (p->o.verbose) {
		paint(p, "\033[2m");
		fprintf(p->out, "%32sfor: %s\n", "", f->purpose);
		paint(p, "\033[0m");
	}
}

static void begin_heading(struct printer *p)
{
	putc('\n', p->out);
	paint(p, "\033[1m");
}

static void end_heading(struct printer *p)
{
	paint(p, "\033[0m");
	putc('\n', p->out);
}

static void put_host(struct printer *p, const struct doctor_report *report)
{
	struct doctor_finding findings[DOCTOR_HOST_MAX];
	size_t cnt = doctor_judge_host(report->facts, findings), len = 0;
	const char *group = "";

	for (size_t i = 0; i < cnt; i++) {
		const char *id = findings[i].id;

		if (strncmp(id, group, len + 1)) {
			group = id;
			len = (size_t)(name_of(id) - id) - 1;
			begin_heading(p);
			fwrite(id, 1, len, p->out);
			end_heading(p);
		}
		put_finding(p, &findings[i]);
	}
}

/* What is always told of a process: its runtime, its map, and what names its methods. */
static bool is_of_interest(const struct doctor_finding *f)
{
	return f->level == DOCTOR_WARN || f->level == DOCTOR_FAIL ||
	       !strcmp(f->id, "process.runtime") || !strcmp(f->id, "process.map") ||
	       !strcmp(f->id, "process.names");
}

static void put_process(struct printer *p, const struct dotnet_process *process)
{
	struct doctor_finding findings[DOCTOR_PROCESS_MAX];
	size_t cnt = doctor_judge_process(process, findings);

	begin_heading(p);
	put(p, process->name);
	fprintf(p->out, " %" PRIu32, process->tgid);
	if (*process->container) {
		fputs(" · container ", p->out);
		put(p, process->container);
	} else if (*process->unit) {
		fputs(" · ", p->out);
		put(p, process->unit);
	}
	end_heading(p);
	for (size_t i = 0; i < cnt; i++)
		if (p->o.verbose || is_of_interest(&findings[i]))
			put_finding(p, &findings[i]);
}

static void put_processes(struct printer *p, const struct doctor_report *report)
{
	for (size_t i = 0; i < report->processes_cnt; i++)
		put_process(p, report->processes[i]);
	if (report->no_list) {
		fprintf(p->out, "\n.NET processes: ");
		put(p, report->no_list);
		putc('\n', p->out);
	} else if (!report->processes_cnt) {
		fputs("\nno .NET process is running\n", p->out);
	}
	if (report->unreadable)
		fprintf(p->out, "\n%zu process%s could not be looked at for lack of rights\n",
			report->unreadable, report->unreadable == 1 ? "" : "es");
	if (report->hung)
		fprintf(p->out, "\n%zu process%s did not answer in time\n", report->hung,
			report->hung == 1 ? "" : "es");
}

/* Names the failures: those of the host, and the processes with some. */
static void put_failures(struct printer *p, const struct doctor_report *report)
{
	struct doctor_finding findings[DOCTOR_HOST_MAX];
	size_t cnt = doctor_judge_host(report->facts, findings), named = 0;
	const char *before = ": ";

	for (size_t i = 0; i < cnt && named < NAMED_MAX; i++) {
		if (findings[i].level != DOCTOR_FAIL)
			continue;
		fprintf(p->out, "%s%s", before, findings[i].id);
		before = ", ";
		named++;
	}
	for (size_t r = 0; r < report->processes_cnt && named < NAMED_MAX; r++) {
		cnt = doctor_judge_process(report->processes[r], findings);
		for (size_t i = 0; i < cnt && named < NAMED_MAX; i++) {
			if (findings[i].level != DOCTOR_FAIL)
				continue;
			fprintf(p->out, "%s%s of %" PRIu32, before, findings[i].id,
				report->processes[r]->tgid);
			before = ", ";
			named++;
		}
	}
}

static void put_summary(struct printer *p, const struct doctor_report *report)
{
	size_t counts[DOCTOR_LEVELS];

	doctor_count(report, counts);
	fprintf(p->out, "\n%zu ok", counts[DOCTOR_OK]);
	if (counts[DOCTOR_NA])
		fprintf(p->out, ", %zu n/a", counts[DOCTOR_NA]);
	if (counts[DOCTOR_WARN])
		fprintf(p->out, ", %zu warning%s", counts[DOCTOR_WARN],
			counts[DOCTOR_WARN] == 1 ? "" : "s");
	if (counts[DOCTOR_FAIL]) {
		fprintf(p->out, ", %zu failure%s", counts[DOCTOR_FAIL],
			counts[DOCTOR_FAIL] == 1 ? "" : "s");
		put_failures(p, report);
		if (counts[DOCTOR_FAIL] > NAMED_MAX)
			fputs(", ...", p->out);
	} else {
		fputs(counts[DOCTOR_WARN] ? ": it can be recorded, with less than there could be"
					  : ": this host is fit",
		      p->out);
	}
	putc('\n', p->out);
}

int doctor_text_write(FILE *out, const struct doctor_report *report,
		      const struct doctor_text_options *options)
{
	struct printer p = {.out = out, .o = *options};

	fprintf(out, "hotrun %s · ", report->hotrun_version);
	put(&p, report->host_name);
	fputs(" · Linux ", out);
	put(&p, report->facts->release);
	putc(' ', out);
	put(&p, report->facts->machine);
	fprintf(out, " · %" PRIu32 " CPU%s\n", report->facts->cpus_online,
		report->facts->cpus_online == 1 ? "" : "s");
	put_host(&p, report);
	put_processes(&p, report);
	put_summary(&p, report);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

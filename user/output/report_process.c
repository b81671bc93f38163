/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one process does: its tree, its top methods and modules, its threads by role. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "judge/remedy.h"
#include "judge/role.h"
#include "judge/start_here.h"
#include "model/share.h"
#include "model/top.h"
#include "model/unnamed.h"
#include "output/report_internal.h"

/* share self, share total, threads */
#define TOP_COLUMNS (2 * SHARE_COLUMNS + 7 + 2)

static void put_title(const struct report *r, const struct total_process *t)
{
	const struct model_process *p = &r->m->processes[t->process];

	putc('\n', r->out);
	put_paint(r, PAINT_HEADING);
	fputs("── ", r->out);
	put_process(r, t->process, r->o.width / 2, false);
	fprintf(r->out, " · pid %u", p->tgid);
	if (p->ns_pid && p->ns_pid != p->tgid)
		fprintf(r->out, " (%u inside)", p->ns_pid);
	fprintf(r->out, " · %s cores · %s samples",
		number_fixed(report_cores(r, t->on_cpu_ns), 2).text, number_count(t->samples).text);
	put_plain(r);
	putc('\n', r->out);
}

static void put_managed(const struct report *r, uint32_t process)
{
	struct unnamed *u = unnamed_new(r->m, process);

	if (u && u->managed)
		fprintf(r->out, "   managed frames: %s of %s have a name\n",
			number_percent(share_of(u->managed - u->managed_unnamed, u->managed)).text,
			number_count(u->managed).text);
	unnamed_free(u);
}

/* What its name does not tell of its container. */
static void put_container(const struct report *r, const struct model_process *p)
{
	const char *const facts[] = {p->runtime, p->qos};

	if (!p->container[0] || (!p->runtime[0] && !p->qos[0]))
		return;
	fputs("   container ", r->out);
	put_name(r, p->container, 48, CUT_MIDDLE, false);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (!facts[i][0])
			continue;
		fputs(" · ", r->out);
		put_name(r, facts[i], 16, CUT_END, false);
	}
	putc('\n', r->out);
}

static void put_facts(const struct report *r, const struct total_process *t)
{
	const struct model_process *p = &r->m->processes[t->process];

	if (p->exe[0]) {
		fputs("   ", r->out);
		put_name(r, p->exe, r->o.width - 3, CUT_START, false);
		putc('\n', r->out);
	}
	put_container(r, p);
	if (p->exit_ns)
		fputs("   ended during the recording\n", r->out);
	if (!(p->flags & PROCESS_DOTNET))
		return;
	fputs("   perf map: ", r->out);
	if (p->perf_map == REASON_NAMED) {
		fputs("in use\n", r->out);
		put_managed(r, t->process);
		return;
	}
	if (p->perf_map == REASON_PENDING) {
		fputs("not looked for, none of its JIT code was sampled\n", r->out);
		return;
	}
	fprintf(r->out, "%s\n   → ", model_reason_text(p->perf_map));
	put_words(r, remedy_reason(p->perf_map), 5, 5);
	put_managed(r, t->process);
}

static void put_top_row(const struct report *r, const struct top_row *row, uint64_t samples)
{
	char cell[16];

	put_share(r, row->self, samples);
	put_share(r, row->total, samples);
	snprintf(cell, sizeof(cell), "%u", row->threads);
	put_right(r, cell, 7);
	put_spaces(r, 2);
}

#define HARM_COLUMNS 15

static bool differs(const struct top *top, uint64_t samples, uint64_t waiters)
{
	struct weighted w = {waiters, top->waiters, top->waiters_square};

	return share_differs(samples, top->samples, &w, HARM_LEAST);
}

/* Whether any of the first methods, as they are sorted, did. */
static bool any_differs(const struct report *r, const struct top *top, bool by_self)
{
	if (!top->waiters || top->samples < START_MIN_SAMPLES)
		return false;
	for (size_t i = 0; i < top->methods.rows_cnt && i < r->o.rows; i++) {
		const struct top_row *row = &top->methods.rows[i];

		if (by_self ? row->self && differs(top, row->self, row->self_waiters)
			    : differs(top, row->total, row->total_waiters))
			return true;
	}
	return false;
}

static void put_harm(const struct report *r, const struct top *top, uint64_t samples,
		     uint64_t waiters)
{
	uint64_t part, whole;

	if (!differs(top, samples, waiters)) {
		put_spaces(r, HARM_COLUMNS);
		return;
	}
	share_effective(waiters, top->waiters, top->waiters_square, &part, &whole);
	put_right(r, number_percent(share_of(waiters, top->waiters)).text, 7);
	putc(' ', r->out);
	put_left(r, report_error(part, whole).text, HARM_COLUMNS - 8);
}

static void put_methods(const struct report *r, const struct top *top, bool harm, bool by_self)
{
	unsigned int shown = 0;
	char title[160];

	snprintf(title, sizeof(title), "     self          total    threads  %s%s",
		 harm ? "others waited  " : "",
		 by_self ? "methods by their own CPU" : "methods with what they call");
	put_heading(r, title);
	for (size_t i = 0; i < top->methods.rows_cnt && shown < r->o.rows; i++) {
		const struct top_row *row = &top->methods.rows[i];

		if (by_self && !row->self)
			break;
		/* What stands for lost frames is no method; the losses tell it. */
		if (r->m->symbols[row->symbol].kind == KIND_NOTE)
			continue;
		shown++;
		put_top_row(r, row, top->samples);
		if (harm && by_self)
			put_harm(r, top, row->self, row->self_waiters);
		else if (harm)
			put_harm(r, top, row->total, row->total_waiters);
		put_method(r, row->symbol, r->o.width - TOP_COLUMNS - (harm ? HARM_COLUMNS : 0));
		putc('\n', r->out);
	}
}

static void put_modules(const struct report *r, const struct top *top)
{
	put_heading(r, "     self          total    threads  totals by module");
	for (size_t i = 0; i < top->modules.rows_cnt && i < r->o.rows; i++) {
		const struct top_row *row = &top->modules.rows[i];

		put_top_row(r, row, top->samples);
		put_name(r, row->module[0] ? row->module : "(code of no file)",
			 r->o.width - TOP_COLUMNS, CUT_MIDDLE, false);
		putc('\n', r->out);
	}
	if (top->modules.rows_cnt > r->o.rows)
		fprintf(r->out, "%*s… %zu more\n", TOP_COLUMNS, "",
			top->modules.rows_cnt - r->o.rows);
}

/* What the column means, or that there is nothing to tell apart. */
static void put_harm_note(const struct report *r, const struct top *top, bool harm)
{
	uint64_t known = top->samples - top->unknown;
	char text[512];
	size_t n;

	if (!top->waiters)
		return;
	n = (size_t)snprintf(text, sizeof(text), "while it ran, %s threads waited for its CPU",
			     number_fixed((double)top->waiters / (double)known, 2).text);
	if (harm)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			". others waited: the share of that waiting that was seen "
			"while this method was on the CPU; empty where it is about its "
			"share of the samples");
	else
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "; each method has about its share of that");
	if (top->unknown)
		snprintf(text + n, sizeof(text) - n, " (%s samples could not tell who waited)",
			 number_count(top->unknown).text);
	putc('\n', r->out);
	put_spaces(r, 3);
	put_words(r, text, 3, 3);
}

static int put_tops(const struct report *r, uint32_t process)
{
	struct top *top = top_new(r->m, process);
	bool harm;

	if (!top)
		return -ENOMEM;
	top_sort_total(&top->methods, r->m);
	harm = any_differs(r, top, false);
	top_sort_self(&top->methods, r->m);
	harm |= any_differs(r, top, true);
	put_methods(r, top, harm, true);
	top_sort_total(&top->methods, r->m);
	put_methods(r, top, harm, false);
	put_harm_note(r, top, harm);
	top_sort_self(&top->modules, r->m);
	put_modules(r, top);
	top_free(top);
	return 0;
}

static int put_roles(const struct report *r, uint32_t process)
{
	struct roles *roles = roles_new(r->m, process);

	if (!roles)
		return -ENOMEM;
	put_heading(
		r,
		r->m->host.off & OFF_SWITCHES
			? "   cores    of CPU   threads ran  threads by role (by the kernel's "
			  "counters)"
			: "   cores    of CPU   threads ran  threads by role (exact, by switches)");
	for (size_t i = 0; i < roles->rows_cnt && i < r->o.rows; i++) {
		const struct role_row *row = &roles->rows[i];
		char cell[32];

		put_right(r, number_fixed(report_cores(r, row->on_cpu_ns), 3).text, 8);
		put_right(r, number_percent(share_of(row->on_cpu_ns, roles->on_cpu_ns)).text, 10);
		snprintf(cell, sizeof(cell), " %u of %u", row->threads_ran, row->threads);
		put_right(r, cell, 14);
		put_spaces(r, 2);
		put_name(r, row->label[0] ? row->label : "(no name)", r->o.width - 34, CUT_END,
			 false);
		putc('\n', r->out);
	}
	if (roles->rows_cnt > r->o.rows)
		fprintf(r->out, "%34s… %zu more\n", "", roles->rows_cnt - r->o.rows);
	roles_free(roles);
	return 0;
}

int report_process(const struct report *r, const struct total_process *t)
{
	int err = 0;

	put_title(r, t);
	put_facts(r, t);
	err = report_process_waits(r, t->process);
	if (!err)
		err = report_process_requests(r, t->process);
	if (err)
		return err;
	if (!t->samples)
		fputs("   no samples of it\n", r->out);
	else if (r->withheld)
		fputs("   hot paths are withheld, see above\n", r->out);
	else
		err = report_tree(r, t->process);
	if (!err && t->samples && !r->withheld)
		err = put_tops(r, t->process);
	if (!err)
		err = put_roles(r, t->process);
	return err ? err : report_threads(r, t->process);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one process does: its tree, its top methods and modules, its threads by role. */
#include <errno.h>
#include <string.h>

#include "judge/remedy.h"
#include "judge/role.h"
#include "model/share.h"
#include "model/top.h"
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

static void put_facts(const struct report *r, const struct total_process *t)
{
	const struct model_process *p = &r->m->processes[t->process];

	if (p->exe[0]) {
		fputs("   ", r->out);
		put_name(r, p->exe, r->o.width - 3, CUT_START, false);
		putc('\n', r->out);
	}
	if (p->exit_ns)
		fputs("   ended during the recording\n", r->out);
	if (!(p->flags & PROCESS_DOTNET))
		return;
	fputs("   perf map: ", r->out);
	if (p->perf_map == REASON_NAMED) {
		fputs("in use\n", r->out);
		return;
	}
	if (p->perf_map == REASON_PENDING) {
		fputs("not looked for, none of its JIT code was sampled\n", r->out);
		return;
	}
	fprintf(r->out, "%s\n   → ", model_reason_text(p->perf_map));
	put_words(r, remedy_reason(p->perf_map), 5, 5);
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

static void put_methods(const struct report *r, const struct top *top, const char *title,
			bool by_self)
{
	unsigned int shown = 0;

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
		put_method(r, row->symbol, r->o.width - TOP_COLUMNS);
		putc('\n', r->out);
	}
}

static void put_modules(const struct report *r, const struct top *top)
{
	put_heading(r, "     self          total         threads  totals by module");
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

static int put_tops(const struct report *r, uint32_t process)
{
	struct top *top = top_new(r->m, process);

	if (!top)
		return -ENOMEM;
	top_sort_self(&top->methods, r->m);
	put_methods(r, top, "     self          total         threads  methods by their own CPU",
		    true);
	top_sort_total(&top->methods, r->m);
	put_methods(r, top,
		    "     self          total         threads  methods with all that they call",
		    false);
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
	put_heading(r, "   cores    of CPU   threads ran  threads by role (exact, by switches)");
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

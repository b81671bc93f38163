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

static void put_title(const struct report *r, const struct total_process *t)
{
	const struct model_process *p = &r->m->processes[t->process];

	putc('\n', r->out);
	put_paint(r, PAINT_HEADING);
	fputs("── ", r->out);
	put_process(r, t->process, r->o.width / 2);
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
	const struct unnamed *u = report_unnamed(r, process);

	if (u && u->managed) {
		struct words w = {0};

		report_named_by(u, &w);
		fprintf(r->out, "   managed frames: %s of %s have a name%s\n",
			number_percent(share_of(u->managed - u->managed_unnamed, u->managed)).text,
			number_count(u->managed).text, w.text);
	}
}

/* What its name does not tell of its container. */
static void put_container(const struct report *r, const struct model_process *p)
{
	const char *const facts[] = {p->runtime, p->qos};

	if (!p->container[0] || (!p->runtime[0] && !p->qos[0]))
		return;
	fputs("   container ", r->out);
	put_name(r, p->container, 48, CUT_MIDDLE);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (!facts[i][0])
			continue;
		fputs(" · ", r->out);
		put_name(r, facts[i], 16, CUT_END);
	}
	putc('\n', r->out);
}

static void put_facts(const struct report *r, const struct total_process *t)
{
	const struct model_process *p = &r->m->processes[t->process];

	if (p->exe[0]) {
		fputs("   ", r->out);
		put_name(r, p->exe, r->o.width - 3, CUT_START);
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
	fprintf(r->out, "%s\n", model_reason_text(p->perf_map));
	if (*remedy_reason(p->perf_map)) {
		fputs("   → ", r->out);
		put_words(r, remedy_reason(p->perf_map), 5, 5);
	}
	put_managed(r, t->process);
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

/* A row of methods or modules. */
struct top_item {
	const struct top *top;
	const struct top_row *row;
	bool by_self;
};

static void self_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct top_item *item = s->item;

	(void)columns;
	report_share(s->report, item->row->self, item->top->samples, text);
}

static void total_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct top_item *item = s->item;

	(void)columns;
	report_share(s->report, item->row->total, item->top->samples, text);
}

static struct value threads(const struct subject *s)
{
	const struct top_item *item = s->item;

	return value_count(item->row->threads);
}

static void harm_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct top_item *item = s->item;
	const struct top_row *row = item->row;
	uint64_t samples = item->by_self ? row->self : row->total, part, whole;
	uint64_t waiters = item->by_self ? row->self_waiters : row->total_waiters;

	(void)columns;
	text[0] = '\0';
	if (!differs(item->top, samples, waiters))
		return;
	share_effective(waiters, item->top->waiters, item->top->waiters_square, &part, &whole);
	snprintf(text, CELL_BYTES, "%7s %s",
		 number_percent(share_of(waiters, item->top->waiters)).text,
		 report_error(part, whole).text);
}

static void method_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct top_item *item = s->item;

	report_method(s->report, item->row->symbol, columns, text);
}

static void module_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct top_item *item = s->item;

	label_name(text, item->row->module[0] ? item->row->module : "(code of no file)", columns,
		   CUT_MIDDLE);
}

static const struct figure figure_self = {NULL, "     self", .text = self_text};
static const struct figure figure_total = {NULL, "     total", .text = total_text};
static const struct figure figure_threads = {NULL, "threads", AS_ID, .value = threads};
static const struct figure figure_harm = {NULL, "others waited", .text = harm_text};
static const struct figure figure_method = {NULL, "methods with what they call",
					    .text = method_text};
static const struct figure figure_own = {NULL, "methods by their own CPU", .text = method_text};
static const struct figure figure_module = {NULL, "totals by module", .text = module_text};

enum { METHODS_BY_SELF = WITH_MORE, METHODS_BY_TOTAL = 64, MODULES = 128, WITH_HARM = 256 };

static const struct column top_columns[] = {
	{&figure_self, .width = SHARE_COLUMNS, .left = true},
	{&figure_total, .width = SHARE_COLUMNS, .left = true},
	{&figure_threads, .width = 7},
	{&figure_harm, .width = HARM_COLUMNS - 2, .left = true, .gap = 2, .when = WITH_HARM},
	{&figure_own, .left = true, .gap = 2, .when = METHODS_BY_SELF},
	{&figure_method, .left = true, .gap = 2, .when = METHODS_BY_TOTAL},
	{&figure_module, .left = true, .gap = 2, .when = MODULES},
};

static void put_top_row(const struct report *r, const struct table *t, struct top_item item)
{
	struct subject s = report_subject(r, NULL, NULL);

	s.item = &item;
	table_put_row(r->out, t, &s);
}

static void put_methods(const struct report *r, const struct top *top, bool harm, bool by_self)
{
	unsigned int shown = 0;
	struct table t;

	TABLE_OF(&t, top_columns, r,
		 (by_self ? METHODS_BY_SELF : METHODS_BY_TOTAL) | (harm ? WITH_HARM : 0));
	put_titles(r, &t);
	for (size_t i = 0; i < top->methods.rows_cnt && shown < r->o.rows; i++) {
		const struct top_row *row = &top->methods.rows[i];

		if (by_self && !row->self)
			break;
		/* What stands for lost frames is no method; the losses tell it. */
		if (r->m->symbols[row->symbol].kind == KIND_NOTE)
			continue;
		shown++;
		put_top_row(r, &t, (struct top_item){top, row, by_self});
	}
}

static void put_modules(const struct report *r, const struct top *top)
{
	size_t cnt = top->modules.rows_cnt;
	struct table t;

	TABLE_OF(&t, top_columns, r, MODULES);
	put_titles(r, &t);
	for (size_t i = 0; i < cnt && i < r->o.rows; i++)
		put_top_row(r, &t, (struct top_item){top, &top->modules.rows[i], false});
	table_put_more(r->out, &t, cnt > r->o.rows ? cnt - r->o.rows : 0);
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

/* A row of threads by role. */
struct role_item {
	const struct roles *roles;
	const struct role_row *row;
};

static struct value role_cores(const struct subject *s)
{
	const struct role_item *item = s->item;

	return value_real(report_cores(s->report, item->row->on_cpu_ns));
}

static struct value role_share(const struct subject *s)
{
	const struct role_item *item = s->item;

	return value_real(share_of(item->row->on_cpu_ns, item->roles->on_cpu_ns));
}

static void role_threads(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct role_item *item = s->item;

	(void)columns;
	snprintf(text, CELL_BYTES, "%u of %u", item->row->threads_ran, item->row->threads);
}

static void role_label(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct role_item *item = s->item;

	label_name(text, item->row->label[0] ? item->row->label : "(no name)", columns, CUT_END);
}

static const struct figure figure_role_cores = {"cpus", "cores", AS_CORES, .value = role_cores};
static const struct figure figure_role_share = {"cpu_share", "of CPU", AS_SHARE,
						.value = role_share};
static const struct figure figure_role_threads = {NULL, "threads ran", .text = role_threads};
static const struct figure figure_role = {NULL, "threads by role (exact, by switches)",
					  .text = role_label};
static const struct figure figure_role_counted = {
	NULL, "threads by role (by the kernel's counters)", .text = role_label};

static const struct column role_columns[] = {
	{&figure_role_cores, .width = 8},
	{&figure_role_share, .width = 10},
	{&figure_role_threads, .width = 14},
	{&figure_role, .left = true, .gap = 2, .when = WITH_MORE},
	{&figure_role_counted, .left = true, .gap = 2, .when = WITH_MORE_YET},
};

static int put_roles(const struct report *r, uint32_t process)
{
	struct roles *roles = roles_new(r->m, process);
	struct table t;

	if (!roles)
		return -ENOMEM;
	TABLE_OF(&t, role_columns, r, model_off(r->m) & OFF_SWITCHES ? WITH_MORE_YET : WITH_MORE);
	put_titles(r, &t);
	for (size_t i = 0; i < roles->rows_cnt && i < r->o.rows; i++) {
		struct role_item item = {roles, &roles->rows[i]};
		struct subject s = report_subject(r, NULL, NULL);

		s.item = &item;
		table_put_row(r->out, &t, &s);
	}
	table_put_more(r->out, &t, roles->rows_cnt > r->o.rows ? roles->rows_cnt - r->o.rows : 0);
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
	if (!err)
		err = report_threads(r, t->process);
	return err ? err : report_process_blocked(r, t->process);
}

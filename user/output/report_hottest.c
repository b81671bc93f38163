/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of processes, and the hottest method of one, as words within a sentence. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "judge/start_here.h"
#include "model/share.h"
#include "model/top.h"
#include "output/report_internal.h"

void report_label(const struct report *r, const struct group_row *row, size_t columns,
		  char buf[static NAME_BYTES])
{
	const struct model_process *p = &r->m->processes[row->process];
	const char *name = r->groups.workloads ? r->groups.workloads[row->process]
			   : p->name[0]	       ? p->name
					       : p->comm;
	char class[POLICY_BYTES] = "", safe[NAME_BYTES];
	struct words w = {0};

	if (row->kernel) {
		strcpy(buf, "kernel threads");
		return;
	}
	if (row->cnt > 1)
		words_add(&w, "%s x ", number_count(row->cnt).text);
	label_name(safe, name, columns, CUT_MIDDLE);
	words_add(&w, "%s", safe);
	if (row->cnt == 1) {
		words_add(&w, " %u", p->tgid);
		policy_of_process(r->m, row->process, class);
	}
	if (class[0])
		words_add(&w, " (%s)", class);
	else if (p->flags & PROCESS_KERNEL)
		words_add(&w, " (kernel thread)");
	snprintf(buf, NAME_BYTES, "%.*s", NAME_BYTES - 1, w.text);
}

struct hottest {
	uint32_t process;
	uint32_t symbol; /* MODEL_NONE = none to tell */
	uint64_t samples, all;
};

struct hottest_book {
	struct hottest *rows;
	size_t rows_cnt, rows_cap;
};

void report_hottest_free(struct hottest_book *book)
{
	if (!book)
		return;
	free(book->rows);
	free(book);
}

/* An address, or a method of hardly any samples, says nothing of what runs there. */
static bool is_telling(const struct report *r, const struct hottest *hottest)
{
	double share = share_of(hottest->samples, hottest->all);

	return hottest->symbol != MODEL_NONE &&
	       r->m->symbols[hottest->symbol].reason == REASON_NAMED &&
	       share >= START_MIN_SHARE / 2 &&
	       share_error(model_effective(r->m, hottest->samples),
			   model_effective(r->m, hottest->all)) < share;
}

static int find_hottest(const struct report *r, uint32_t process, struct hottest *ret_hottest)
{
	struct hottest hottest = {.process = process, .symbol = MODEL_NONE};
	struct top *top = top_new(r->m, process);
	struct start_here start;
	int err = -ENOMEM;

	if (top)
		err = start_here(r->m, process, top, &start);
	if (err)
		goto out;
	hottest.all = start.all;
	if (start.rule != START_SPREAD) {
		hottest.symbol = start.symbol;
		hottest.samples = start.samples;
	} else {
		top_sort_self(&top->methods, r->m);
		for (size_t i = 0; i < top->methods.rows_cnt && hottest.symbol == MODEL_NONE; i++) {
			const struct top_row *row = &top->methods.rows[i];

			if (r->m->symbols[row->symbol].kind == KIND_NOTE)
				continue;
			hottest.symbol = row->symbol;
			hottest.samples = row->self;
		}
	}
	if (!is_telling(r, &hottest))
		hottest.symbol = MODEL_NONE;
	*ret_hottest = hottest;
out:
	top_free(top);
	return err;
}

/* 0 or -ENOMEM. */
static int look_up(const struct report *r, uint32_t process, const struct hottest **ret_hottest)
{
	struct hottest_book *book = r->hottest;
	int err;

	for (size_t i = 0; i < book->rows_cnt; i++) {
		if (book->rows[i].process == process) {
			*ret_hottest = &book->rows[i];
			return 0;
		}
	}
	err = GROW(book->rows, book->rows_cnt, book->rows_cap);
	if (!err)
		err = find_hottest(r, process, &book->rows[book->rows_cnt]);
	if (!err)
		*ret_hottest = &book->rows[book->rows_cnt++];
	return err;
}

struct hottest_book *report_hottest_new(void)
{
	return calloc(1, sizeof(struct hottest_book));
}

int report_hottest(const struct report *r, uint32_t process, size_t columns,
		   char buf[static NAME_BYTES])
{
	const struct hottest *hottest;
	char method[LABEL_METHOD_BYTES];
	int err;

	buf[0] = '\0';
	/* Shares of a capture with a gap are shown nowhere. */
	if (r->withheld)
		return 0;
	err = look_up(r, process, &hottest);
	if (err || hottest->symbol == MODEL_NONE)
		return err;
	label_method(method, &r->m->symbols[hottest->symbol], columns,
		     LABEL_MODULE | (r->m->raw_names ? LABEL_RAW : 0));
	snprintf(buf, NAME_BYTES, "%.*s %.30s", (int)(NAME_BYTES - NUMBER_BYTES), method,
		 number_percent(share_of(hottest->samples, hottest->all)).text);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/hang_words.h"

#include <inttypes.h>
#include <string.h>

#include "output/label.h"
#include "output/chain.h"
#include "output/threads.h"

#define METHOD_COLUMNS 64
#define ROLE_COLUMNS   32
/* Workers a second; of fewer the pool does not grow. */
#define GREW_LEAST 0.2

static void add_method(struct words *w, const struct model *m, uint32_t method)
{
	char name[NAME_BYTES];

	chain_method_name(name, &m->symbols[method]);
	text_shorten(name, METHOD_COLUMNS, CUT_START);
	words_add(w, " in %s", name);
}

static void add_holder(struct words *w, const struct model *m, const struct hang *hang)
{
	words_add(w, ", held by thread %" PRIu32, hang->holder);
	if (hang->holder_method == MODEL_NONE)
		return;
	words_add(w, ", which waits");
	add_method(w, m, hang->holder_method);
}

void hang_words(struct words *w, const struct model *m, const struct hang *hang)
{
	char role[NAME_BYTES];

	label_name(role, hang->group->label, ROLE_COLUMNS, CUT_END);
	words_add(w, "%s%s of %s %s wait%s", hang->now ? "" : "on the mean ",
		  number_count(hang->threads).text, number_count(hang->of).text, role,
		  hang->threads == 1 ? "s" : "");
	if (hang->method != MODEL_NONE)
		add_method(w, m, hang->method);
	words_add(w, " (%s)",
		  hang->sync_over_async ? "sync over async" : stand_wait_text(hang->group->wait));
	if (hang->holder)
		add_holder(w, m, hang);
	if (hang->longest_ns)
		words_add(w, ", the longest for %s", threads_age(hang->longest_ns).text);
	if (hang->now && !hang->running)
		words_add(w, ", nobody runs");
	else if (hang->now)
		words_add(w, ", %s run%s", number_count(hang->running).text,
			  hang->running == 1 ? "s" : "");
	if (hang->grew >= GREW_LEAST)
		words_add(w, "; the pool grew by %s a second", number_fixed(hang->grew, 1).text);
}

static void put_method(struct json *j, const char *key, const struct model *m, uint32_t method)
{
	json_text(j, key, method == MODEL_NONE ? NULL : m->symbols[method].name);
}

void hang_json(struct json *j, const char *key, const struct model *m, const struct hang *hang)
{
	if (!hang) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	json_flag(j, "at_end", hang->now);
	json_count(j, "threads", hang->threads);
	json_count(j, "of_threads", hang->of);
	json_text(j, "role", hang->group->label);
	put_method(j, "method", m, hang->method);
	json_text(j, "wait", stand_wait_id(hang->group->wait));
	json_flag(j, "sync_over_async", hang->sync_over_async);
	if (hang->longest_ns)
		json_count(j, "longest_ns", hang->longest_ns);
	else
		json_null(j, "longest_ns");
	if (hang->now)
		json_count(j, "running_threads", hang->running);
	else
		json_null(j, "running_threads");
	if (hang->holder)
		json_count(j, "holder_tid", hang->holder);
	else
		json_null(j, "holder_tid");
	put_method(j, "holder_method", m, hang->holder_method);
	json_real(j, "pool_growth_per_second", hang->grew);
	json_end(j);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of the Firefox format: counters of the host. */
#include "export/firefox_private.h"

static const char *const colors[TIMELINE_COUNTERS] = {"green", "red", "orange", "blue", "magenta"};

static void put_display(struct json *j, const struct timeline_counter *c, size_t place)
{
	json_object(j, "display");
	json_string(j, "graphType", "line-rate");
	json_string(j, "unit", "");
	json_string(j, "color", colors[place]);
	json_null(j, "markerSchemaLocation");
	json_count(j, "sortWeight", place);
	json_string(j, "label", c->name);
	json_array(j, "tooltipRows");
	json_object(j, NULL);
	json_string(j, "type", "value");
	json_string(j, "source", "rate");
	json_object(j, "format");
	json_string(j, "unit", "number");
	json_end(j);
	json_string(j, "label", c->label);
	json_end(j);
	json_end(j);
	json_end(j);
}

/* What is drawn is what a counter rose by in a slice, over its ms: the value. */
static void put_samples(struct firefox *w, const struct timeline_counter *c)
{
	const struct timeline *t = w->t;
	struct json *j = &w->json;

	json_object(j, "samples");
	json_count(j, "length", t->slices_cnt + 1);
	json_array(j, "time");
	json_real(j, NULL, t->slices_cnt ? firefox_ms(w, t->slices[0].start_ns) : 0);
	for (size_t i = 0; i < t->slices_cnt; i++)
		json_real(j, NULL, firefox_ms(w, t->slices[i].end_ns));
	json_end(j);
	json_array(j, "count");
	json_count(j, NULL, 0);
	for (size_t i = 0; i < t->slices_cnt; i++)
		json_real(j, NULL,
			  timeline_value(t, c, i) *
				  (double)(t->slices[i].end_ns - t->slices[i].start_ns) /
				  FIREFOX_NS_MS);
	json_end(j);
	json_end(j);
}

static void put_counter(struct firefox *w, const struct timeline_counter *c, size_t place)
{
	struct json *j = &w->json;

	json_object(j, NULL);
	json_string(j, "name", c->name);
	json_string(j, "category", c->name);
	json_string(j, "description", c->description);
	json_string(j, "pid", "0");
	json_count(j, "mainThreadIndex", 0);
	put_samples(w, c);
	put_display(j, c, place);
	json_end(j);
}

void firefox_put_counters(struct firefox *w)
{
	json_array(&w->json, "counters");
	for (size_t i = 0; i < TIMELINE_COUNTERS; i++)
		if (timeline_knows(w->t, &timeline_counters[i]))
			put_counter(w, &timeline_counters[i], i);
	json_end(&w->json);
}

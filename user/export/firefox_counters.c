/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of the Firefox format: counters of the host. */
#include <stddef.h>

#include "export/firefox_private.h"

/* A counter of the host: what it rose by in a slice, which over its ms is what is drawn. */
struct counter {
	const char *name, *label, *description, *color;
	size_t known; /* offset of a flag of struct timeline */
	double (*of)(const struct timeline_slice *slice, double ms);
};

static double cpus_of(const struct timeline_slice *s, double ms)
{
	(void)ms;
	return (double)s->busy_ns / FIREFOX_NS_MS;
}

static double waiting_of(const struct timeline_slice *s, double ms)
{
	(void)ms;
	return (double)s->waited_ns / FIREFOX_NS_MS;
}

static double queue_of(const struct timeline_slice *s, double ms)
{
	return s->queue * ms;
}

static double requests_of(const struct timeline_slice *s, double ms)
{
	(void)ms;
	return (double)s->answered * 1000;
}

static double slow_of(const struct timeline_slice *s, double ms)
{
	(void)ms;
	return (double)s->slow * 1000;
}

#define KNOWN(flag) offsetof(struct timeline, flag)
static const struct counter counters[] = {
	{"CPU", "CPUs in use", "CPU time that was not idle", "green", KNOWN(has_cpus), cpus_of},
	{"waiting", "threads that wait for a CPU", "run delay of all threads", "red",
	 KNOWN(has_waits), waiting_of},
	{"queue", "waiting threads of a CPU", "as ticks found run queues", "orange",
	 KNOWN(has_cpus), queue_of},
	{"requests", "requests a second", "answered ones of all services", "blue",
	 KNOWN(has_requests), requests_of},
	{"slow", "slow requests a second", "of these, over the threshold", "magenta",
	 KNOWN(has_requests), slow_of},
};

static void put_display(struct json *j, const struct counter *c, size_t place)
{
	json_object(j, "display");
	json_string(j, "graphType", "line-rate");
	json_string(j, "unit", "");
	json_string(j, "color", c->color);
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

static void put_counter(struct firefox *w, const struct counter *c, size_t place)
{
	const struct timeline *t = w->t;
	struct json *j = &w->json;

	json_object(j, NULL);
	json_string(j, "name", c->name);
	json_string(j, "category", c->name);
	json_string(j, "description", c->description);
	json_string(j, "pid", "0");
	json_count(j, "mainThreadIndex", 0);
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
		json_real(
			j, NULL,
			c->of(&t->slices[i], (double)(t->slices[i].end_ns - t->slices[i].start_ns) /
						     FIREFOX_NS_MS));
	json_end(j);
	json_end(j);
	put_display(j, c, place);
	json_end(j);
}

void firefox_put_counters(struct firefox *w)
{
	json_array(&w->json, "counters");
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (*(const bool *)((const char *)w->t + counters[i].known))
			put_counter(w, &counters[i], i);
	json_end(&w->json);
}

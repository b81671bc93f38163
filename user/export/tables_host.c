/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the host: itself, its seconds, what happened, what was lost. */
#include "export/tables_private.h"
#include "output/figures.h"

/* --- host ------------------------------------------------------------------------------------ */

#define HOST(member) FIELD(struct model_host, member)

static struct value start_utc(const struct subject *s)
{
	int64_t ns = tables_of(s)->about.wall_start_ns;

	return (struct value){.kind = VALUE_INT, .integer = ns / 1000000000};
}

static struct value duration(const struct subject *s)
{
	return value_real((double)tables_of(s)->about.length_ns / 1e9);
}

static struct value total(const struct subject *s, enum export_weight weight)
{
	return tables_weight(tables_of(s), weight, tables_of(s)->totals[weight]);
}

static struct value total_samples(const struct subject *s)
{
	return total(s, EXPORT_SAMPLES);
}

static struct value total_waiters(const struct subject *s)
{
	return total(s, EXPORT_WAITERS);
}

static struct value total_blocked(const struct subject *s)
{
	return total(s, EXPORT_BLOCKED);
}

static const struct verdict_result *host_result(const struct subject *s)
{
	return &tables_of(s)->t->judgement.verdicts->host.result;
}

static struct value host_verdict(const struct subject *s)
{
	return value_text(verdict_id(host_result(s)->verdict));
}

static struct value host_hurt(const struct subject *s)
{
	return value_flag(host_result(s)->hurt);
}

static const struct books *books(const struct subject *s)
{
	return &tables_of(s)->t->judgement.books;
}

static struct value expected(const struct subject *s)
{
	return books(s)->have_cpus ? value_count(books(s)->expected) : tables_unknown();
}

static struct value lost(const struct subject *s)
{
	return books(s)->have_cpus ? value_real(books(s)->lost_share) : tables_unknown();
}

TABLES_COLUMNS(host, TABLES_COLUMN("name", HOST(name)), TABLES_COLUMN("kernel", HOST(kernel)),
	       TABLES_COLUMN("machine", HOST(machine)), TABLES_COLUMN("hotrun", HOST(version)),
	       TABLES_COLUMN("cpus", HOST(cpus_online)),
	       TABLES_COLUMN("sample_hz", HOST(sample_hz)),
	       TABLES_COLUMN("start_utc", .unit = AS_UTC, .value = start_utc),
	       TABLES_COLUMN("duration_s", .value = duration),
	       TABLES_COLUMN("complete", HOST(complete)), TABLES_COLUMN("filter", HOST(filter)),
	       TABLES_COLUMN("command", HOST(command)), TABLES_COLUMN("taken", HOST(taken)),
	       TABLES_COLUMN("samples", .value = total_samples),
	       TABLES_COLUMN("waiters", .value = total_waiters),
	       TABLES_COLUMN("blocked_ms", .value = total_blocked),
	       TABLES_COLUMN("verdict", .value = host_verdict),
	       TABLES_COLUMN("hurt", .value = host_hurt),
	       TABLES_COLUMN("expected_ticks", .value = expected),
	       TABLES_COLUMN("lost_share", .value = lost))

int tables_put_host(const struct tables *w, const struct export_table *table)
{
	tables_put(w, table, &(struct subject){.m = w->m, .item = &w->m->host, .of = w});
	return 0;
}

/* --- seconds --------------------------------------------------------------------------------- */

#define SLICE(member) FIELD(struct timeline_slice, member)

static const struct timeline_slice *slice_of(const struct subject *s)
{
	return s->item;
}

static struct value from_s(const struct subject *s)
{
	return value_real(tables_s(tables_of(s), slice_of(s)->start_ns));
}

static struct value to_s(const struct subject *s)
{
	return value_real(tables_s(tables_of(s), slice_of(s)->end_ns));
}

/* The mean over the slice of what is a sum of ns. */
static struct value mean(const struct subject *s, bool known, uint64_t ns)
{
	uint64_t length_ns = slice_of(s)->end_ns - slice_of(s)->start_ns;

	return known && length_ns ? value_real((double)ns / (double)length_ns) : tables_unknown();
}

static struct value busy(const struct subject *s)
{
	return mean(s, tables_of(s)->t->has_cpus, slice_of(s)->busy_ns);
}

static struct value waiting(const struct subject *s)
{
	return mean(s, tables_of(s)->t->has_waits, slice_of(s)->waited_ns);
}

static struct value throttled(const struct subject *s)
{
	return mean(s, tables_of(s)->t->has_waits, slice_of(s)->throttled_ns);
}

TABLES_COLUMNS(seconds, TABLES_COLUMN("from_s", .value = from_s),
	       TABLES_COLUMN("to_s", .value = to_s), TABLES_COLUMN("busy_cpus", .value = busy),
	       TABLES_COLUMN("waiting_threads", .value = waiting),
	       TABLES_COLUMN("throttled_threads", .value = throttled),
	       TABLES_COLUMN("queue_threads", .off = OFF_QUEUES, SLICE(queue)),
	       TABLES_COLUMN("answered_requests", .off = OFF_REQUESTS, SLICE(answered)),
	       TABLES_COLUMN("slow_requests", .off = OFF_REQUESTS, SLICE(slow)),
	       TABLES_COLUMN("open_requests", .off = OFF_REQUESTS, SLICE(open)))

int tables_put_seconds(const struct tables *w, const struct export_table *table)
{
	for (size_t i = 0; i < w->t->slices_cnt; i++)
		tables_put(w, table,
			   &(struct subject){.m = w->m, .item = &w->t->slices[i], .of = w});
	return 0;
}

/* --- events ---------------------------------------------------------------------------------- */

struct event {
	const struct timeline_span *span;
	const char *name;
	char text[TIMELINE_TEXT_BYTES];
};

static const struct timeline_span *span_of(const struct subject *s)
{
	return ((const struct event *)s->item)->span;
}

static struct value event_from(const struct subject *s)
{
	return value_real(
		tables_s(tables_of(s), tables_of(s)->t->slices[span_of(s)->first].start_ns));
}

static struct value event_to(const struct subject *s)
{
	return value_real(tables_s(tables_of(s), tables_of(s)->t->slices[span_of(s)->last].end_ns));
}

static struct value event_hurt(const struct subject *s)
{
	return span_of(s)->kind == TIMELINE_VERDICT ? value_flag(span_of(s)->result.hurt)
						    : (struct value){.kind = VALUE_BLANK};
}

static struct value event_cause(const struct subject *s)
{
	return span_of(s)->kind == TIMELINE_VERDICT
		       ? value_text(verdict_figure_id(span_of(s)->result.cause))
		       : (struct value){.kind = VALUE_BLANK};
}

TABLES_COLUMNS(events, TABLES_COLUMN("event", FIELD(struct event, name)), &figure_pid,
	       &tables_process_name, TABLES_COLUMN("from_s", .value = event_from),
	       TABLES_COLUMN("to_s", .value = event_to), TABLES_COLUMN("hurt", .value = event_hurt),
	       TABLES_COLUMN("cause", .value = event_cause),
	       TABLES_COLUMN("text", FIELD(struct event, text)))

int tables_put_events(const struct tables *w, const struct export_table *table)
{
	for (size_t i = 0; i < w->t->spans_cnt; i++) {
		const struct timeline_span *span = &w->t->spans[i];
		struct event event = {.span = span, .name = timeline_name(span)};
		struct subject s = {.m = w->m, .item = &event, .of = w};

		if (span->process != MODEL_NONE)
			s.process = &w->m->processes[span->process];
		timeline_text(event.text, span);
		tables_put(w, table, &s);
	}
	return 0;
}

/* --- losses ---------------------------------------------------------------------------------- */

struct loss {
	const char *id, *text;
	uint64_t count;
};

TABLES_COLUMNS(losses, TABLES_COLUMN("cause", FIELD(struct loss, id)),
	       TABLES_COLUMN("count", FIELD(struct loss, count)),
	       TABLES_COLUMN("text", FIELD(struct loss, text)))

int tables_put_losses(const struct tables *w, const struct export_table *table)
{
	for (uint32_t cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		struct loss loss = {model_loss_id(cause), model_loss_text(cause),
				    w->t->judgement.totals->losses[cause]};

		if (loss.count)
			tables_put(w, table, &(struct subject){.m = w->m, .item = &loss, .of = w});
	}
	return 0;
}

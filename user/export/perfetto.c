/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/proto_out.h"
#include "export/perfetto_private.h"

/* Of builtin_clock.proto, perf_events.proto and trace_packet.proto. */
#define CLOCK_OF_WALL	     1
#define CLOCK_OF_MONOTONIC   3
#define CLOCK_OF_SWITCHES    6 /* boottime, which readers expect of them */
#define PERF_CLOCK_MONOTONIC 2
#define SW_CPU_CLOCK	     1
#define MODE_KERNEL	     1
#define MODE_USER	     2
/* Of one sample: more than any rate asks for; files may say anything. */
#define TICKS_MAX 1000

/* --- packets --------------------------------------------------------------------------------- */

static void set_time(Perfetto__TracePacket *packet, uint64_t time_ns)
{
	packet->has_timestamp = packet->has_timestamp_clock_id = true;
	packet->timestamp = time_ns;
	packet->timestamp_clock_id = CLOCK_OF_MONOTONIC;
}

/* What all samples have in common, for the packets that follow. */
static void put_head(struct perfetto *w)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__PerfSampleDefaults of_samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__Timebase timebase = PERFETTO__TIMEBASE__INIT;

	timebase.has_frequency = timebase.has_counter = timebase.has_timestamp_clock = true;
	timebase.frequency = w->m->host.sample_hz;
	timebase.counter = SW_CPU_CLOCK;
	timebase.name = (char *)"cpu-clock";
	timebase.timestamp_clock = PERF_CLOCK_MONOTONIC;
	of_samples.timebase = &timebase;
	defaults.perf_sample_defaults = &of_samples;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = CLOCK_OF_MONOTONIC;
	packet.trace_packet_defaults = &defaults;
	perfetto_put_packet(w, &packet);
}

static void put_clocks(struct perfetto *w)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock clocks[3] = {PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
						    PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
						    PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT};
	Perfetto__ClockSnapshot__Clock *rows[3] = {&clocks[0], &clocks[1], &clocks[2]};

	for (int i = 0; i < 3; i++)
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
	/* In this trace that clock shows monotonic time, too. */
	clocks[0].clock_id = CLOCK_OF_MONOTONIC;
	clocks[1].clock_id = CLOCK_OF_SWITCHES;
	clocks[0].timestamp = clocks[1].timestamp = w->about.start_ns;
	clocks[2].clock_id = CLOCK_OF_WALL;
	clocks[2].timestamp = (uint64_t)w->about.wall_start_ns;
	snapshot.clocks = rows;
	snapshot.n_clocks = w->about.wall_start_ns > 0 ? 3 : 2;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = CLOCK_OF_MONOTONIC;
	packet.clock_snapshot = &snapshot;
	perfetto_put_packet(w, &packet);
}

/* --- counters -------------------------------------------------------------------------------- */

static void put_count(struct perfetto *w, uint64_t track, uint64_t time_ns, double value)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

	event.has_type = event.has_track_uuid = event.has_double_counter_value = true;
	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
	event.track_uuid = track;
	event.double_counter_value = value;
	packet.track_event = &event;
	set_time(&packet, time_ns);
	perfetto_put_packet(w, &packet);
}

/* A value holds until the next one. */
static void put_counter(struct perfetto *w, size_t i)
{
	const struct timeline_counter *counter = &timeline_counters[i];
	const struct timeline *t = w->t;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor of = PERFETTO__COUNTER_DESCRIPTOR__INIT;

	of.unit_name = (char *)"";
	track.name = (char *)counter->label;
	track.counter = &of;
	perfetto_put_track(w, &track, TRACK(TRACK_COUNTER, i));
	for (size_t k = 0; k < t->slices_cnt; k++)
		put_count(w, TRACK(TRACK_COUNTER, i), t->slices[k].start_ns,
			  timeline_value(t, counter, k));
	if (t->slices_cnt)
		put_count(w, TRACK(TRACK_COUNTER, i), t->slices[t->slices_cnt - 1].end_ns, 0);
}

/* --- what happened --------------------------------------------------------------------------- */

/* A track a process and kind: such spans do not overlap. */
static uint64_t spans_track(struct perfetto *w, const struct timeline_span *span)
{
	static const char *const names[TIMELINE_KINDS] = {"verdict", "slow requests", "throttled"};
	bool of_host = span->process == MODEL_NONE;
	size_t at = (of_host ? w->m->processes_cnt : span->process) * TIMELINE_KINDS + span->kind;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;

	if (w->spans_done[at])
		return TRACK(TRACK_SPANS, at);
	w->spans_done[at] = true;
	if (!of_host)
		perfetto_put_process(w, span->process);
	track.name = (char *)(of_host ? "verdict of the host" : names[span->kind]);
	track.has_parent_uuid = !of_host;
	track.parent_uuid = TRACK(TRACK_PROCESS, span->process);
	perfetto_put_track(w, &track, TRACK(TRACK_SPANS, at));
	return TRACK(TRACK_SPANS, at);
}

static void put_edge(struct perfetto *w, uint64_t track, const struct timeline_span *span,
		     bool begin)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__DebugAnnotation what = PERFETTO__DEBUG_ANNOTATION__INIT, *whats = &what;
	char *category = (char *)"hotrun", text[TIMELINE_TEXT_BYTES];

	event.has_type = event.has_track_uuid = true;
	event.type = begin ? PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
			   : PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	event.track_uuid = track;
	if (begin) {
		timeline_text(text, span);
		what.name = (char *)"what";
		what.string_value = text;
		event.name = (char *)timeline_name(span);
		event.categories = &category;
		event.n_categories = 1;
		event.debug_annotations = &whats;
		event.n_debug_annotations = 1;
	}
	packet.track_event = &event;
	set_time(&packet,
		 begin ? w->t->slices[span->first].start_ns : w->t->slices[span->last].end_ns);
	perfetto_put_packet(w, &packet);
}

static void put_spans(struct perfetto *w)
{
	for (size_t i = 0; i < w->t->spans_cnt; i++) {
		uint64_t track = spans_track(w, &w->t->spans[i]);

		put_edge(w, track, &w->t->spans[i], true);
		put_edge(w, track, &w->t->spans[i], false);
	}
}

/* --- stacks ---------------------------------------------------------------------------------- */

static Perfetto__Frame__Kind kind_of(const struct model_symbol *symbol)
{
	switch (symbol->kind) {
	case KIND_KERNEL:
		return PERFETTO__FRAME__KIND__KIND_KERNEL;
	case KIND_NATIVE:
		return PERFETTO__FRAME__KIND__KIND_NATIVE;
	case KIND_JIT:
	case KIND_IMAGE:
		return PERFETTO__FRAME__KIND__KIND_JIT;
	default:
		return PERFETTO__FRAME__KIND__KIND_UNKNOWN;
	}
}

static void set_string(Perfetto__InternedString *string, uint64_t iid, const void *bytes,
		       size_t len)
{
	string->has_iid = string->has_str = true;
	string->iid = iid;
	string->str.data = (uint8_t *)bytes;
	string->str.len = len;
}

/* A frame with its name and file, which all have its number: its row, and 1. */
static void put_frame(struct perfetto *w, uint32_t row)
{
	const struct sampled_frame *f = &w->s->frames[row];
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedString name = PERFETTO__INTERNED_STRING__INIT, *names = &name;
	Perfetto__InternedString path = PERFETTO__INTERNED_STRING__INIT, *paths = &path;
	Perfetto__InternedString build_id = PERFETTO__INTERNED_STRING__INIT, *build_ids = &build_id;
	Perfetto__Mapping mapping = PERFETTO__MAPPING__INIT, *mappings = &mapping;
	Perfetto__Frame frame = PERFETTO__FRAME__INIT, *frames = &frame;
	char file[4096];
	uint64_t iid = (uint64_t)row + 1;

	text_copy_utf8(file, sizeof(file), sampled_file(w->s, row),
		       strlen(sampled_file(w->s, row)));
	perfetto_safe(w, sampled_name(w->s, row));
	set_string(&name, iid, w->safe, strlen(w->safe));
	set_string(&path, iid, file, strlen(file));
	mapping.has_iid = frame.has_iid = frame.has_function_name_id = frame.has_mapping_id =
		frame.has_kind = true;
	mapping.iid = frame.iid = frame.function_name_id = frame.mapping_id = iid;
	mapping.path_string_ids = &iid;
	mapping.n_path_string_ids = 1;
	frame.kind = kind_of(&w->m->symbols[f->symbol]);
	if (f->module != MODEL_NONE && w->m->modules[f->module].build_id_len) {
		const struct model_module *module = &w->m->modules[f->module];

		set_string(&build_id, iid, module->build_id, module->build_id_len);
		mapping.has_build_id = true;
		mapping.build_id = iid;
		data.build_ids = &build_ids;
		data.n_build_ids = 1;
	}
	data.function_names = &names;
	data.mapping_paths = &paths;
	data.mappings = &mappings;
	data.frames = &frames;
	data.n_function_names = data.n_mapping_paths = data.n_mappings = data.n_frames = 1;
	packet.interned_data = &data;
	perfetto_put_packet(w, &packet);
}

/* A stack has the number of its node. */
static void put_stack(struct perfetto *w, uint32_t node)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__Callstack stack = PERFETTO__CALLSTACK__INIT, *stacks = &stack;
	size_t cnt;

	if (w->stack_done[node])
		return;
	w->stack_done[node] = true;
	cnt = sampled_frames(w->s, node, w->frames);
	for (size_t i = 0; i < cnt; i++)
		w->frame_ids[i] = (uint64_t)w->frames[cnt - 1 - i] + 1;
	stack.has_iid = true;
	stack.iid = node;
	stack.frame_ids = w->frame_ids;
	stack.n_frame_ids = cnt;
	data.callstacks = &stacks;
	data.n_callstacks = 1;
	packet.interned_data = &data;
	perfetto_put_packet(w, &packet);
}

/* --- samples --------------------------------------------------------------------------------- */

static bool is_in_kernel(const struct perfetto *w, uint32_t node)
{
	const struct forest_node *n = &w->s->forest.nodes[node];

	return n->parent && w->m->symbols[w->s->frames[n->key].symbol].kind == KIND_KERNEL;
}

static void put_tick(struct perfetto *w, const struct sampled_row *row, uint64_t time_ns)
{
	const struct model_thread *thread = &w->m->threads[row->thread];
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__PerfSample sample = PERFETTO__PERF_SAMPLE__INIT;

	sample.has_cpu = sample.has_pid = sample.has_tid = sample.has_callstack_iid =
		sample.has_cpu_mode = sample.has_timebase_count = true;
	sample.cpu = row->cpu;
	sample.pid = w->m->processes[thread->process].tgid;
	sample.tid = thread->tid;
	sample.callstack_iid = row->node;
	sample.cpu_mode = is_in_kernel(w, row->node) ? MODE_KERNEL : MODE_USER;
	w->cpu_ns[row->cpu] += sampled_tick_ns(w->m);
	sample.timebase_count = w->cpu_ns[row->cpu];
	packet.perf_sample = &sample;
	set_time(&packet, time_ns);
	perfetto_put_packet(w, &packet);
}

static void put_sample(struct perfetto *w, const struct sampled_row *row)
{
	uint64_t ticks = row->values[EXPORT_SAMPLES], tick_ns = sampled_tick_ns(w->m);

	if (ticks > TICKS_MAX)
		ticks = TICKS_MAX;
	perfetto_put_thread(w, row->thread);
	put_stack(w, row->node);
	while (ticks-- > 0)
		put_tick(w, row,
			 row->time_ns > ticks * tick_ns ? row->time_ns - ticks * tick_ns : 0);
}

/* --- all together ---------------------------------------------------------------------------- */

static int prepare(struct perfetto *w, const struct export_options *options)
{
	struct export_options o = *options;

	o.weight = EXPORT_SAMPLES;
	w->s = sampled_new(w->m, &o, SAMPLED_WEIGHT(EXPORT_SAMPLES), SAMPLED_BY_TIME);
	if (!w->s)
		return -errno;
	w->t = timeline_new(w->m, options);
	if (!w->t)
		return -errno;
	about_of(&w->about, w->m);
	w->process_done = calloc(w->m->processes_cnt + 1, 1);
	w->thread_done = calloc(w->m->threads_cnt + 1, 1);
	w->stack_done = calloc(w->s->forest.nodes_cnt + 1, 1);
	w->spans_done = calloc(w->m->processes_cnt + 1, TIMELINE_KINDS);
	w->cpu_ns = calloc(UINT16_MAX + 1, sizeof(*w->cpu_ns));
	return w->process_done && w->thread_done && w->stack_done && w->spans_done && w->cpu_ns
		       ? 0
		       : -ENOMEM;
}

static void put_all(struct perfetto *w)
{
	put_head(w);
	put_clocks(w);
	for (size_t i = 0; i < TIMELINE_COUNTERS; i++)
		if (timeline_knows(w->t, &timeline_counters[i]))
			put_counter(w, i);
	put_spans(w);
	for (uint32_t i = 0; i < w->s->frames_cnt; i++)
		put_frame(w, i);
	for (size_t i = 0; i < w->s->rows_cnt; i++)
		put_sample(w, &w->s->rows[i]);
	perfetto_put_switches(w);
}

int perfetto_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct perfetto *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->out = out;
	w->m = m;
	err = prepare(w, options);
	if (!err) {
		put_all(w);
		err = w->failed ? -ENOMEM : fflush(out) || ferror(out) ? -EIO : 0;
	}
	timeline_free(w->t);
	sampled_free(w->s);
	free(w->process_done);
	free(w->thread_done);
	free(w->stack_done);
	free(w->spans_done);
	free(w->cpu_ns);
	free(w);
	return err;
}

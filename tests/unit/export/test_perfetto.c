/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "export/perfetto.h"
#include "export_models.h"
#include "perfetto.pb-c.h"

#define STATE_CLEARED 1
#define STATE_NEEDED  2

static Perfetto__Trace *unpacked(struct model *m)
{
	size_t len;
	char *bytes = export_text(perfetto_write, m, (struct export_options){0}, &len);
	Perfetto__Trace *trace = perfetto__trace__unpack(NULL, len, (const uint8_t *)bytes);

	cr_assert(trace);
	free(bytes);
	model_free(m);
	return trace;
}

/* What has been interned so far, by number. */
struct interned {
	bool names[8192], paths[8192], build_ids[8192], mappings[8192], frames[8192], stacks[8192];
};

static void add_interned(struct interned *in, const Perfetto__InternedData *data)
{
	for (size_t i = 0; i < data->n_function_names; i++)
		in->names[data->function_names[i]->iid] = true;
	for (size_t i = 0; i < data->n_mapping_paths; i++)
		in->paths[data->mapping_paths[i]->iid] = true;
	for (size_t i = 0; i < data->n_build_ids; i++)
		in->build_ids[data->build_ids[i]->iid] = true;
	for (size_t i = 0; i < data->n_mappings; i++) {
		const Perfetto__Mapping *mapping = data->mappings[i];

		cr_expect(in->paths[mapping->path_string_ids[0]]);
		cr_expect(!mapping->has_build_id || in->build_ids[mapping->build_id]);
		in->mappings[mapping->iid] = true;
	}
	for (size_t i = 0; i < data->n_frames; i++) {
		cr_expect(in->names[data->frames[i]->function_name_id]);
		cr_expect(in->mappings[data->frames[i]->mapping_id]);
		in->frames[data->frames[i]->iid] = true;
	}
	for (size_t i = 0; i < data->n_callstacks; i++) {
		for (size_t k = 0; k < data->callstacks[i]->n_frame_ids; k++)
			cr_expect(in->frames[data->callstacks[i]->frame_ids[k]]);
		cr_expect_neq(data->callstacks[i]->iid, 0);
		in->stacks[data->callstacks[i]->iid] = true;
	}
}

/* Tracks that were described, and how many slices are open on each. */
struct tracks {
	uint64_t uuids[512];
	int open[512];
	size_t cnt;
};

static size_t track_at(const struct tracks *tracks, uint64_t uuid)
{
	for (size_t i = 0; i < tracks->cnt; i++)
		if (tracks->uuids[i] == uuid)
			return i;
	cr_assert_fail("track %lx was not described", (unsigned long)uuid);
	return 0;
}

static void add_track(struct tracks *tracks, const Perfetto__TrackDescriptor *track)
{
	if (track->has_parent_uuid)
		track_at(tracks, track->parent_uuid);
	for (size_t i = 0; i < tracks->cnt; i++)
		cr_expect_neq(tracks->uuids[i], track->uuid, "described twice");
	cr_assert_lt(tracks->cnt, 512);
	tracks->uuids[tracks->cnt++] = track->uuid;
}

static void check_event(struct tracks *tracks, const Perfetto__TrackEvent *event)
{
	size_t at = track_at(tracks, event->track_uuid);

	tracks->open[at] += event->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
	tracks->open[at] -= event->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	cr_expect(tracks->open[at] == 0 || tracks->open[at] == 1, "slices overlap");
}

/* Returns how many samples there are. */
static size_t check_trace(const Perfetto__Trace *trace)
{
	struct interned *in = calloc(1, sizeof(*in));
	struct tracks *tracks = calloc(1, sizeof(*tracks));
	size_t samples = 0;
	uint64_t before_ns = 0;

	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__TracePacket *packet = trace->packet[i];

		cr_expect_eq(packet->sequence_flags, i ? STATE_NEEDED : STATE_CLEARED);
		cr_expect_eq(packet->first_packet_on_sequence, !i);
		cr_expect_eq(packet->trusted_packet_sequence_id, 1);
		if (packet->interned_data)
			add_interned(in, packet->interned_data);
		if (packet->track_descriptor)
			add_track(tracks, packet->track_descriptor);
		if (packet->track_event)
			check_event(tracks, packet->track_event);
		if (packet->has_timestamp)
			cr_expect_eq(packet->timestamp_clock_id, 3);
		if (!packet->perf_sample)
			continue;
		samples++;
		cr_expect(in->stacks[packet->perf_sample->callstack_iid]);
		cr_expect_geq(packet->timestamp, before_ns);
		before_ns = packet->timestamp;
	}
	for (size_t i = 0; i < tracks->cnt; i++)
		cr_expect_eq(tracks->open[i], 0, "a slice never ends");
	free(in);
	free(tracks);
	return samples;
}

Test(perfetto, what_is_named_was_described_before)
{
	for (int which = 0; which < EXPORT_MODELS; which++) {
		Perfetto__Trace *trace = unpacked(export_model((enum export_model)which));
		size_t samples = check_trace(trace);

		if (which == EXPORT_SHOP)
			cr_expect_eq(samples, export_shop_totals[EXPORT_SAMPLES]);
		perfetto__trace__free_unpacked(trace, NULL);
	}
}

static const char *name_of(const Perfetto__Trace *trace, uint64_t uuid)
{
	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__TrackDescriptor *track = trace->packet[i]->track_descriptor;

		if (track && track->uuid == uuid)
			return track->name;
	}
	return NULL;
}

Test(perfetto, counters_have_a_value_a_slice)
{
	Perfetto__Trace *trace = unpacked(export_model(EXPORT_SHOP));
	double requests[8];
	size_t cnt = 0;

	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__TrackEvent *event = trace->packet[i]->track_event;

		if (event && event->has_double_counter_value &&
		    !strcmp(name_of(trace, event->track_uuid), "requests a second") && cnt < 8)
			requests[cnt++] = event->double_counter_value;
	}
	cr_assert_eq(cnt, 4);
	cr_expect(requests[0] > 99 && requests[0] < 101 && requests[1] > 159 && requests[1] < 161);
	cr_expect(requests[3] >= 0 && requests[3] <= 0);
	perfetto__trace__free_unpacked(trace, NULL);
}

Test(perfetto, slow_seconds_are_slices_of_their_process)
{
	Perfetto__Trace *trace = unpacked(export_model(EXPORT_SHOP));
	size_t found = 0;

	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__TrackEvent *event = trace->packet[i]->track_event;

		if (!event || !event->name || strcmp(event->name, "slow requests"))
			continue;
		found++;
		cr_expect_eq(trace->packet[i]->timestamp, BUILD_START_NS + BUILD_SECOND);
		cr_expect_str_eq(event->debug_annotations[0]->string_value,
				 "60 of 160 requests were slow");
	}
	cr_expect_eq(found, 1);
	perfetto__trace__free_unpacked(trace, NULL);
}

Test(perfetto, single_switches_are_those_of_the_capture)
{
	Perfetto__Trace *trace = unpacked(export_model(EXPORT_SHOP));
	const Perfetto__FtraceEventBundle *bundle = NULL;
	const Perfetto__SchedSwitchFtraceEvent *turn;
	bool described = false;

	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__TrackDescriptor *track = trace->packet[i]->track_descriptor;

		described |= track && track->thread && track->thread->tid == 110;
		if (!trace->packet[i]->ftrace_events)
			continue;
		cr_expect(!bundle, "one CPU, few switches");
		cr_expect(described);
		bundle = trace->packet[i]->ftrace_events;
	}
	cr_assert(bundle);
	cr_expect_eq(bundle->cpu, 1);
	/* Before and behind the window nobody is known to run. */
	cr_assert_eq(bundle->n_event, 6);
	turn = bundle->event[0]->sched_switch;
	cr_expect_eq(bundle->event[0]->timestamp, BUILD_START_NS + 1500000000);
	cr_expect(turn->prev_pid == -1 && turn->next_pid == 200);
	turn = bundle->event[5]->sched_switch;
	cr_expect_eq(bundle->event[5]->timestamp, BUILD_START_NS + 2000000000);
	cr_expect(turn->prev_pid == 0 && turn->next_pid == -1);
	cr_expect_eq(bundle->event[1]->sched_waking->pid, 110);
	cr_expect_eq(bundle->event[1]->pid, 200);
	turn = bundle->event[2]->sched_switch;
	cr_expect_eq(bundle->event[2]->timestamp, BUILD_START_NS + 1602000000);
	cr_expect_eq(turn->prev_pid, 200);
	cr_expect_eq(turn->prev_state, 256, "preempted");
	cr_expect_eq(turn->next_pid, 110);
	cr_expect_str_eq(turn->next_comm, ".NET TP Worker");
	turn = bundle->event[4]->sched_switch;
	cr_expect_eq(turn->prev_state, 1);
	cr_expect_eq(turn->next_pid, 0, "idle");
	perfetto__trace__free_unpacked(trace, NULL);
}

Test(perfetto, a_sample_of_several_ticks_is_there_as_often)
{
	struct model *m = export_model(EXPORT_ONE);
	Perfetto__Trace *trace;
	uint64_t last_ns = 0;

	m->samples[0].weight = 10;
	trace = unpacked(m);
	cr_expect_eq(check_trace(trace), 10);
	for (size_t i = 0; i < trace->n_packet; i++)
		if (trace->packet[i]->perf_sample) {
			cr_expect(!last_ns || trace->packet[i]->timestamp == last_ns + 10101010);
			last_ns = trace->packet[i]->timestamp;
		}
	cr_expect_eq(last_ns, BUILD_START_NS + 40000000);
	perfetto__trace__free_unpacked(trace, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/text.h"
#include "export/perfetto_private.h"
#include "export/proto_out.h"

#define STATE_CLEARED 1
#define STATE_NEEDED  2

#define SEQUENCE 1 /* all packets are of one writer */

char *perfetto_safe(struct perfetto *w, const char *text)
{
	text_copy_utf8(w->safe, sizeof(w->safe), text, strlen(text));
	return w->safe;
}

void perfetto_put_packet(struct perfetto *w, Perfetto__TracePacket *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->has_sequence_flags = true;
	packet->sequence_flags = w->begun ? STATE_NEEDED : STATE_CLEARED;
	packet->has_first_packet_on_sequence = packet->first_packet_on_sequence = !w->begun;
	w->begun = true;
	trace.packet = &packet;
	trace.n_packet = 1;
	proto_put(w->out, &trace.base);
}

void perfetto_put_track(struct perfetto *w, Perfetto__TrackDescriptor *track, uint64_t uuid)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = uuid;
	packet.track_descriptor = track;
	perfetto_put_packet(w, &packet);
}

/* --- processes and threads ------------------------------------------------------------------- */

void perfetto_put_process(struct perfetto *w, uint32_t process)
{
	const struct verdict_row *verdict = judgement_find(&w->t->judgement, process);
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor of = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	char *label = verdict ? (char *)verdict_id(verdicts_result(verdict)->verdict) : NULL;

	if (w->process_done[process])
		return;
	w->process_done[process] = true;
	of.has_pid = true;
	of.pid = (int32_t)w->m->processes[process].tgid;
	of.process_name = perfetto_safe(w, sampled_process(w->m, process));
	of.process_labels = &label;
	of.n_process_labels = label ? 1 : 0;
	track.process = &of;
	perfetto_put_track(w, &track, TRACK(TRACK_PROCESS, process));
}

void perfetto_put_thread(struct perfetto *w, uint32_t thread)
{
	const struct model_thread *t = &w->m->threads[thread];
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor of = PERFETTO__THREAD_DESCRIPTOR__INIT;

	if (w->thread_done[thread])
		return;
	w->thread_done[thread] = true;
	perfetto_put_process(w, t->process);
	of.has_pid = of.has_tid = true;
	of.pid = (int32_t)w->m->processes[t->process].tgid;
	of.tid = t->tid;
	of.thread_name = perfetto_safe(w, t->comm);
	track.thread = &of;
	track.has_parent_uuid = true;
	track.parent_uuid = TRACK(TRACK_PROCESS, t->process);
	perfetto_put_track(w, &track, TRACK(TRACK_THREAD, thread));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_PERFETTO_PRIVATE_H
#define HOTRUN_EXPORT_PERFETTO_PRIVATE_H
/* What the files of perfetto_write() share. */
#include "export/about.h"
#include "export/sampled.h"
#include "export/timeline.h"
#include "model/resolve.h"
#include "perfetto.pb-c.h"

/* Tracks have numbers by what they are of. */
#define TRACK(kind, row) ((uint64_t)(kind) << 40 | (row))
enum track { TRACK_COUNTER = 1, TRACK_PROCESS, TRACK_THREAD, TRACK_SPANS };

struct perfetto {
	FILE *out;
	struct model *m;
	struct sampled *s; /* by time */
	struct timeline *t;
	struct export_about about;
	uint8_t *process_done, *thread_done, *stack_done; /* by row, by node */
	uint8_t *spans_done;				  /* by process and kind */
	uint64_t *cpu_ns;				  /* by CPU: what samples told so far */
	bool begun;
	bool failed; /* out of memory */
	uint32_t frames[RESOLVE_MAX_FRAMES];
	uint64_t frame_ids[RESOLVE_MAX_FRAMES];
	char safe[3 * MODEL_MAX_STRING + 1];
};

/* perfetto_packet.c. Made UTF-8; until the next call. */
char *perfetto_safe(struct perfetto *w, const char *text);
void perfetto_put_packet(struct perfetto *w, Perfetto__TracePacket *packet);
void perfetto_put_track(struct perfetto *w, Perfetto__TrackDescriptor *track, uint64_t uuid);
/* These describe it, with its process, once. */
void perfetto_put_process(struct perfetto *w, uint32_t process);
void perfetto_put_thread(struct perfetto *w, uint32_t thread);

/* perfetto_switches.c: single switches and wakeups, of all processes. */
void perfetto_put_switches(struct perfetto *w);
#endif

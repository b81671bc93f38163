/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/perf_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/sampled.h"
#include "model/resolve.h"

#define NS_S ((uint64_t)1000000000)

struct perf_script {
	FILE *out;
	const struct sampled *s;
	enum export_weight weight;
	uint32_t frames[RESOLVE_MAX_FRAMES];
	/* The line of each frame, made once. */
	char *lines;
	size_t *starts; /* by frame, in lines; one more than there are */
};

static void put_comm(FILE *out, const char *comm)
{
	const char *first = comm, *blank;

	if (!*comm)
		fputs("[unnamed]", out);
	for (; (blank = strchr(comm, ' ')); comm = blank + 1) {
		bool number = blank[1] >= '0' && blank[1] <= '9';

		text_put_safe(out, comm, (size_t)(blank - comm));
		/* Nor is it to begin or end with one. */
		putc(number || !blank[1] || blank == first ? '_' : ' ', out);
	}
	text_put_safe(out, comm, strlen(comm));
}

/* Neither blanks nor brackets. */
static void put_file(FILE *out, const char *file)
{
	for (size_t cnt; *file; file += cnt) {
		cnt = strcspn(file, " ()");
		text_put_safe(out, file, cnt);
		if (file[cnt])
			fprintf(out, "\\x%02x", file[cnt++]);
	}
}

static void put_frame(const struct perf_script *w, FILE *out, uint32_t frame)
{
	const char *name = sampled_name(w->s, frame);

	fprintf(out, "\t%16" PRIx64 " ", w->s->frames[frame].address);
	text_put_safe(out, name, strlen(name));
	fputs(" (", out);
	put_file(out, sampled_file(w->s, frame));
	fputs(")\n", out);
}

static int make_lines(struct perf_script *w)
{
	size_t cnt = w->s->frames_cnt, len = 0;
	FILE *out = open_memstream(&w->lines, &len);

	w->starts = calloc(cnt + 1, sizeof(*w->starts));
	for (uint32_t i = 0; out && w->starts && i < cnt; i++) {
		put_frame(w, out, i);
		fflush(out);
		w->starts[i + 1] = len;
	}
	return !out || fclose(out) || !w->starts ? -ENOMEM : 0;
}

static const char *event_of(const struct perf_script *w)
{
	static const char *const events[] = {
		[EXPORT_SAMPLES] = "cpu-clock",
		[EXPORT_WAITERS] = "waiting",
		[EXPORT_BLOCKED] = "blocked",
	};

	return events[w->weight];
}

static void put_sample(struct perf_script *w, const struct sampled_row *row)
{
	const struct model *m = w->s->m;
	const struct model_thread *thread = &m->threads[row->thread];
	size_t cnt = sampled_frames(w->s, row->node, w->frames);

	put_comm(w->out, thread->comm);
	fprintf(w->out, " %u/%u [%03u] %5" PRIu64 ".%09" PRIu64 ": %10" PRIu64 " %s: \n",
		m->processes[thread->process].tgid, thread->tid, row->cpu,
		(uint64_t)row->time_ns / NS_S, (uint64_t)row->time_ns % NS_S,
		sampled_ns(m, w->weight, row->values[w->weight]), event_of(w));
	for (size_t i = 0; i < cnt; i++)
		fwrite(w->lines + w->starts[w->frames[i]], 1,
		       w->starts[w->frames[i] + 1] - w->starts[w->frames[i]], w->out);
	putc('\n', w->out);
}

int perf_script_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct sampled *s = sampled_new(
		m, options, SAMPLED_WEIGHT(options->weight) | SAMPLED_ADDRESSES, SAMPLED_BY_TIME);
	struct perf_script *w = calloc(1, sizeof(*w));
	int err = s && w ? 0 : -ENOMEM;

	if (!err) {
		*w = (struct perf_script){.out = out, .s = s, .weight = options->weight};
		err = make_lines(w);
		for (size_t i = 0; !err && i < s->rows_cnt; i++)
			put_sample(w, &s->rows[i]);
		if (!err && (fflush(out) || ferror(out)))
			err = -EIO;
		free(w->lines);
		free(w->starts);
	}
	free(w);
	sampled_free(s);
	return err;
}

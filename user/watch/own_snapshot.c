/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/own_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "kernel/host.h"
#include "model/snapshot_slices.h"
#include "output/snapshot.h"
#include "watch/private.h"

/* So much of the past: hundreds of samples of a busy host. */
#define PAST_NS 3000000000ull
/* An answer that a socket takes at once, whatever its usual buffer is (net.core.wmem_max). */
#define ANSWER_MOST 150000u

static void refuse(int fd, const char *why)
{
	char line[CONTROL_LINE_BYTES];
	int len = snprintf(line, sizeof(line), "failed %s\n", why);

	if (len > 0 && (size_t)len < sizeof(line))
		control_say(fd, line, (size_t)len);
}

static int put(FILE *out, const struct snapshot_request *r, struct model *m,
	       const struct snapshot *s, uint64_t cpu_ns)
{
	struct snapshot_options options = {
		.by = SNAPSHOT_BY_WATCH,
		.width = r->width,
		.lines = r->lines,
		.time = time(NULL),
	};
	struct snapshot_view *v = snapshot_view_new(m, s);
	int err;

	if (!v)
		return -errno;
	options.answer_ns = clock_now_ns() - r->begun_ns;
	options.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	if (r->json)
		err = snapshot_json_write(out, m, s, v, &options);
	else
		err = snapshot_first_write(out, m, s, v, &options);
	if (!err && !r->json && !r->brief)
		err = snapshot_rest_write(out, m, s, v, &options);
	snapshot_view_free(v);
	return err;
}

void own_snapshot_answer(void *ctx, int fd, const struct snapshot_request *request)
{
	struct watch *w = ctx;
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct snapshot s = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err = out ? -ENODATA : -ENOMEM;

	if (out && w->collector)
		err = snapshot_of_slices(collector_model(w->collector), PAST_NS, &s);
	if (!err) {
		fputs(SNAPSHOT_ANSWER "\n", out);
		host_read_memory(&s.memory_bytes, &s.memory_free_bytes);
		err = put(out, request, collector_model(w->collector), &s, cpu_ns);
		fputc(SNAPSHOT_END, out);
	}
	if (out && fclose(out))
		err = err ?: -ENOMEM;
	if (!err && len > ANSWER_MOST)
		err = -EMSGSIZE;
	if (err)
		refuse(fd, err == -ENODATA ? "nothing is recorded yet" : strerror(-err));
	else
		control_say(fd, text, len); /* who gets a part of it finds no end */
	free(text);
	snapshot_clear(&s);
}

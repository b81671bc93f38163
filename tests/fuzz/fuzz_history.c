/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Input: the bytes of a history's file, or a line of trunks. What is read stays within its bounds,
 * and can be told. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/history_view.h"
#include "output/history.h"
#include "store/history.h"
#include "watch/history.h"

static void must(int holds)
{
	if (!holds)
		abort();
}

static int on_hour(void *ctx, int64_t time_s, uint32_t kind, const struct history_figures *f)
{
	must(time_s >= 0 && f->cpu_ms <= INT64_MAX);
	return history_view_hour(ctx, time_s, kind, f);
}

static int on_minute(void *ctx, int64_t time_s, uint32_t kind, const struct history_figures *f)
{
	return history_view_minute(ctx, time_s, kind, f);
}

static int on_decision(void *ctx, const struct history_decision *d)
{
	return history_view_decision(ctx, d);
}

static int on_trunk(void *ctx, const struct history_trunk *t)
{
	must(t->share >= 0 && t->share <= 1 && history_harm(t) >= 0);
	return history_view_trunk(ctx, t);
}

static int fill(struct history_file *f, struct history_view *v)
{
	struct history_kind *kinds = NULL;
	size_t cnt = 0;
	int err = history_file_kinds(f, &kinds, &cnt);

	for (size_t i = 0; !err && i < cnt; i++)
		err = history_view_kind(v, &kinds[i]);
	free(kinds);
	if (!err)
		err = history_file_rows(f, HISTORY_HOURS, 0, INT64_MAX, HISTORY_ANY, on_hour, v);
	if (!err)
		err = history_view_choose(v);
	if (!err)
		err = history_file_rows(f, HISTORY_MINUTES, 0, INT64_MAX, HISTORY_ANY, on_minute,
					v);
	if (!err)
		err = history_file_decisions(f, 0, INT64_MAX, on_decision, v);
	if (!err)
		err = history_file_taken_trunks(f, 0, INT64_MAX, on_trunk, v);
	return err ? err : history_view_finish(v);
}

static void read_file(const uint8_t *data, size_t size)
{
	const struct history_view_options options = {NULL, 0, INT64_MAX};
	struct history_view *v = history_view_new(&options);
	struct history_file *f = NULL;
	FILE *out = fopen("/dev/null", "w");
	char path[64];
	int fd;

	/* In memory: a run writes millions of files. */
	snprintf(path, sizeof(path), "/dev/shm/hotrun-fuzz-history-%d", (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size && v && out);
	close(fd);
	if (!history_file_read(path, &f) && !fill(f, v)) {
		must(!history_text_write(out, v, true));
		must(!history_json_write(out, v));
		must(!history_page_write(out, v));
	}
	history_file_close(f);
	history_view_free(v);
	fclose(out);
	unlink(path);
}

static void read_line(const uint8_t *data, size_t size)
{
	char *line = strndup((const char *)data, size);
	struct history_trunk t;

	must(line != NULL);
	if (!history_parse_trunk(line, &t))
		must(t.share >= 0 && t.share <= 1 && t.seconds >= 0 && t.people >= 0 &&
		     *t.process && *t.path);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_file(data, size);
	read_line(data, size);
	return 0;
}

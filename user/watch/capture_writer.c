/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/capture_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

/* Kept while a reader holds the file: half a minute of a host with 10,000 busy threads. */
#define DELAYED_BYTES_MAX (32u << 20)
/* At the end, when a reader holds the file: the store waits a second each time. */
#define FINISH_TRIES 3

struct capture_writer {
	char *path;
	uint64_t until_ns;
	uint64_t taken_ns; /* the end of the newest slice that was taken */
	struct extract *x;
	struct store *store;
	bool delayed; /* rows wait for a reader that holds the file */
};

static bool selects(const void *ctx, const struct model_process *p)
{
	return selection_has(ctx, p);
}

static uint64_t rows_of_slices(const struct model *m)
{
	return m->samples_cnt + m->accounts_cnt + m->delays_cnt + m->contentions_cnt +
	       m->throttles_cnt + m->services_cnt + m->responses_cnt + m->signals_cnt +
	       m->pasts_cnt + m->stands_cnt + m->cpus_cnt;
}

/* A slice that cannot be written is dropped, but while a reader holds the file: then it goes with
 * the next one, as long as that is not too much. */
static int write_slices(struct capture_writer *s)
{
	struct model *m = extract_model(s->x);
	int err = store_write_slice(s->store, m);
	uint64_t rows = rows_of_slices(m);

	s->delayed = err == -EBUSY && model_slice_bytes(m) < DELAYED_BYTES_MAX;
	if (s->delayed)
		return 0;
	model_forget_slice(m);
	if (err)
		model_loss_add(m, LOSS_MODEL_LIMIT, rows);
	return err == -EBUSY ? 0 : err;
}

static void note_taken(struct capture_writer *s)
{
	const struct model *m = extract_model(s->x);

	if (m->slices_cnt)
		s->taken_ns = m->slices[m->slices_cnt - 1].end_ns;
}

int capture_writer_new(const struct capture_writer_options *options, const struct ring *ring,
		       const struct model *live, struct capture_writer **ret_writer)
{
	struct capture_writer *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return err;
	s->until_ns = options->until_ns;
	s->path = strdup(options->path);
	s->x = extract_new();
	if (!s->path || !s->x)
		goto out;
	if (options->selection)
		extract_select(s->x, selects, options->selection);
	/* Whatever has closed by now belongs to the past, and not to what follows. */
	s->taken_ns = live->host.end_ns;
	extract_describe(s->x, live);
	err = options->from_ns == UINT64_MAX ? 0 : ring_extract(ring, live, options->from_ns, s->x);
	if (err)
		goto out;
	note_taken(s);
	extract_model(s->x)->host.taken =
		model_str(extract_model(s->x), options->taken ? options->taken : "");
	err = store_create(s->path, extract_model(s->x), &s->store);
	if (err)
		goto out;
	err = write_slices(s);
	if (err)
		unlink(s->path);
out:
	if (err) {
		capture_writer_free(s);
		return err;
	}
	*ret_writer = s;
	return 0;
}

/* The closed slices of live that are not taken yet: first included, *ret_end not. */
static uint32_t new_slices(const struct capture_writer *s, const struct model *live,
			   uint32_t *ret_end)
{
	uint32_t first, end = (uint32_t)live->slices_cnt;

	while (end && !live->slices[end - 1].end_ns)
		end--;
	first = end;
	while (first && live->slices[first - 1].end_ns > s->taken_ns)
		first--;
	*ret_end = end;
	return first;
}

int capture_writer_slice(struct capture_writer *s, const struct model *live)
{
	uint32_t end, first = new_slices(s, live, &end);
	int err;

	if (capture_writer_is_over(s) || first == end)
		return 0;
	err = extract_take(s->x, live, first, end - 1);
	if (err)
		return err;
	note_taken(s);
	return write_slices(s);
}

size_t capture_writer_memory_bytes(const struct capture_writer *s)
{
	return extract_bytes(s->x);
}

bool capture_writer_is_over(const struct capture_writer *s)
{
	const struct model *m = extract_model(s->x);

	return m->slices_cnt && m->slices[m->slices_cnt - 1].end_ns >= s->until_ns;
}

bool capture_writer_is_empty(const struct capture_writer *s)
{
	return !extract_model(s->x)->slices_cnt;
}

void capture_writer_leave(struct capture_writer *s)
{
	extract_leave(s->x);
}

int capture_writer_finish(struct capture_writer *s)
{
	int err = 0;

	for (int i = 0; !err && s->delayed && i < FINISH_TRIES; i++)
		err = write_slices(s);
	if (!err && s->delayed)
		err = -EBUSY;
	if (!err) {
		err = store_finish(s->store, extract_model(s->x));
		s->store = NULL;
	}
	capture_writer_free(s);
	return err;
}

void capture_writer_free(struct capture_writer *s)
{
	if (!s)
		return;
	store_free(s->store);
	extract_free(s->x);
	free(s->path);
	free(s);
}

void capture_writer_withdraw(struct capture_writer *s)
{
	unlink(s->path);
	capture_writer_free(s);
}

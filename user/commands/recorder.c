/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/command.h"
#include "kernel/host.h"
#include "kernel/rights.h"
#include "store/store.h"

/* Kept while a reader holds the file: minutes of a host with 10,000 busy threads. */
#define DELAYED_BYTES_MAX (200u << 20)
#define DELAYED_WAIT_NS	  60000000000ull

struct recorder {
	struct collector *collector;
	struct store *store;
	const char *path;
	unsigned int rights;
	bool created; /* the capture, in which there is nothing yet */
	bool delayed; /* rows wait for a reader that holds the file */
};

/* Rows of the slices that wait, and their bytes. */
static void count_delayed(const struct model *m, uint64_t *ret_rows, uint64_t *ret_bytes)
{
	const struct {
		size_t cnt, size;
	} tables[] = {
		{m->samples_cnt, sizeof(*m->samples)},
		{m->accounts_cnt, sizeof(*m->accounts)},
		{m->delays_cnt, sizeof(*m->delays)},
		{m->contentions_cnt, sizeof(*m->contentions)},
		{m->throttles_cnt, sizeof(*m->throttles)},
		{m->services_cnt, sizeof(*m->services)},
		{m->responses_cnt, sizeof(*m->responses)},
		{m->signals_cnt, sizeof(*m->signals)},
		{m->pasts_cnt, sizeof(*m->pasts)},
		{m->stands_cnt, sizeof(*m->stands)},
	};

	*ret_rows = *ret_bytes = 0;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		*ret_rows += tables[i].cnt;
		*ret_bytes += tables[i].cnt * tables[i].size;
	}
}

/* A reader that holds the file delays the slice: it goes with the next one. */
static int write_slice(struct recorder *r)
{
	struct model *m = collector_model(r->collector);
	int err = store_write_slice(r->store, m);
	uint64_t rows, bytes;

	r->delayed = err == -EBUSY;
	count_delayed(m, &rows, &bytes);
	if (r->delayed && bytes < DELAYED_BYTES_MAX)
		return 0;
	if (r->delayed) {
		log_warn("%s: another program holds the file; what was recorded meanwhile is "
			 "dropped",
			 r->path);
		model_forget_slice(m);
		model_loss_add(m, LOSS_MODEL_LIMIT, rows);
		return 0;
	}
	model_forget_slice(m);
	return err;
}

/* At the end there is no next slice: waits for the reader, unless it is asked again to stop. */
static int write_delayed(struct recorder *r)
{
	uint64_t end_ns = clock_now_ns() + DELAYED_WAIT_NS;
	int err = 0;

	if (!r->delayed)
		return 0;
	log_warn("%s: another program holds the file; waiting for it up to %llu s (Ctrl-C: no "
		 "longer)",
		 r->path, (unsigned long long)(DELAYED_WAIT_NS / 1000000000));
	stop_requested = 0;
	while (!err && r->delayed && !stop_requested && clock_now_ns() < end_ns)
		err = write_slice(r);
	return r->delayed ? -EBUSY : err;
}

static int end_slice(struct recorder *r)
{
	collector_end_slice(r->collector);
	return write_slice(r);
}

int recorder_tick(struct recorder *r)
{
	int err;

	if (clock_now_ns() - collector_slice_start_ns(r->collector) >= RECORDER_SLICE_NS) {
		err = end_slice(r);
		return err ? err : collector_begin_slice(r->collector);
	}
	collector_drain(r->collector);
	return 0;
}

void recorder_pause(struct recorder *r, uint64_t ns)
{
	collector_pause(r->collector, ns, -1);
}

int recorder_finish(struct recorder *r)
{
	struct model *m = collector_model(r->collector);
	int err;

	collector_stop(r->collector);
	err = end_slice(r);
	if (!err)
		err = write_delayed(r);
	if (!err) {
		m->host.complete = true;
		err = store_finish(r->store, m);
		r->store = NULL;
	}
	recorder_free(r);
	return err;
}

int recorder_new(const struct recorder_options *options, char *why, size_t why_bytes,
		 struct recorder **ret_recorder)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		snprintf(why, why_bytes, "out of memory");
		return -ENOMEM;
	}
	r->path = options->path;
	r->rights = options->rights;
	memory_map_tables();
	err = collector_new(&options->collector, why, why_bytes, &r->collector);
	if (err)
		goto out;
	/* Before anything is recorded: nothing is that cannot be kept. */
	err = store_create(r->path, collector_model(r->collector), &r->store);
	if (err)
		snprintf(why, why_bytes, "%s: %s", r->path, store_error_text(err));
	else
		r->created = true;
out:
	if (err) {
		recorder_free(r);
		return err;
	}
	*ret_recorder = r;
	return 0;
}

int recorder_start(struct recorder *r, char *why, size_t why_bytes)
{
	int err;

	rights_loaded(r->rights | (collector_walks_by_tables(r->collector) ? RIGHTS_TABLES : 0));
	err = collector_start(r->collector, why, why_bytes);
	if (err)
		return err;
	r->created = false;
	collector_announce(r->collector, "recording");
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	store_free(r->store);
	if (r->created)
		unlink(r->path);
	collector_free(r->collector);
	free(r);
}

const struct model *recorder_model(const struct recorder *r)
{
	return collector_model(r->collector);
}

uint64_t recorder_samples(const struct recorder *r)
{
	return collector_samples(r->collector);
}

uint64_t recorder_elapsed_ns(const struct recorder *r)
{
	return clock_now_ns() - collector_start_ns(r->collector);
}

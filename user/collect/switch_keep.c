/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/switch_keep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/rise.h"
#include "collect/collector.h"
#include "collect/switch_take.h"

void switch_keep_open(struct switch_keep *k)
{
	const struct switch_ring_options options = {
		.cpus_possible = k->rooms->host.cpus_possible,
		.window_ns = (uint64_t)(k->rooms->options->switches_s * 1e9),
		.online = k->books->online,
		.bytes_max = k->rooms->options->switches_bytes,
	};

	if (k->rooms->options->switches_s <= 0 || k->ring)
		return;
	host_online_cpus(k->books->online);
	if (switch_ring_new(&options, k->why, sizeof(k->why), &k->ring))
		k->ring = NULL;
}

void switch_keep_close(struct switch_keep *k)
{
	switch_ring_free(k->ring);
}

size_t switch_keep_bytes(const struct switch_keep *k)
{
	return k->ring ? switch_ring_bytes(k->ring) : 0;
}

void switch_keep_want(struct switch_keep *k)
{
	k->is_wanted = k->ring != NULL;
}

/* Those up to end_ns, after the clocks were read for it. */
static void take_switches(struct switch_keep *k, uint64_t end_ns)
{
	uint32_t cpus = k->rooms->host.cpus_possible;
	struct switch_running *running = calloc(cpus, sizeof(*running));
	struct switch_window window = {(uint64_t)(k->rooms->options->switches_s * 1e9), end_ns,
				       cpus, running, k->books->online};
	struct switch_taken taken = {.from_ns = end_ns};
	uint64_t lost;
	int err = running ? 0 : -ENOMEM;

	k->is_wanted = false;
	for (uint32_t cpu = 0; !err && cpu < cpus; cpu++) {
		const struct clock_reading *r = &k->books->clocks[cpu];

		/* In the quiet gear nobody looks at who runs. */
		if (r->is_read && !k->rooms->options->gear.quiet)
			running[cpu] = (struct switch_running){r->clock.running_tid,
							       r->clock.last_switch_ns};
	}
	if (!err)
		err = switch_take(k->ring, &window, k->rooms->model, &taken);
	if (err == -EAGAIN)
		log_warn("switches: there are too many a second to be kept");
	else if (err)
		log_warn("switches: out of memory: none are kept");
	else if (taken.is_full)
		log_info("switches: of the last %.3f s; for %g s there were too many",
			 (double)rise_of(end_ns, taken.from_ns) / 1e9,
			 k->rooms->options->switches_s);
	lost = switch_ring_lost(k->ring);
	model_loss_add(k->rooms->model, LOSS_SWITCHES, lost - k->lost);
	k->lost = lost;
	free(running);
}

void switch_keep_end_slice(struct switch_keep *k, uint64_t end_ns)
{
	if (k->ring && (k->rooms->stopped || k->is_wanted))
		take_switches(k, end_ns);
}

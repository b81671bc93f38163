/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/live.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "commands/command.h"

static uint64_t after(uint64_t now_ns, double seconds)
{
	return seconds > 0 ? now_ns + (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

static void set_due(struct live *live)
{
	uint64_t start_ns = collector_slice_start_ns(live->collector);

	live->due_ns = live->interval_ns < UINT64_MAX - start_ns ? start_ns + live->interval_ns
								 : UINT64_MAX;
	if (live->due_ns > live->end_ns)
		live->due_ns = live->end_ns;
}

int live_start(struct live *live, const struct collector_options *options, double interval_s,
	       double seconds)
{
	char why[1024] = "";
	int err;

	if (setpriority(PRIO_PROCESS, 0, -10))
		log_debug("priority not raised: %s", strerror(errno));
	err = collector_new(options, why, sizeof(why), &live->collector);
	if (!err)
		err = collector_start(live->collector, why, sizeof(why));
	if (err) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	live->interval_ns = interval_s > 0 ? (uint64_t)(interval_s * 1e9) : UINT64_MAX;
	live->end_ns = after(collector_slice_start_ns(live->collector), seconds);
	set_due(live);
	return EXIT_OK;
}

uint64_t live_pause_ns(const struct live *live)
{
	uint64_t now_ns = host_now_ns();

	if (live->due_ns <= now_ns)
		return 0;
	return live->due_ns - now_ns < COLLECTOR_DRAIN_NS ? live->due_ns - now_ns
							  : COLLECTOR_DRAIN_NS;
}

bool live_step(struct live *live)
{
	live->renewed = false;
	/* The last slice ends with the sampling, so that nothing is on its way. */
	if (stop_requested || host_now_ns() >= live->end_ns) {
		collector_stop(live->collector);
		collector_end_slice(live->collector);
		return true;
	}
	if (host_now_ns() >= live->due_ns || collector_is_large(live->collector)) {
		collector_end_slice(live->collector);
		return true;
	}
	collector_drain(live->collector);
	return false;
}

bool live_next(struct live *live, int *ret_code)
{
	char why[1024] = "out of memory";
	int err;

	if (stop_requested || host_now_ns() >= live->end_ns)
		return false;
	if (collector_is_large(live->collector)) {
		err = collector_renew(live->collector, why, sizeof(why));
		live->renewed = true;
	} else {
		err = collector_fresh_slice(live->collector);
	}
	if (err) {
		log_error("%s", why);
		*ret_code = EXIT_FAILED;
		return false;
	}
	set_due(live);
	return true;
}

void live_end(struct live *live)
{
	collector_free(live->collector);
	*live = (struct live){0};
}

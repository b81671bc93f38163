/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/live.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "kernel/rights.h"

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
	memory_map_tables();
	rights_begin(0);
	err = collector_new(options, why, sizeof(why), &live->collector);
	if (!err) {
		rights_loaded(collector_walks_by_tables(live->collector) ? RIGHTS_TABLES : 0);
		err = collector_start(live->collector, why, sizeof(why));
	}
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
	uint64_t now_ns = clock_now_ns();

	if (live->due_ns <= now_ns)
		return 0;
	return live->due_ns - now_ns < COLLECTOR_DRAIN_NS ? live->due_ns - now_ns
							  : COLLECTOR_DRAIN_NS;
}

bool live_step(struct live *live)
{
	live->renewed = false;
	/* The last slice ends with the sampling, so that nothing is on its way. */
	if (stop_requested || clock_now_ns() >= live->end_ns) {
		collector_stop(live->collector);
		collector_end_slice(live->collector);
		return true;
	}
	if (clock_now_ns() >= live->due_ns || collector_is_large(live->collector)) {
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

	if (stop_requested || clock_now_ns() >= live->end_ns)
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

int live_find(struct collector *c, const char *what, uint32_t **ret_rows, size_t *ret_cnt)
{
	const struct model *m = collector_model(c);
	_cleanup_free_ uint32_t *rows = NULL;
	size_t cnt = 0, cap = 0;
	uint64_t pid = 0;

	if (text_parse_u64(what, 1, UINT32_MAX, &pid))
		pid = 0;
	for (int begins = 0; begins <= 1 && !cnt; begins++) {
		for (uint32_t i = 0; i < m->processes_cnt; i++) {
			const struct model_process *p = &m->processes[i];

			if ((p->exit_ns && p->exit_ns < m->host.start_ns) ||
			    (pid && p->tgid != pid))
				continue;
			if (!begins)
				collector_name_process(c, i);
			if (!capture_is_meant(&m->processes[i], what, begins))
				continue;
			if (GROW(rows, cnt, cap))
				return -ENOMEM;
			rows[cnt++] = i;
		}
	}
	*ret_rows = take_ptr(&rows);
	*ret_cnt = cnt;
	return 0;
}

/* What a writer of text returned, errno as it left it. */
static int output_failed(int err)
{
	/* A reader that has seen enough is no failure. */
	if (err == -EIO && errno == EPIPE)
		return EXIT_OK;
	log_error("output: %s", strerror(err == -EIO ? errno : -err));
	return EXIT_FAILED;
}

void live_pause(const struct live *live)
{
	uint64_t ns = live_pause_ns(live);

	nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

int live_print(struct live *live, int (*print)(struct collector *c, void *ctx), void *ctx,
	       uint64_t cnt, const char *renewed)
{
	int code = EXIT_OK, err;

	for (bool first = true;;) {
		live_pause(live);
		if (!live_step(live))
			continue;
		if (!first)
			putchar('\n');
		first = false;
		err = print(live->collector, ctx);
		if (err)
			return output_failed(err);
		if ((cnt && !--cnt) || !live_next(live, &code))
			return code;
		if (live->renewed)
			log_warn("%s", renewed);
	}
}

void live_end(struct live *live)
{
	collector_free(live->collector);
	*live = (struct live){0};
}

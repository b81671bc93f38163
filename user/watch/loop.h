/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_LOOP_H
#define HOTRUN_WATCH_LOOP_H
/*
 * The resident recorder: collector -> model -> ring, captures, metrics, once a second, until
 * SIGTERM or SIGINT. SIGHUP reads the configuration again, SIGUSR1 asks for a capture. Where the
 * host cannot be observed it stays up, says why, and tries again. Main thread, one of the HTTP
 * server, and one that writes the history.
 */
#include "collect/collector.h"
#include "watch/config.h"
#include "watch/policy.h"

struct watch_options {
	struct collector_options collector; /* hz and bounds come from the config */
	const char *dir;		    /* borrowed, as all below */
	const char *listen;		    /* ADDR:PORT, or NULL = no HTTP */
	/* Reads the configuration as at the start. 0, or a negative errno and a sentence. */
	int (*configure)(void *ctx, struct watch_config *ret_config, char *why, size_t why_bytes);
	void *ctx;
	/* The operator's standing consent to ask runtimes for their perf maps (perf-maps), carried
	 * out: called with each slice. capturing: a capture is under way that is for somebody;
	 * process: whom one has just begun for (row of m), or MODEL_NONE. Must not wait. NULL:
	 * nobody is asked. */
	void (*maps)(void *ctx, const struct model *m, uint32_t process, bool capturing,
		     const struct watch_config *config);
	void *maps_ctx;
	unsigned int rights; /* enum rights_use, besides those of its own */
};

/* Runs. 0 after a stop on purpose; else a negative errno, with a sentence in why, of what has to be
 * mended before it can start: the configuration, the folder, another recorder in it, the port. */
int watch_run(const struct watch_options *options, char *why, size_t why_bytes);
#endif

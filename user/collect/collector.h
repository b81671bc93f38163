/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_COLLECTOR_H
#define HOTRUN_COLLECT_COLLECTOR_H
/*
 * What happens on this host, as a model that grows slice by slice: kernel session -> ingest ->
 * model <- names, without a file. Who uses it takes each slice out of the model (or leaves it
 * there) and forgets it: all of it (model_forget_slice()), or what is too old
 * (model_forget_before(), after which slices are numbered anew). No threads but the helper of the
 * names room.
 *
 *	collector_new(), collector_start()
 *	again and again: collector_drain(), and now and then collector_end_slice(), a look at
 *	    collector_model(), model_forget_slice(), collector_begin_slice()
 *	collector_stop(), collector_end_slice(), collector_free()
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/host.h"
#include "kernel/session.h"
#include "model/model.h"
#include "names/names.h"

struct collector;
struct service_signals;
struct stands;

/* How user stacks are walked. */
struct collector_stacks {
	bool by_fp;	     /* along frame pointers alone */
	unsigned int frames; /* kept of one stack; 0 = the session's default */
	size_t unwind_bytes; /* of the tables by which they are walked else; 0 = 64 MiB */
	bool is_calm;	     /* it runs for ever: unwind_feed_new() */
};

/* How closely it looks. */
struct collector_gear {
	/* No program at switches: CPU times and waits are those that the kernel counts, read once a
	 * slice. Only where it counts waits (session_can_be_quiet()). */
	bool quiet;
	uint32_t sample_every; /* ticks come at sample_hz / so many; 0 = 1 */
};

struct collector_options {
	uint32_t sample_hz;	    /* of the model, that samples stand for */
	struct collector_gear gear; /* to begin with */
	bool cycles;
	bool ignore_hazards;   /* host_check_hazards() */
	const uint32_t *tgids; /* -p; borrowed */
	size_t tgid_cnt;
	const char *cgroup;    /* --cgroup, or NULL; borrowed */
	const char *node_root; /* of the node's files (process/node.h), or NULL; borrowed */
	const char *command;   /* first word of -- CMD, or ""; borrowed */
	unsigned int names;    /* enum names_from */
	const char *host_name; /* what the host is called, NULL = by uname(2); borrowed */
	bool facts;    /* read /proc of all processes at the start, not only of those sampled */
	bool samples;  /* keep samples, with their frames named; without: accounts and books */
	bool requests; /* see requests, where this kernel can; without: OFF_REQUESTS */
	bool stands;   /* collector_read_stands(), where this kernel can */
	bool blocked;  /* blocked time with stacks (looks.h), in the full gear; else OFF_STANDS */
	bool wakers;   /* and who ends the waits that it finds, where this kernel can */
	/* Single switches and wakeups of so many seconds are kept in the kernel, for
	 * collector_take_switches(), in so many bytes: 0 = SWITCH_RING_BYTES; 0 s = none are. */
	double switches_s;
	size_t switches_bytes;
	uint64_t
		slow_ns; /* T of requests, 0 = the session's default; and of some ports; borrowed */
	const struct session_slow_port *slow_ports;
	size_t slow_port_cnt;
	/* Requests a second that are followed at the most: of more, on some connections that stand
	 * for all (collect/follow.h). 0 = all, however many. */
	uint32_t follow_most;
	/* The operator's own numbers, or NULL; borrowed. Taken into each slice before it closes. */
	struct service_signals *signals;
	void (*take_service_signals)(struct service_signals *signals, struct model *m);
	/* model_bytes() with ingest_bytes() beyond which the model is large (collector_is_large());
	 * 0 = about 400 MB. */
	size_t bytes_max;
	struct names_file_limits file_limits; /* of reading one file of a process */
	struct collector_stacks stacks;
};

/* Usual values of collector_options.follow_most: for somebody who looks, some 1 % of a CPU; and for
 * ever, a fifth of that. */
#define COLLECTOR_FOLLOW_USUAL	  20000u
#define COLLECTOR_FOLLOW_RESIDENT 4000u

/* The interval at which collector_drain() is to be called at the latest: the rings hold twice as
 * much on a busy host. ns. */
#define COLLECTOR_DRAIN_NS 1000000000ull

/* Checks the host, loads and attaches; nothing is sampled yet. On failure a sentence is in why, and
 * the result is a negative errno. *ret_collector is owned by the caller. */
int collector_new(const struct collector_options *options, char *why, size_t why_bytes,
		  struct collector **ret_collector);
/* Takes the baselines, starts to sample and begins the first slice. Errors as collector_new(). */
int collector_start(struct collector *c, char *why, size_t why_bytes);
/* Logs the start-up line: what is attached, and what is off and why. verb: "recording". */
void collector_announce(const struct collector *c, const char *verb);
/* Logs only what is off, as warnings. */
void collector_warn(const struct collector *c);

/* Takes what came since the last call into the slice. */
void collector_drain(struct collector *c);
/* Another follow_most, from the end of this slice on. */
void collector_follow(struct collector *c, uint32_t most);
/* Sleeps so long, at the most until a signal, or until fd (-1: none) can be read; a .NET process
 * that starts meanwhile is looked at within milliseconds, because it may be gone by the next
 * drain. */
void collector_pause(struct collector *c, uint64_t ns, int fd);
/* Takes the accounts and books, and closes the slice; the model is whole then. */
void collector_end_slice(struct collector *c);
/* The next collector_end_slice() adds the window of single switches that ends with it, as the one
 * after collector_stop() always does. Nothing, where none are kept. */
void collector_take_switches(struct collector *c);
/* Begins the next one, after the caller has forgotten what it took out of the model, which it may
 * do only here. 0 or -ENOMEM. */
int collector_begin_slice(struct collector *c);
/* For a view of one slice at a time: forgets all slices so far and what is in them, then begins
 * one. */
int collector_fresh_slice(struct collector *c);
/* When the current slice began. CLOCK_MONOTONIC ns. */
uint64_t collector_slice_start_ns(const struct collector *c);
/* Stops to sample; a last collector_end_slice() takes what is on its way. */
void collector_stop(struct collector *c);

/*
 * A view that runs for days: true when the model has become so large, with processes and threads
 * that ended long ago, that collector_renew() is due. Never while it is less than twice as large as
 * it began: what runs is what it holds.
 */
bool collector_is_large(const struct collector *c);
/* What naming costs besides this process; see names.h. */
struct names_cost collector_names_cost(const struct collector *c);

/* See names.h. */
size_t collector_most(const struct collector *c, struct ledger_use *ret_most, size_t max);
void collector_mark(struct collector *c);
void collector_set_aside(struct collector *c, const uint64_t *parties, size_t cnt);
uint32_t collector_face(const struct collector *c, uint64_t party);
/* CPU time of its helper processes so far, ns. Only grows. */
uint64_t collector_helpers_ns(struct collector *c);

/* Another bytes_max, and other limits of reading a file, from now on. */
void collector_set_bound(struct collector *c, size_t bytes, const struct names_file_limits *file);
/* Throws the model away and begins a fresh one with baselines of now; what happened since the last
 * slice is lost. For after collector_end_slice(), in place of collector_begin_slice(); who wants to
 * keep what the model holds copies it before (ring_retire()): nothing else refers to it. Errors as
 * collector_new(), after which only collector_free() is left. */
int collector_renew(struct collector *c, char *why, size_t why_bytes);

/* Another gear from the next collector_begin_slice() on: nothing is lost, and what cannot be told
 * of the change itself (1 us a thread) counts as unaccounted time of the CPUs. */
void collector_set_gear(struct collector *c, const struct collector_gear *gear);
/* The one that slices are in now. */
struct collector_gear collector_gear(const struct collector *c);

/* What a model has one of. */
struct collector_parts {
	uint32_t sample_hz;
	bool requests;
};
/*
 * As collector_renew(), and from there on with these parts: the programs are loaded anew (some
 * 0.3 s of CPU time), and nothing is observed meanwhile. sample_hz > 0.
 */
int collector_change(struct collector *c, const struct collector_parts *parts, char *why,
		     size_t why_bytes);
/* Those that it runs with; requests are not on because they are asked for:
 * collector_sees_requests(). */
struct collector_parts collector_parts(const struct collector *c);
/* What the BPF programs have cost so far, in ns: session_cost_ns() of all its sessions. Only
 * grows. */
uint64_t collector_bpf_ns(struct collector *c);

/* Bytes of its BPF maps and rings. */
size_t collector_map_bytes(const struct collector *c);

/* Reads the facts of a process that is to be shown: entry assembly, unit, container. Cheap where
 * they are there. */
void collector_name_process(struct collector *c, uint32_t process);

/* What works and what does not, with the reason. */
void collector_features(const struct collector *c, struct feature_set *ret_features);
bool collector_sees_requests(const struct collector *c);

/*
 * Where the threads of these processes (rows; none = of all) stand now, their stacks named in the
 * model, after collector_start(). For tables and names so much time is taken at the most. Who runs
 * has the stack of its last tick, if there was one. For once in the life of a collector: frames
 * without a name by then stay so. *stands is emptied first. 0, or negative errno, -ENOTSUP where
 * FEATURE_THREAD_STACKS is off.
 */
int collector_read_stands(struct collector *c, const uint32_t *processes, size_t cnt, uint64_t ns,
			  struct stands *stands);
/* The same into rows of the current slice (model_stand.now), named with it: where every thread
 * stands at this moment. For threads of what is selected; all else is as it was. Errors as before;
 * with options.blocked collector_stop() does it. */
int collector_look_at_all(struct collector *c);
/* Whether user stacks are walked by tables. */
bool collector_walks_by_tables(const struct collector *c);

/* Borrowed until collector_renew() and collector_free(). */
struct model *collector_model(struct collector *c);
/* Since the start. */
uint64_t collector_samples(const struct collector *c);
uint64_t collector_start_ns(const struct collector *c);

/* Takes NULL and half-built objects. */
void collector_free(struct collector *c);
#endif

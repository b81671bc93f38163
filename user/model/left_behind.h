/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_LEFT_BEHIND_H
#define HOTRUN_MODEL_LEFT_BEHIND_H
/*
 * What is known from outside of a process that others may have left standing: its threads' states,
 * who traces it, whether its group is frozen, and of a .NET process what waits, is written or is
 * loaded in it. Read by process/left_behind.h, judged by judge/recover.h, shown by
 * output/recover.h: one struct for all of them. Texts are the processes' own, hostile. Pure.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/dotnet_process.h"

#define LEFT_COMM_BYTES 64
#define LEFT_PORT_BYTES 108 /* sun_path */
#define LEFT_PORTS_MAX	4u

/* Another process that has to do with it. */
struct left_other {
	uint32_t tgid; /* 0 = none, or none that can be seen from this pid namespace */
	uint64_t start_ticks;
	char comm[LEFT_COMM_BYTES];
	char state; /* of /proc/PID/stat; 0 = gone by now, or not readable */
};

#define LEFT_TRACERS_MAX 4u

/* A process that traces threads of it, by one thread of its own or several. */
struct left_tracer {
	struct left_other who; /* its state is that of the thread that traces */
	uint32_t tid;	       /* that thread; 0 = of another pid namespace */
	uint32_t held_cnt;     /* threads that stand in a trace stop for it */
};

enum left_freezer {
	LEFT_NOT_FROZEN,
	LEFT_FROZEN_V1, /* freezer.state */
	LEFT_FROZEN_V2, /* cgroup.events, cgroup.freeze */
};

struct left_freeze {
	enum left_freezer frozen;
	bool freezing;		/* not all of its processes stand yet */
	bool found;		/* group is the one that was frozen itself, it or one above */
	char group[PATH_MAX];	/* folder below /sys/fs/cgroup; "" not known */
	uint32_t processes_cnt; /* in it and below, as far as they were counted */
	bool processes_cut;	/* it has more */
	bool unseen;		/* whether it is frozen cannot be told from here */
};

/* A port at which a runtime waits at its start until it is told to go on. */
struct left_port {
	bool by_default;	    /* its usual diagnostics socket; no path */
	char path[LEFT_PORT_BYTES]; /* to which it connects, as the process names it */
	bool answered;		    /* somebody is seen to listen there */
};

struct left_dotnet {
	bool is;	    /* a .NET process */
	bool has_finalizer; /* its start is over: managed code runs after that thread is made */
	uint32_t ports_cnt;
	struct left_port ports[LEFT_PORTS_MAX]; /* those that suspend */
	enum dotnet_map map;
	char map_path[PATH_MAX];
	enum dotnet_socket socket;
	uint32_t sessions_cnt;		  /* connections to its diagnostics socket that stay */
	char profiler[DOTNET_NAME_BYTES]; /* library of another profiler, "" none */
	bool profiler_exports;		  /* it was seen to export DllGetClassObject */
};

struct left_process {
	uint32_t tgid;
	uint64_t start_ticks;
	uint64_t age_ns;
	char comm[LEFT_COMM_BYTES];
	char name[DOTNET_NAME_BYTES]; /* for people; comm where nothing better is known */
	char unit[DOTNET_NAME_BYTES], container[DOTNET_NAME_BYTES]; /* "" none */
	char state;						    /* of its first thread */
	bool kernel;						    /* a kernel thread */
	struct left_other parent;
	uint32_t session;	 /* 0 = of another pid namespace */
	bool has_terminal;	 /* a controlling one */
	bool core_dumping;	 /* the kernel writes its core */
	uint32_t threads_cnt;	 /* that were looked at */
	bool threads_cut;	 /* it has more */
	uint32_t stopped_cnt;	 /* state T */
	uint32_t trace_stop_cnt; /* state t */
	uint32_t traced_cnt;	 /* have a tracer */
	/* Of those that are stopped, in T or t: how often they went off a CPU; and whether that or
	 * their number was another one in a look before: then they are not left, but at work. */
	uint64_t stopped_switches;
	bool moves;
	uint64_t switches; /* of all threads */
	bool wants_cpu;	   /* any of them is in state R */
	/* Those that hold threads in a trace stop first. */
	struct left_tracer tracers[LEFT_TRACERS_MAX];
	uint32_t tracers_cnt;
	bool tracers_cut; /* it has more */
	struct left_freeze freeze;
	struct left_dotnet dotnet;
};
#endif

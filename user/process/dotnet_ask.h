/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_DOTNET_ASK_H
#define HOTRUN_PROCESS_DOTNET_ASK_H
/*
 * Asks a .NET runtime over its diagnostics socket to write its perf map, or to stop it, or to go on
 * at its start. A target takes part in nothing else that hotrun does: only on the user's word. What
 * could do harm is checked before, since the runtime follows links and truncates what lies at the
 * path; what came of it is verified after, since the runtime says OK also where it could not create
 * the file. The connection comes from the helper process (opener.h); that it leads to the very
 * process is checked by the credentials of the one at the other end. Between check and request the
 * path may change; in directories like /tmp fs.protected_symlinks=1 then keeps the runtime from
 * following a link (0 is the kernel's own default: doctor warns of it). One thread for a struct
 * file_requests.
 *
 * What is asked, in the target (measured on 10.0.12): its diagnostics thread writes all methods
 * compiled so far, some 10 ms for a thousand, and code compiled meanwhile waits for it.
 */
#include "process/dotnet.h"

/* A runtime younger than this is not asked: early releases of .NET 10 crashed when the request met
 * their start-up. */
#define DOTNET_AGE_MIN_NS 1000000000ull

enum dotnet_outcome {
	DOTNET_DONE,
	DOTNET_ALREADY, /* the map is written; or to be switched off, it is not */
	DOTNET_TOO_YOUNG,
	DOTNET_TOO_OLD,	  /* a runtime before .NET 8 */
	DOTNET_NATIVE,	  /* NativeAOT: has no JIT code to name */
	DOTNET_PATH,	  /* target.process.map_refusal */
	DOTNET_NO_SOCKET, /* target.process.socket; or none could be connected to (error) */
	DOTNET_NO_RIGHT,  /* to look at the process or to connect */
	DOTNET_FOREIGN,	  /* another process listens there */
	DOTNET_SILENT,	  /* no answer in time; it may act on the request later */
	DOTNET_GARBAGE,	  /* what answers is not a runtime */
	DOTNET_HUNG_UP,	  /* closed without an answer */
	DOTNET_SAYS_NO,	  /* hresult */
	DOTNET_NO_FILE,	  /* said OK, but no file that it writes is there */
	DOTNET_GOES_ON,	  /* said OK to stop, but still has the file open */
	DOTNET_NO_ANSWER, /* the process's file system or /proc did not answer */
	DOTNET_NOT_DOTNET,
	DOTNET_GONE,
	DOTNET_INTERRUPTED, /* by a signal */
	DOTNET_FAILED,	    /* error */
};

struct dotnet_switch {
	enum dotnet_outcome outcome;
	int error;		     /* -errno, where outcome says so */
	uint32_t hresult;	     /* SAYS_NO */
	uint64_t round_trip_ns;	     /* of the exchange alone, 0 = was not asked */
	bool may_be_on;		     /* it was asked to switch on and did not refuse */
	struct dotnet_target target; /* as it looks after it; zeroed with no look at all */
};

/*
 * Switches the map of a process on, or off. start_ticks: of the one that is meant, 0 = whichever
 * has the pid. timeout_ns: for the answer; looks take what the file requests allows.
 */
void dotnet_enable(struct file_requests *requests, uint32_t tgid, uint64_t start_ticks,
		   uint64_t timeout_ns, struct dotnet_switch *ret_switch);
void dotnet_disable(struct file_requests *requests, uint32_t tgid, uint64_t start_ticks,
		    uint64_t timeout_ns, struct dotnet_switch *ret_switch);

/*
 * Takes back a request to switch on that was not answered (DOTNET_SILENT): the runtime answers one
 * after the other, so one to switch off waits behind it. DOTNET_SILENT again where that is not
 * answered in time either; the map then is off once the runtime comes to it.
 */
void dotnet_withdraw(struct file_requests *requests, uint32_t tgid, uint64_t start_ticks,
		     uint64_t timeout_ns, struct dotnet_switch *ret_switch);

/* Asks for the version where neither path nor file told it; leaves it "" where that fails, and
 * where the runtime is younger than DOTNET_AGE_MIN_NS. A request like any other, but changes
 * nothing. */
void dotnet_ask_version(struct file_requests *requests, uint64_t timeout_ns,
			struct dotnet_target *target);

/*
 * Tells a runtime that waits at its start to go on, over the port that it waits at: it counts at
 * that port alone. path: to which the runtime connects, as it names it; hotrun listens there in the
 * stead of the tool that is gone, DOTNET_FOREIGN where somebody does already. "": the usual
 * diagnostics socket, where the runtime listens. An act on targets: of `hotrun recover --resume`
 * alone. DOTNET_DONE: it answered that it does.
 */
void dotnet_resume(struct file_requests *requests, const struct dotnet_target *target,
		   const char *path, uint64_t timeout_ns, struct dotnet_switch *ret_switch);

/* What came of it and what can be done, as a sentence without the process: hostile parts (paths)
 * are escaped. Always terminated. */
void dotnet_switch_text(const struct dotnet_switch *s, char *buf, size_t buf_bytes);
/* The same of dotnet_resume(). */
void dotnet_resume_text(const struct dotnet_switch *s, char *buf, size_t buf_bytes);
#endif

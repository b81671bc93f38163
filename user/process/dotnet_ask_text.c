/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What came of a request, in words; see dotnet_ask.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "perfmap/socket/diagnostics.h"
#include "process/dotnet_ask.h"

/* Paths are longer than anybody reads; escaped they may be four times as long. */
#define PATH_SHOWN 256

static const char *socket_why(const struct dotnet_switch *s)
{
	const struct dotnet_process *p = &s->target.process;

	if (p->socket == DOTNET_SOCKET_STALE || s->error == -ESTALE)
		return "only the diagnostics socket of an earlier process with this pid is there";
	if (p->socket == DOTNET_SOCKET_UNSAFE || s->error == -EPERM || s->error == -ENOTSOCK)
		return "what lies at the path of its diagnostics socket is not its own";
	if (s->error == -ECONNREFUSED)
		return "nobody listens at its diagnostics socket any more";
	if (p->diagnostics_off)
		return "it has no diagnostics socket: started with DOTNET_EnableDiagnostics=0; "
		       "only a restart with DOTNET_PerfMapEnabled=3 gives it a map";
	if (p->native_aot)
		return "it has no diagnostics socket: built without EventSourceSupport";
	return "it has no diagnostics socket: its temporary directory was not writable, or "
	       "somebody "
	       "removed the socket; only a restart with DOTNET_PerfMapEnabled=3 gives it a map";
}

static void write_done(const struct dotnet_switch *s, const char *path, char *buf, size_t buf_bytes)
{
	const struct dotnet_process *p = &s->target.process;
	double round_trip_ms = (double)s->round_trip_ns / 1e6;

	if (dotnet_is_writing(p))
		snprintf(buf, buf_bytes,
			 "switched on in %.1f ms: %s, %llu bytes, %llu methods of %llu entries",
			 round_trip_ms, path, (unsigned long long)p->map_bytes,
			 (unsigned long long)p->map_methods, (unsigned long long)p->map_entries);
	else if (p->map_ino)
		snprintf(buf, buf_bytes, "switched off in %.1f ms; its file stays: %s, %llu bytes",
			 round_trip_ms, path, (unsigned long long)p->map_bytes);
	else
		snprintf(buf, buf_bytes, "switched off in %.1f ms", round_trip_ms);
}

static void write_already(const struct dotnet_process *p, const char *path, char *buf,
			  size_t buf_bytes)
{
	if (dotnet_is_writing(p))
		snprintf(buf, buf_bytes, "its map is on already, nothing asked: %s, %llu entries",
			 path, (unsigned long long)p->map_entries);
	else
		snprintf(buf, buf_bytes, "it writes no map, nothing asked");
}

/* Outcomes whose words do not depend on anything. */
static const char *const fixed[] = {
	[DOTNET_TOO_YOUNG] =
		"refused: its runtime started less than a second ago, and early releases of "
		".NET 10 crash when asked then; ask again in a moment",
	[DOTNET_NATIVE] =
		"compiled ahead of time (NativeAOT): it has no JIT code, its names are in "
		"the symbols of its file",
	[DOTNET_NO_RIGHT] = "no permission: be its user, or root with the capabilities SYS_PTRACE "
			    "and DAC_OVERRIDE (its socket is for its user alone)",
	[DOTNET_FOREIGN] = "refused: another process listens at its diagnostics socket",
	[DOTNET_SILENT] = "no answer at its diagnostics socket: it is stopped, short of CPU time, "
			  "or hung, and "
			  "may still act on the request; look with `hotrun perfmap status`",
	[DOTNET_GARBAGE] = "what answers at its diagnostics socket is no .NET runtime",
	[DOTNET_HUNG_UP] = "its diagnostics socket was closed without an answer",
	[DOTNET_NO_ANSWER] = "its file system or /proc entry did not answer in time",
	[DOTNET_NOT_DOTNET] = "not a .NET process",
	[DOTNET_GONE] = "no such process",
	[DOTNET_INTERRUPTED] =
		"interrupted before the runtime answered; look with `hotrun perfmap status`",
	[DOTNET_FAILED] = NULL,
};

void dotnet_switch_text(const struct dotnet_switch *s, char *buf, size_t buf_bytes)
{
	const struct dotnet_process *p = &s->target.process;
	char path[PATH_SHOWN];

	text_copy_safe(path, sizeof(path), p->map_path, strlen(p->map_path));
	switch (s->outcome) {
	case DOTNET_DONE:
		write_done(s, path, buf, buf_bytes);
		return;
	case DOTNET_ALREADY:
		write_already(p, path, buf, buf_bytes);
		return;
	case DOTNET_TOO_OLD:
		snprintf(buf, buf_bytes,
			 "its runtime is .NET %lu, and before .NET 8 none can be asked; only a "
			 "restart with DOTNET_PerfMapEnabled=1 gives it a map",
			 strtoul(p->version, NULL, 10));
		return;
	case DOTNET_PATH:
		snprintf(buf, buf_bytes, "refused: its map would be %s, and %s", path,
			 dotnet_refusal_text(p->map_refusal));
		return;
	case DOTNET_NO_SOCKET:
		snprintf(buf, buf_bytes, "%s", socket_why(s));
		return;
	case DOTNET_SAYS_NO:
		snprintf(buf, buf_bytes, "the runtime refused: %s (0x%08x)",
			 diagnostics_error_text(s->hresult), s->hresult);
		return;
	case DOTNET_NO_FILE:
		snprintf(buf, buf_bytes,
			 "the runtime said OK but writes no file at %s: a full disk, a quota, or a "
			 "security module keeps it from doing so",
			 path);
		return;
	case DOTNET_GOES_ON:
		snprintf(buf, buf_bytes, "the runtime said OK but still has %s open; ask again",
			 path);
		return;
	default:
		snprintf(buf, buf_bytes, "%s",
			 fixed[s->outcome] ? fixed[s->outcome] : strerror(-s->error));
	}
}

void dotnet_resume_text(const struct dotnet_switch *s, char *buf, size_t buf_bytes)
{
	const char *text;

	switch (s->outcome) {
	case DOTNET_FOREIGN:
		text = "a tool listens there: that one is to say when it goes on, or to be ended";
		break;
	case DOTNET_NO_SOCKET:
		text = s->error == -ENOENT ? "its folder, or the socket, is not there; make the "
					     "folder, and try again"
		       : s->error == -ENOTSOCK ? "something else lies there"
		       : s->error == -EPERM
			       ? "the process itself may not make a socket there, or another "
				 "user's lies there, and hotrun makes none in its stead: remove "
				 "what lies there, or start the tool that it waits for"
		       : s->error == -ECONNREFUSED ? "nobody listens there"
						   : strerror(-s->error);
		break;
	case DOTNET_SILENT:
		text = "its runtime was not heard of in time";
		break;
	default:
		dotnet_switch_text(s, buf, buf_bytes);
		return;
	}
	snprintf(buf, buf_bytes, "%s", text);
}

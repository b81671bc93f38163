/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/dotnet_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct words {
	const char *text, *id;
};

static const struct words map_words[] = {
	[DOTNET_MAP_SINCE_START] = {"on since start", "since-start"},
	[DOTNET_MAP_SWITCHED_ON] = {"switched on", "switched-on"},
	[DOTNET_MAP_SWITCHED_OFF] = {"switched off", "switched-off"},
	[DOTNET_MAP_DELETED] = {"file deleted", "deleted"},
	[DOTNET_MAP_ABSENT] = {"absent", "absent"},
	[DOTNET_MAP_STALE] = {"stale file", "stale"},
	[DOTNET_MAP_UNWRITABLE] = {"unwritable", "unwritable"},
	[DOTNET_MAP_UNSAFE] = {"unsafe file", "unsafe"},
	[DOTNET_MAP_DENIED] = {"no permission", "denied"},
	[DOTNET_MAP_UNKNOWN] = {"no answer", "unknown"},
};

static const struct words socket_words[] = {
	[DOTNET_SOCKET_THERE] = {"there", "there"},
	[DOTNET_SOCKET_ABSENT] = {"absent", "absent"},
	[DOTNET_SOCKET_STALE] = {"stale", "stale"},
	[DOTNET_SOCKET_UNSAFE] = {"not its own", "unsafe"},
	[DOTNET_SOCKET_DENIED] = {"no permission", "denied"},
	[DOTNET_SOCKET_UNKNOWN] = {"no answer", "unknown"},
};

static const struct words found_words[] = {
	[DOTNET_BY_LIBRARY] = {"libcoreclr.so", "library"},
	[DOTNET_BY_EXECUTABLE] = {"executable", "executable"},
	[DOTNET_BY_DOUBLEMAPPER] = {"JIT memory", "doublemapper"},
	[DOTNET_BY_SOCKET] = {"socket", "socket"},
};

const char *dotnet_map_text(enum dotnet_map map)
{
	return map_words[map].text;
}

const char *dotnet_socket_text(enum dotnet_socket socket)
{
	return socket_words[socket].text;
}

const char *dotnet_found_text(enum dotnet_found found)
{
	return found_words[found].text;
}

const char *dotnet_map_id(enum dotnet_map map)
{
	return map_words[map].id;
}

const char *dotnet_socket_id(enum dotnet_socket socket)
{
	return socket_words[socket].id;
}

const char *dotnet_found_id(enum dotnet_found found)
{
	return found_words[found].id;
}

bool dotnet_has_map(const struct dotnet_process *p)
{
	return p->map == DOTNET_MAP_SINCE_START || p->map == DOTNET_MAP_SWITCHED_ON;
}

bool dotnet_is_writing(const struct dotnet_process *p)
{
	return dotnet_has_map(p) || p->map == DOTNET_MAP_DELETED;
}

bool dotnet_is_old(const struct dotnet_process *p)
{
	return *p->version && strtoul(p->version, NULL, 10) < DOTNET_MAJOR_MIN;
}

const char *dotnet_refusal_text(int refusal)
{
	switch (refusal) {
	case 0:
		return "nothing is in the way";
	case -ELOOP:
		return "a symbolic link lies there, and the runtime would overwrite what it leads "
		       "to";
	case -ENOTSUP:
		return "what lies there is no regular file, and the runtime would write into it";
	case -EPERM:
		return "a file of another user lies there, and the runtime would overwrite it";
	case -EMLINK:
		return "the file there has another name as well (a hard link), and the runtime "
		       "would overwrite it";
	case -EEXIST:
		return "somebody put something there just now, which the runtime would overwrite";
	case -ENOENT:
		return "the process has no such directory";
	case -EROFS:
		return "the file system is read-only; give the container a writable /tmp";
	case -EACCES:
		return "the process may not write there";
	case -ETIMEDOUT:
		return "its file system does not answer";
	default:
		return strerror(-refusal);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/entry.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct args {
	const char *pos, *end;
};

/* The next argument, terminated or cut by the end of the buffer. */
static bool next(struct args *args, const char **ret_arg, size_t *ret_len)
{
	if (args->pos >= args->end)
		return false;
	*ret_arg = args->pos;
	*ret_len = strnlen(args->pos, (size_t)(args->end - args->pos));
	args->pos += *ret_len + 1;
	return true;
}

static bool is(const char *arg, size_t len, const char *word)
{
	return len == strlen(word) && !memcmp(arg, word, len);
}

static bool takes_value(const char *arg, size_t len)
{
	static const char *const options[] = {
		"--argv0",
		"--audit",
		"--glibc-hwcaps-mask",
		"--glibc-hwcaps-prepend",
		"--inhibit-rpath",
		"--library-path",
		"--preload",
		"--additionalprobingpath",
		"--additional-deps",
		"--depsfile",
		"--fx-version",
		"--roll-forward",
		"--roll-forward-on-no-candidate-fx",
		"--runtimeconfig",
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (is(arg, len, options[i]))
			return true;
	return false;
}

/* Commands of the SDK are words like "build" and "add-package"; anything else is not shown. */
static bool is_word(const char *arg, size_t len)
{
	if (!len || len > 32)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((arg[i] < 'a' || arg[i] > 'z') && arg[i] != '-')
			return false;
	return arg[0] != '-';
}

static size_t stem_len(const char *name, size_t len)
{
	if (len > 4 &&
	    (!strncasecmp(name + len - 4, ".dll", 4) || !strncasecmp(name + len - 4, ".exe", 4)))
		return len - 4;
	return 0;
}

static void name_of(const char *arg, size_t len, char ret_name[ENTRY_BYTES])
{
	const char *slash = memrchr(arg, '/', len);
	const char *base = slash ? slash + 1 : arg;
	size_t base_len = len - (size_t)(base - arg);
	size_t stem = stem_len(base, base_len);

	if (stem)
		snprintf(ret_name, ENTRY_BYTES, "%.*s",
			 (int)(stem < ENTRY_BYTES ? stem : ENTRY_BYTES), base);
	else if (is_word(arg, len))
		snprintf(ret_name, ENTRY_BYTES, "dotnet %.*s", (int)len, arg);
}

const char *entry_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The dynamic loader, called as a program: "ld-linux-x86-64.so.2", "ld-musl-x86_64.so.1". */
static bool is_loader(const char *exe)
{
	return !strncmp(exe, "ld-linux", 8) || !strncmp(exe, "ld-musl-", 8) ||
	       !strncmp(exe, "ld-2.", 5);
}

bool entry_is_host(const char *exe)
{
	const char *name = entry_basename(exe);

	return !strcmp(name, "dotnet") || is_loader(name);
}

/* The next argument that is no option. */
static bool next_word(struct args *args, const char **ret_arg, size_t *ret_len)
{
	while (next(args, ret_arg, ret_len)) {
		if (takes_value(*ret_arg, *ret_len)) {
			if (!next(args, ret_arg, ret_len))
				return false;
		} else if (*ret_len && **ret_arg != '-') {
			return true;
		}
	}
	return false;
}

void entry_name(const char *exe, const char *cmdline, size_t cmdline_len,
		char ret_name[ENTRY_BYTES])
{
	struct args args = {.pos = cmdline, .end = cmdline + cmdline_len};
	const char *arg, *slash;
	size_t len;

	ret_name[0] = '\0';
	if (!entry_is_host(exe))
		return;
	if (!next(&args, &arg, &len)) /* argv[0] */
		len = 0;
	snprintf(ret_name, ENTRY_BYTES, "%s", entry_basename(exe));
	if (is_loader(ret_name)) {
		if (!next_word(&args, &arg, &len))
			return;
		slash = memrchr(arg, '/', len);
		snprintf(ret_name, ENTRY_BYTES, "%.*s",
			 (int)(slash ? arg + len - slash - 1 : (ptrdiff_t)len),
			 slash ? slash + 1 : arg);
		if (strcmp(ret_name, "dotnet"))
			return;
	}
	while (next_word(&args, &arg, &len)) {
		if (is(arg, len, "exec"))
			continue;
		name_of(arg, len, ret_name);
		return;
	}
}

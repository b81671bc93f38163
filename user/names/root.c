/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/root.h"

#include <string.h>

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* First functions of threads and programs: glibc, musl, Go. */
static bool is_root_name(const char *name)
{
	static const char *const names[] = {
		"_start",   "start_thread", "thread_start", "clone",	      "__clone", "clone3",
		"__clone3", "start",	    "_start_c",	    "_dl_start_user", "rt0_go",	 "main",
	};
	static const char *const prefixes[] = {
		"__libc_start_main", "__libc_start_call_main", "libc_start_main", "runtime.goexit",
		"runtime.mstart",    "runtime.clone",	       "runtime.rt0_go",  "_rt0_",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (starts_with(name, prefixes[i]))
			return true;
	return false;
}

static bool is_libc(const char *module)
{
	return starts_with(module, "libc.so") || starts_with(module, "libc-") ||
	       starts_with(module, "libc.musl") || starts_with(module, "libpthread") ||
	       starts_with(module, "ld-linux") || starts_with(module, "ld-musl");
}

bool root_reached(const struct model_symbol *root, const struct model_symbol *inner,
		  const char *exe)
{
	if (root->kind != KIND_NATIVE)
		return false;
	if (root->reason == REASON_NAMED)
		return is_root_name(root->name);
	if (!inner)
		return false;
	if (is_libc(root->module))
		return !is_libc(inner->module);
	return *exe && !strcmp(root->module, exe);
}

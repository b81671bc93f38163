/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct sink {
	char *buf;
	size_t len;
	jmp_buf full;
};

/*
 * Takes the next piece. The callback has no way to say "enough", and substitutions make output grow
 * exponentially, so a full buffer leaves by longjmp: the printers keep their state on the stack (a
 * Rust name in punycode may lose one small buffer).
 */
static void put(const char *piece, size_t len, void *opaque)
{
	struct sink *sink = opaque;

	if (len >= DEMANGLE_OUTPUT_MAX - sink->len)
		longjmp(sink->full, 1);
	memcpy(sink->buf + sink->len, piece, len);
	sink->len += len;
}

bool demangle_name(const char *mangled, char buf[DEMANGLE_OUTPUT_MAX])
{
	struct sink sink = {.buf = buf};
	bool cpp = !strncmp(mangled, "_Z", 2), rust = !strncmp(mangled, "_R", 2);

	if ((!cpp && !rust) || strnlen(mangled, DEMANGLE_INPUT_MAX + 1) > DEMANGLE_INPUT_MAX)
		return false;
	if (setjmp(sink.full))
		return false;
	/* Rust's legacy form is also valid C++: ask for it first. */
	if (!rust_demangle_callback(mangled, DMGL_NO_OPTS, put, &sink)) {
		sink.len = 0;
		if (!cpp || !cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, put, &sink))
			return false;
	}
	buf[sink.len] = '\0';
	return sink.len > 0;
}

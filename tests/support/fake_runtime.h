/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FAKE_RUNTIME_H
#define HOTRUN_TESTS_FAKE_RUNTIME_H
/*
 * An ELF program as a single-file .NET application looks from outside: it exports
 * DotNetRuntimeInfo.
 */
#include <stddef.h>
#include <stdint.h>

#define FAKE_RUNTIME_BYTES 0x800

struct fake_runtime {
	const char *symbol;  /* exported name */
	const char *section; /* name of one more section */
	int32_t info_version;
	int32_t numbers[4]; /* of the runtime */
};

/* Fills image[FAKE_RUNTIME_BYTES]. */
void fake_runtime(const struct fake_runtime *runtime, uint8_t *image);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_STRINGS_H
#define HOTRUN_EXPORT_STRINGS_H
/*
 * Strings by number, in the order of their first use: tables of strings, which several formats
 * have. Each is made safe before (text_copy_utf8()): valid UTF-8 without control and direction
 * characters. No threads.
 */
#include "base/hash.h"
#include "model/model.h"

struct strings {
	MODEL_TABLE(char *, rows);
	struct hash_index index;
	/* Told of each that is new, or NULL. */
	void (*on_new)(void *ctx, uint32_t number, const char *string);
	void *ctx;
	char safe[3 * MODEL_MAX_STRING + 1];
};

/* NULL is "". 0 or -ENOMEM. */
int strings_number(struct strings *s, const char *string, uint32_t *ret_number);
/* Takes a zeroed one. */
void strings_clear(struct strings *s);
#endif

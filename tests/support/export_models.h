/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_EXPORT_MODELS_H
#define HOTRUN_TESTS_EXPORT_MODELS_H
/*
 * Captures made by hand that each export format is written of, and what it writes.
 */
#include "export/options.h"

enum export_model {
	EXPORT_EMPTY,
	EXPORT_ONE,	/* one sample */
	EXPORT_SHOP,	/* a service in a pod, slow for a while, and nginx */
	EXPORT_HOSTILE, /* names of all kinds are build_hostile_names[] */
	EXPORT_UNKNOWN, /* nobody knows who waited, nor where threads stood */
	EXPORT_OLDER,	/* of a version that knew samples alone */
	EXPORT_DEEP,	/* a stack of as many frames as are kept */
	EXPORT_MODELS
};
extern const char *const export_model_names[EXPORT_MODELS];
struct model *export_model(enum export_model which);

/* What EXPORT_SHOP has, by weight; ms of blocked time without idle waits. */
extern const uint64_t export_shop_totals[EXPORT_WEIGHTS];

typedef int (*export_write)(FILE *out, struct model *m, const struct export_options *options);
/* What it writes, owned by the caller and ended by a NUL byte. Failures end the criterion test. */
char *export_text(export_write write, struct model *m, struct export_options options,
		  size_t *ret_len);
/* Likewise as text whose parts can be looked for; that it has that one. m is taken. */
void export_says(export_write write, struct model *m, struct export_options options,
		 const char *expected);
#endif

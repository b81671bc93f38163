/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_ABOUT_H
#define HOTRUN_EXPORT_ABOUT_H
/*
 * What several formats tell of a capture, its processes, threads and files. Pure; no threads.
 */
#include "export/options.h"
#include "judge/role.h"

struct export_about {
	char text[256]; /* "hotrun 0.1.0 on web-1, Linux 6.1.0, 2 CPUs, 99 Hz": untrusted bytes */
	int64_t wall_start_ns; /* since 1970, 0 = not known */
	uint64_t start_ns;     /* monotonic, as all times of the model */
	uint64_t length_ns;
};

void about_of(struct export_about *ret_about, const struct model *m);

/* Which weights the capture knows, and so many bits of sampled_new(): on-CPU samples in any case,
 * who waited unless no sample could tell, blocked time unless nobody looked. */
unsigned int about_known(const struct model *m, const struct export_options *options,
			 bool ret_known[static EXPORT_WEIGHTS]);

/* What the file is of: the processes that were asked for, else the host. Untrusted bytes. */
const char *about_subject(const struct model *m, const struct export_options *options);

/* The role of a thread for people (judge/role.h). Untrusted bytes. */
void about_role(char ret_role[static ROLE_LABEL_BYTES], const struct model *m, uint32_t thread);

/* In hex, "" where it is not known. */
#define ABOUT_BUILD_ID_BYTES (2 * BUILD_ID_MAX + 1)
void about_build_id(char ret_hex[static ABOUT_BUILD_ID_BYTES], const struct model_module *module);
#endif

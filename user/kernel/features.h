/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_FEATURES_H
#define HOTRUN_KERNEL_FEATURES_H
/*
 * Loads the BPF object with what the features that are on need (base/feature.h), and nothing else.
 * When the kernel refuses a program, libbpf says which one: the row that owns it is switched off
 * and the rest is loaded again, at most once for each row. Private to this module. No threads.
 */
#include <stddef.h>

#include "base/feature.h"

struct hotrun_bpf;

/* Before each load: sizes, constants, alternative programs left out. It may switch features off. 0
 * or negative errno, which ends it. */
typedef int (*features_configure_fn)(void *ctx, struct hotrun_bpf *bpf);

/*
 * 0, with the object, owned, and each feature of the set on or off with its reason; also where all
 * are off. Negative errno where it is not for one program or map: then a sentence for people is in
 * why.
 */
int features_load(struct feature_set *set, features_configure_fn configure, void *ctx, char *why,
		  size_t why_bytes, struct hotrun_bpf **ret_bpf);

/*
 * Attaches a program of the object that was loaded; one that was not is left out, as is one that is
 * attached already. Where the kernel refuses, the feature is off. Returns whether it is attached.
 */
struct bpf_program;
struct bpf_link;
bool features_attach(struct feature_set *set, enum feature f, struct bpf_program *program,
		     struct bpf_link **link);
#endif

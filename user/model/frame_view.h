/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_FRAME_VIEW_H
#define HOTRUN_MODEL_FRAME_VIEW_H
/*
 * How a person wants to read the frames of a capture: raw names, just my code. Each call changes
 * the model that was read, before anything is made of it; samples, accounts and files stay as they
 * are. Pure; no threads.
 *
 * Just my code: paths.h then hands out application frames only. What they call in frameworks,
 * runtime and kernel counts as their own; frames between the root of the thread and its first
 * application frame are left out. A sample without any application frame is two frames,
 * "[framework]" and the module that tells most of it: that of the deepest managed frame, else of
 * the runtime, else of any file; one of kernel frames alone is "[kernel]". So every sample is
 * counted once, as before. Two things are never folded: notes ("[broken stack]": the root is lost,
 * an application frame may be among it), and JIT code without a name, which may be anybody's.
 */
#include "model/model.h"

/* Whose code the modules are whose name matches: '*' any bytes, '?' one, ASCII case apart. */
struct frame_view_rule {
	const char *glob; /* borrowed for the call */
	bool mine;
};

/* Each method by the text that its source has for it, without its tier: one row a raw name. */
void frame_view_raw_names(struct model *m);

/*
 * Judges anew which symbols are application code. Managed: as recorded (the assembly is none of
 * System.*, Microsoft.*, ...). Native: the program itself and its own libraries, that is, files
 * outside of /lib* and /usr/lib* that are no part of the .NET runtime. Then the last rule that
 * matches the module (assembly or file name; ".dll" may be left out) decides. Kernel and stubs are
 * never application. Returns 0 or -ENOMEM.
 */
int frame_view_mark_code(struct model *m, const struct frame_view_rule *rules, size_t cnt);

/* True for native libraries that are the .NET runtime, by the name of the file. */
bool frame_view_is_runtime(const char *file);

bool frame_view_glob_matches(const char *glob, const char *text, size_t len);
#endif

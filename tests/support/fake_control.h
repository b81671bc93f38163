/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FAKE_CONTROL_H
#define HOTRUN_TESTS_FAKE_CONTROL_H
/*
 * A recorder's side of the control socket that notes what it is asked, in the working directory of
 * the test. Helpers end the test where they fail.
 */
#include "watch/control.h"

#define FAKE_CONTROL_NAME "web1-20261121T191202Z-trigger.hotrun"

struct fake_control {
	unsigned int triggers;
	uint64_t before_ns, after_ns; /* of the last */
	int err;		      /* what it says to a trigger; 0: begins FAKE_CONTROL_NAME */
	const char *why;
};

/* The working directory, open. */
int fake_control_dir(void);
/* Serves there; f is borrowed. */
struct control *fake_control_serve(int dir, struct fake_control *f);
/* A caller without manners: a connection that does not block, or negative errno. */
int fake_control_call(void);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_RELEASE_H
#define HOTRUN_KERNEL_RELEASE_H
/* How new the kernel is, for what it has no other sign of. Private to this room. */
#include <stdbool.h>

/* By uname(2); false where that is not to be read. */
bool release_is_from(unsigned int major, unsigned int minor);
#endif

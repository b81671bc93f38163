/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/release.h"

#include <stdio.h>
#include <sys/utsname.h>

bool release_is_from(unsigned int major, unsigned int minor)
{
	unsigned int is_major = 0, is_minor = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &is_major, &is_minor) != 2)
		return false;
	return is_major > major || (is_major == major && is_minor >= minor);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse/container.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check(bool found, const struct container_names *names)
{
	if (found && !names->name[0] && !names->pod[0])
		abort();
	if (!memchr(names->name, 0, sizeof(names->name)) ||
	    !memchr(names->pod, 0, sizeof(names->pod)) ||
	    !memchr(names->namespace, 0, sizeof(names->namespace)) ||
	    !memchr(names->pod_uid, 0, sizeof(names->pod_uid)) ||
	    !memchr(names->runtime, 0, sizeof(names->runtime)))
		abort();
}

/* The first byte chooses what the rest is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container_names names = {0};
	const char *text = (const char *)data + 1;

	if (!size--)
		return 0;
	switch (data[0] % 5) {
	case 0:
		check(container_from_spec(text, size, &names), &names);
		break;
	case 1:
		check(container_from_docker(text, size, &names), &names);
		break;
	case 2:
		check(container_from_storage(text, size, ID, &names), &names);
		break;
	case 3:
		check(container_from_log(text, size, ID, &names), &names);
		break;
	case 4:
		check(container_from_pod_folder(text, size, "0123", &names), &names);
		break;
	}
	return 0;
}

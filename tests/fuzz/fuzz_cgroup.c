/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_facts facts;

	cgroup_parse((const char *)data, size, &facts);
	if (strnlen(facts.path, sizeof(facts.path)) == sizeof(facts.path) ||
	    strnlen(facts.unit, sizeof(facts.unit)) == sizeof(facts.unit) ||
	    strnlen(facts.container.text, sizeof(facts.container.text)) ==
		    sizeof(facts.container.text) ||
	    strnlen(facts.container.id, sizeof(facts.container.id)) == sizeof(facts.container.id) ||
	    strnlen(facts.container.pod_uid, sizeof(facts.container.pod_uid)) ==
		    sizeof(facts.container.pod_uid) ||
	    !facts.container.qos || !facts.container.runtime)
		abort();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/lock_holders.h"

#include "parse/memory_names.h"

void lock_holders_read(struct target_memory *memory, const struct parse_locks *locks,
		       struct perfmap_lock_holder *ret_holders)
{
	struct perfmap_memory_facts facts = locks->facts;
	struct perfmap_memory *m = NULL;
	bool have_monitors = true;

	if (!facts.descriptor &&
	    memory_names_find(memory, locks->files, locks->files_cnt, &facts.descriptor))
		facts.descriptor = 0;
	facts.image = 0; /* where its code is nobody asks */
	/* Before .NET 9 there is no descriptor. */
	if (facts.descriptor &&
	    !perfmap_memory_open(target_memory_read_of, memory, &facts, locks->waits_cnt, &m)) {
		(void)perfmap_memory_holders(m, locks->waits, locks->waits_cnt, ret_holders);
		have_monitors = !perfmap_memory_locks_are_monitors(m);
	}
	if (have_monitors)
		perfmap_memory_monitors(target_memory_read_of, memory, locks->waits,
					locks->waits_cnt, ret_holders);
	perfmap_memory_close(m);
}

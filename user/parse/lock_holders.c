/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/lock_holders.h"

#include "parse/memory_names.h"

enum model_reason lock_holders_read(struct target_memory *memory, const struct parse_locks *locks,
				    uint32_t *ret_holders, bool *ret_monitors)
{
	struct perfmap_memory_facts facts = locks->facts;
	enum model_reason reason = REASON_NAMED;
	struct perfmap_memory *m;

	if (!facts.descriptor)
		reason = memory_names_find(memory, locks->files, locks->files_cnt,
					   &facts.descriptor);
	facts.image = 0; /* where its code is nobody asks */
	if (!reason &&
	    perfmap_memory_open(target_memory_read_of, memory, &facts, locks->waits_cnt, &m))
		reason = REASON_RUNTIME_SILENT;
	if (reason)
		return reason;
	if (perfmap_memory_holders(m, locks->waits, locks->waits_cnt, ret_holders))
		reason = REASON_RUNTIME_SILENT;
	*ret_monitors = perfmap_memory_locks_are_monitors(m);
	perfmap_memory_close(m);
	return reason;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executable memory of a process over time; see model.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/mapping_order.h"
#include "model/model.h"

static bool starts_with(const char *s, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && !memcmp(s, prefix, n);
}

enum model_mapping_kind model_mapping_kind_of(const char *path, size_t len)
{
	if (starts_with(path, len, "/memfd:doublemapper"))
		return MAPPING_JIT;
	if (!len || starts_with(path, len, "//anon") || starts_with(path, len, "[anon") ||
	    starts_with(path, len, "[heap]") || starts_with(path, len, "[stack") ||
	    starts_with(path, len, "/dev/zero"))
		return MAPPING_ANON;
	if (starts_with(path, len, "[vdso]"))
		return MAPPING_VDSO;
	if (starts_with(path, len, "[vsyscall]"))
		return MAPPING_VSYSCALL;
	return MAPPING_FILE;
}

int model_mapping_add(struct model *m, uint32_t process, const struct model_mapping *mapping)
{
	struct model_process *p = &m->processes[process];
	uint32_t same;
	int err;

	if (mapping->end <= mapping->start)
		return -EINVAL;
	err = mapping_order_update(p);
	if (err)
		return err;
	p->mapping_changes++;
	same = mapping_order_same(p, mapping);
	if (mapping->from_ns)
		mapping_order_end_covered(p, mapping, same == MODEL_NONE ? 0 : same + 1);
	if (same != MODEL_NONE)
		return 0;
	if (mapping_order_cnt(p) >= MODEL_MAX_MAPPINGS ||
	    p->mapping_cnt >= MODEL_MAX_MAPPING_ROWS || m->mappings_cnt >= MODEL_MAX_ALL_MAPPINGS) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return -ENOSPC;
	}
	if (GROW(p->mappings, p->mapping_cnt, p->mapping_cap))
		return -ENOMEM;
	p->mappings[p->mapping_cnt] = *mapping;
	p->mappings[p->mapping_cnt++].dirty = true;
	m->mappings_cnt++;
	return 0;
}

int model_mappings_inherit(struct model *m, uint32_t process, uint32_t parent)
{
	const struct model_process *from = &m->processes[parent];
	struct model_process *to = &m->processes[process];

	to->mapping_changes++;
	for (size_t i = 0; i < from->mapping_cnt && to->mapping_cnt < MODEL_MAX_MAPPINGS; i++) {
		if (from->mappings[i].to_ns)
			continue;
		if (m->mappings_cnt >= MODEL_MAX_ALL_MAPPINGS)
			return -ENOSPC;
		if (GROW(to->mappings, to->mapping_cnt, to->mapping_cap))
			return -ENOMEM;
		to->mappings[to->mapping_cnt] = from->mappings[i];
		to->mappings[to->mapping_cnt].from_ns = 0;
		to->mappings[to->mapping_cnt++].dirty = true;
		m->mappings_cnt++;
	}
	return 0;
}

void model_mappings_forget(struct model *m, uint32_t process)
{
	struct model_process *p = &m->processes[process];

	mapping_order_drop(p);
	free(p->mappings);
	m->mappings_cnt -= p->mapping_cnt;
	p->mapping_changes++;
	p->mappings = NULL;
	p->mapping_cnt = p->mapping_cap = 0;
}

void model_mappings_end(struct model *m, uint32_t process, uint64_t time_ns)
{
	struct model_process *p = &m->processes[process];

	mapping_order_drop(p);
	p->mapping_changes++;
	for (size_t i = 0; i < p->mapping_cnt; i++) {
		if (!p->mappings[i].to_ns && p->mappings[i].from_ns <= time_ns) {
			p->mappings[i].to_ns = time_ns ? time_ns : 1;
			p->mappings[i].dirty = true;
		}
	}
}

const struct model_mapping *model_mapping_find(struct model *m, uint32_t process, uint64_t address,
					       uint64_t time_ns)
{
	struct model_process *p = &m->processes[process];
	struct mapping_index *index, none = {0};

	index = mapping_order_index(p);
	return mapping_index_find(index ? index : &none, p, address, time_ns);
}

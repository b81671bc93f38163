/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc.h"

/* For people: the entry assembly, else the thread group's comm. The comm of an apphost is cut at 15
 * characters, its file name is whole. */
static void choose_name(struct model *m, struct model_process *p, const char *entry)
{
	const char *exe = entry_basename(p->exe);

	if (*entry)
		p->name = model_str(m, entry);
	else if ((p->flags & PROCESS_DOTNET) && *exe && strcmp(exe, "dotnet"))
		p->name = model_str(m, exe);
	else if (*exe || !*p->name) /* else it is about to be gone, and what was known stays */
		p->name = p->comm;
	p->dirty = true;
}

bool facts_is_runtime(const char *path, size_t path_len, uint8_t kind)
{
	static const char name[] = "libcoreclr.so";
	size_t len = sizeof(name) - 1;

	if (kind == MAPPING_JIT)
		return true;
	return path_len >= len && !memcmp(path + path_len - len, name, len) &&
	       (path_len == len || path[path_len - len - 1] == '/');
}

static bool is_runtime(const char *path, uint8_t kind)
{
	return facts_is_runtime(path, strlen(path), kind);
}

void facts_note_runtime(struct model *m, uint32_t process)
{
	struct model_process *p = &m->processes[process];

	if (p->flags & PROCESS_DOTNET)
		return;
	p->flags |= PROCESS_DOTNET;
	p->dirty = true;
	/* A name other than the comm is the entry assembly already. */
	if (p->name == p->comm)
		choose_name(m, p, "");
}

void facts_note_mapping(struct model *m, uint32_t process, const struct model_mapping *mapping)
{
	if (is_runtime(m->modules[mapping->module].path, mapping->kind))
		facts_note_runtime(m, process);
}

/* Mappings that the side-band told of come with build ids and times: they are kept. By start, to
 * be found among 65,000 of a process that would like us to be slow. */
struct known {
	struct known_mapping {
		uint64_t start;
		size_t row;
	} * by_start;
	size_t cnt;
};

static int compare_known(const void *a, const void *b)
{
	const struct known_mapping *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* 0 or -ENOMEM. */
static int gather_known(const struct model_process *p, struct known *ret_known)
{
	struct known_mapping *by_start = calloc(p->mapping_cnt + 1, sizeof(*by_start));
	size_t cnt = 0;

	if (!by_start)
		return -ENOMEM;
	for (size_t i = 0; i < p->mapping_cnt; i++)
		if (!p->mappings[i].to_ns)
			by_start[cnt++] = (struct known_mapping){p->mappings[i].start, i};
	qsort(by_start, cnt, sizeof(*by_start), compare_known);
	*ret_known = (struct known){by_start, cnt};
	return 0;
}

static size_t first_at(const struct known *known, uint64_t start)
{
	size_t low = 0, high = known->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (known->by_start[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_known(const struct model *m, const struct model_process *p,
		     const struct known *known, const struct proc_mapping *map, const char *path)
{
	for (size_t i = first_at(known, map->start);
	     i < known->cnt && known->by_start[i].start == map->start; i++) {
		const struct model_mapping *old = &p->mappings[known->by_start[i].row];

		if (!old->to_ns && old->end == map->end && old->file_offset == map->file_offset &&
		    !strcmp(m->modules[old->module].path, path))
			return true;
	}
	return false;
}

uint64_t facts_replaced_ns(const struct model_process *p)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < p->mapping_cnt; i++)
		if (p->mappings[i].to_ns > last_ns)
			last_ns = p->mappings[i].to_ns;
	return last_ns;
}

static void add_mapping(struct model *m, uint32_t process, const struct known *known,
			uint64_t from_ns, const struct proc_mapping *map, char *path)
{
	struct model_mapping mapping = {
		.start = map->start,
		.end = map->end,
		.file_offset = map->file_offset,
		.from_ns = from_ns,
	};
	struct model_module module = {.path = path, .dev = map->dev, .inode = map->inode};
	size_t len = strlen(path);

	mapping.kind = (uint8_t)model_mapping_kind_of(path, len);
	if (mapping.kind == MAPPING_FILE && maps_deleted(path, len, &len))
		path[len] = '\0';
	if (is_known(m, &m->processes[process], known, map, path))
		return;
	mapping.module = model_module_get(m, &module);
	if (mapping.module == MODEL_NONE)
		return;
	model_mapping_add(m, process, &mapping);
	if (is_runtime(path, mapping.kind))
		m->processes[process].flags |= PROCESS_DOTNET;
}

static void add_mappings(struct model *m, uint32_t process, struct proc_facts *facts)
{
	uint64_t from_ns = facts_replaced_ns(&m->processes[process]);
	struct known known;

	if (!facts->mappings_cnt || gather_known(&m->processes[process], &known))
		return;
	for (size_t i = 0; i < facts->mappings_cnt; i++)
		add_mapping(m, process, &known, from_ns, &facts->mappings[i],
			    facts->paths + facts->mappings[i].path);
	free(known.by_start);
	if (facts->mappings_cut)
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
}

static void set_container(struct model *m, struct model_process *p,
			  const struct cgroup_container *container)
{
	p->container = model_str(m, container->text);
	p->container_id = model_str(m, container->id);
	p->pod_uid = model_str(m, container->pod_uid);
	p->qos = model_str(m, container->qos);
	p->runtime = model_str(m, container->runtime);
	p->container_name = p->pod = p->namespace = "";
}

static void set_facts(struct model *m, uint32_t process, struct proc_facts *facts)
{
	struct model_process *p = &m->processes[process];

	p->flags |= PROCESS_FACTS | (facts->stat.kernel ? PROCESS_KERNEL : 0);
	p->ns_pid = facts->ns_pid;
	p->uid = facts->uid;
	if (!p->parent_tgid)
		p->parent_tgid = facts->stat.parent_tgid;
	if (!*p->comm)
		p->comm = model_str(m, facts->stat.comm);
	/* A dying process has lost its executable: what is known stays. */
	if (*facts->exe)
		p->exe = model_str(m, facts->exe);
	p->cgroup = model_str(m, facts->cgroup.path);
	p->unit = model_str(m, facts->cgroup.unit);
	set_container(m, p, &facts->cgroup.container);
	add_mappings(m, process, facts);
	choose_name(m, &m->processes[process], facts->entry);
}

/* Returns true where they could be read. */
static bool read_facts(struct file_requests *requests, struct model *m, uint32_t process,
		       bool want_mappings)
{
	struct target_process target = file_requests_target(requests, m, process);
	struct proc_job *job = proc_job_new(&target, want_mappings);
	struct model_process *p = &m->processes[process];
	struct loader_job *left;
	enum model_reason reason;

	if (!job)
		return false;
	reason = file_requests_run(requests, process, &job->base, &left);
	p->dirty = true;
	if (!reason && !job->error)
		set_facts(m, process, &job->facts);
	else if (!reason && job->error == -ESRCH)
		p->flags |= PROCESS_GONE;
	if (!*p->name)
		p->name = p->comm;
	if (left)
		left->release(left);
	return p->flags & PROCESS_FACTS;
}

bool facts_read(struct file_requests *requests, struct model *m, uint32_t process)
{
	if (m->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE))
		return false;
	return read_facts(requests, m, process, true);
}

bool facts_read_exec(struct file_requests *requests, struct model *m, uint32_t process)
{
	struct model_process *p = &m->processes[process];

	p->flags &= ~(PROCESS_DOTNET | PROCESS_FACTS);
	p->perf_map = REASON_NAMED;
	return read_facts(requests, m, process, false);
}

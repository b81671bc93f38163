/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/sideband_record.h"

#include <string.h>
#include <sys/sysmacros.h>

/* Little reader over one record. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static uint64_t get(struct cursor *c, size_t bytes)
{
	uint64_t value = 0;

	if (c->left < bytes) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->at, bytes);
	c->at += bytes;
	c->left -= bytes;
	return value;
}

static uint32_t get_u32(struct cursor *c)
{
	return (uint32_t)get(c, 4);
}

static void take_mapping(struct cursor *c, uint16_t misc, uint64_t time_ns,
			 const struct sideband_ops *ops)
{
	struct sideband_mapping map = {.time_ns = time_ns};
	const uint8_t *file;

	map.tgid = get_u32(c);
	get(c, 4); /* tid */
	map.start = get(c, 8);
	map.end = map.start + get(c, 8);
	map.file_offset = get(c, 8);
	file = c->at;
	get(c, 8), get(c, 8), get(c, 8); /* device, inode and generation, or a build id */
	get(c, 8);			 /* protection, flags */
	if (c->bad || map.end <= map.start)
		return;
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		map.build_id_len = file[0] <= 20 ? file[0] : 20;
		map.build_id = file + 4;
	} else {
		uint32_t major, minor;

		memcpy(&major, file, 4);
		memcpy(&minor, file + 4, 4);
		memcpy(&map.inode, file + 8, 8);
		map.dev = makedev(major, minor);
	}
	map.path = (const char *)c->at;
	map.path_len = strnlen(map.path, c->left);
	ops->mapping(ops->ctx, &map);
}

static void take_comm(struct cursor *c, uint16_t misc, uint64_t time_ns,
		      const struct sideband_ops *ops)
{
	uint32_t tgid = get_u32(c), tid = get_u32(c);
	const char *comm = (const char *)c->at;

	if (!c->bad)
		ops->comm(ops->ctx, tgid, tid, comm, strnlen(comm, c->left),
			  misc & PERF_RECORD_MISC_COMM_EXEC, time_ns);
}

static void take_life(struct cursor *c, uint32_t type, uint64_t time_ns,
		      const struct sideband_ops *ops)
{
	uint32_t tgid = get_u32(c), parent = get_u32(c), tid = get_u32(c);

	if (c->bad)
		return;
	if (type == PERF_RECORD_FORK)
		ops->fork(ops->ctx, tgid, tid, parent, time_ns);
	else
		ops->exit(ops->ctx, tgid, tid, time_ns);
}

bool sideband_take(const struct perf_event_header *header, uint64_t time_ns,
		   const struct sideband_ops *ops)
{
	struct cursor c = {(const uint8_t *)(header + 1), header->size - sizeof(*header) - 8,
			   false};

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		take_mapping(&c, header->misc, time_ns, ops);
		break;
	case PERF_RECORD_COMM:
		take_comm(&c, header->misc, time_ns, ops);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_life(&c, header->type, time_ns, ops);
		break;
	case PERF_RECORD_LOST:
		get(&c, 8); /* event id */
		ops->lost(ops->ctx, get(&c, 8));
		break;
	default:
		break;
	}
	return !c.bad;
}

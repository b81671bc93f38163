/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_PROCMAP_QUERY_H
#define HOTRUN_ISOLATE_PROCMAP_QUERY_H
/*
 * The kernel's question for one mapping, an ioctl of /proc/PID/maps since 6.11, with its name in
 * linux/fs.h; headers may be older. Without room for a name it copies none.
 */
#include <linux/ioctl.h>
#include <linux/types.h>

#ifndef PROCMAP_QUERY
struct procmap_query {
	__u64 size; /* of this structure */
	__u64 query_flags;
	__u64 query_addr;
	/* The mapping with that address. */
	__u64 vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
	__u64 inode; /* 0: of no file */
	__u32 dev_major, dev_minor;
	__u32 vma_name_size, build_id_size;
	__u64 vma_name_addr, build_id_addr;
};

#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#endif
#endif

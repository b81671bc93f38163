/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints how many BPF programs, maps and links the kernel holds: `programs maps links`. Static and
 * small, for guests that have no bpftool. Kernels without links (before 5.8) count none.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned int count(enum bpf_cmd next)
{
	union bpf_attr attr;
	unsigned int id = 0, cnt = 0;

	for (;;) {
		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (syscall(SYS_bpf, next, &attr, sizeof(attr)))
			return cnt;
		id = attr.next_id;
		cnt++;
	}
}

int main(void)
{
	printf("%u %u %u\n", count(BPF_PROG_GET_NEXT_ID), count(BPF_MAP_GET_NEXT_ID),
	       count(BPF_LINK_GET_NEXT_ID));
	return 0;
}

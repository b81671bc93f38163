/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF program on sched_switch that does nothing: the least that any tool pays which looks there,
 * and what the kernel's statistics of run time count of themselves. Says "attached", and stays
 * until a signal. */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "empty", "GPL", nothing, 2, NULL);

	if (program < 0 || bpf_raw_tracepoint_open("sched_switch", program) < 0) {
		perror("empty_program");
		return 1;
	}
	puts("attached");
	fflush(stdout);
	pause();
	return 0;
}

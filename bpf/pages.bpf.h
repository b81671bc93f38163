/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages of another process are present, read from its page tables. bpf_copy_from_user_task()
 * would make an absent page present, which grows the target and is charged to the reader.
 * x86-64 (Documentation/arch/x86/x86_64/mm.rst); kernels since 5.16.
 */
#ifndef HOTRUN_PAGES_BPF_H
#define HOTRUN_PAGES_BPF_H

#include <asm-generic/errno.h>

#define PAGE_BYTES  4096ull
#define PAGE_OFFSET 0xffff888000000000ull /* without address randomization */
/* No kernel of four levels puts the direct map of memory below that. */
#define PAGE_OFFSET_OF_4_LEVELS 0xffff000000000000ull
#define ENTRY_PRESENT		0x1ull
#define ENTRY_LARGE		0x80ull
#define ENTRY_FRAME		0x000ffffffffff000ull
#define LEVELS_MOST		5
#define SHIFT_TOP_OF_5		48
#define SHIFT_TOP_OF_4		39
#define SHIFT_LARGEST_LEAF	30
#define SHIFT_PAGE		12

/* Set by find_pages: from a physical address to the kernel's, bits of an entry that are a
 * frame's address, and the shift of the topmost level. */
__u64 page_offset = 0;
__u64 page_frame = 0;
__u32 page_shift = 0;

static __noinline bool is_present(const struct mm_struct *mm, __u64 address)
{
	__u64 table = (__u64)BPF_CORE_READ(mm, pgd), entry;

	for (__u32 level = 0, shift = page_shift; table && shift && level < LEVELS_MOST; level++) {
		if (bpf_probe_read_kernel(&entry, sizeof(entry),
					  (void *)(table + (address >> shift & 511) * 8)) ||
		    !(entry & ENTRY_PRESENT))
			return false;
		if (shift == SHIFT_PAGE || (shift <= SHIFT_LARGEST_LEAF && entry & ENTRY_LARGE))
			return true;
		table = page_offset + (entry & page_frame);
		shift -= 9;
	}
	return false;
}

/* Of so many bytes from there on, those before the first page that is absent. */
static __always_inline __u64 present_bytes(const struct mm_struct *mm, __u64 address, __u64 bytes)
{
	__u64 page = address & ~(PAGE_BYTES - 1), end = address + bytes;

	for (__u32 i = 0; i < STAND_STACK_BYTES / PAGE_BYTES + 1 && page < end; i++) {
		if (!is_present(mm, page))
			return page > address ? page - address : 0;
		page += PAGE_BYTES;
	}
	return bytes;
}

/* Literals would make a map of their own. */
static const char offset_name[] SEC(".rodata") = "page_offset_base";
static const char mask_name[] SEC(".rodata") = "physical_mask";

/* A variable of the kernel. 0; -ENOENT: there is none; -EPERM: kernel.kptr_restrict hides it. */
static __always_inline long read_variable(const char *name, int name_bytes, __u64 *ret_value)
{
	__u64 at = 0;
	long err = bpf_kallsyms_lookup_name(name, name_bytes, 0, &at);

	return err ?: bpf_probe_read_kernel(ret_value, sizeof(*ret_value), (void *)at);
}

/* Finds out how page tables are read, and tries it on two pages of the caller. 0 or -errno:
 * -EOPNOTSUPP where what is read is not so. */
static __always_inline long learn_page_tables(const struct page_trial *trial)
{
	const struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	__u64 offset = PAGE_OFFSET, mask = ENTRY_FRAME;
	long err;

	err = read_variable(offset_name, sizeof(offset_name), &offset);
	if (err && err != -ENOENT)
		return err;
	/* Where memory may be encrypted an entry has a bit for that. */
	err = read_variable(mask_name, sizeof(mask_name), &mask);
	if (err && err != -ENOENT)
		return err;
	page_offset = offset;
	page_shift = offset >= PAGE_OFFSET_OF_4_LEVELS ? SHIFT_TOP_OF_4 : SHIFT_TOP_OF_5;
	page_frame = mask & ENTRY_FRAME;
	if (is_present(mm, trial->present) && !is_present(mm, trial->absent))
		return 0;
	page_shift = 0;
	return -EOPNOTSUPP;
}
#endif

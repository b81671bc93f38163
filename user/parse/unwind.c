/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/unwind.h"

#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "parse/dwarf.h"

#define HEADER_BYTES 12 /* version, three encodings, frame pointer, count */
#define ENTRY_BYTES  8	/* start and frame entry, both 32 bits relative to the header */

static uint32_t read_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

int unwind_frames_vaddr(const struct unwind_bytes *header, uint64_t *ret_vaddr)
{
	const uint8_t *h = header->data;

	if (header->len < HEADER_BYTES || h[0] != 1 || h[1] != (DWARF_PCREL | DWARF_SDATA4))
		return -ENOTSUP;
	*ret_vaddr = header->vaddr + 4 + (uint64_t)(int64_t)(int32_t)read_u32(h + 4);
	return 0;
}

/* Width of the addresses in entries with this augmentation, of which r holds the numbers. */
static size_t augmented_width(struct dwarf_reader *r, const char *augmentation)
{
	dwarf_uleb(r); /* code alignment */
	dwarf_uleb(r); /* data alignment: signed, the same length */
	dwarf_uleb(r); /* return address register */
	dwarf_uleb(r); /* bytes of augmentation data */
	for (const char *a = augmentation + 1; *a && r->p < r->end; a++) {
		if (*a == 'R')
			return dwarf_address_bytes(*r->p);
		if (*a == 'L') {
			r->p++;
		} else if (*a == 'P') {
			size_t n = dwarf_address_bytes(*r->p);

			if (!n || (size_t)(r->end - r->p) < n + 1)
				return 0;
			r->p += n + 1;
		}
	}
	return 8;
}

/* Width of the addresses in the entries of the CIE at offset, 0 = not understood. */
static size_t cie_width(const struct unwind_bytes *frames, uint64_t offset,
			struct perfmap_work *work)
{
	const uint8_t *augmentation;
	size_t len, width = 8;
	struct dwarf_reader r = {0};

	perfmap_work_add(work, 9);
	if (offset > frames->len || frames->len - offset < 9)
		return 0;
	len = read_u32(frames->data + offset);
	if (len < 5 || len > UNWIND_CIE_BYTES_MAX || len > frames->len - offset - 4 ||
	    read_u32(frames->data + offset + 4))
		return 0;
	augmentation = frames->data + offset + 9; /* behind its version */
	r.end = frames->data + offset + 4 + len;
	len = (size_t)(r.end - augmentation);
	if (len > UNWIND_AUGMENTATION_MAX)
		len = UNWIND_AUGMENTATION_MAX;
	r.p = memchr(augmentation, 0, len);
	perfmap_work_add(work, len);
	if (!r.p)
		return 0;
	r.p++;
	if (*augmentation == 'z')
		width = augmented_width(&r, (const char *)augmentation);
	perfmap_work_add(work, (uint64_t)(r.p - augmentation));
	return width;
}

/* Bytes of code that the frame entry at vaddr covers, 0 = not understood. */
static uint64_t entry_size(const struct unwind_bytes *frames, uint64_t vaddr, uint64_t *cie,
			   size_t *width, struct perfmap_work *work)
{
	uint64_t offset = vaddr - frames->vaddr, size = 0, cie_offset;
	uint32_t len, back;

	if (vaddr < frames->vaddr || offset > frames->len || frames->len - offset < 8)
		return 0;
	len = read_u32(frames->data + offset);
	back = read_u32(frames->data + offset + 4);
	if (len == UINT32_MAX || !back || back > offset + 4)
		return 0;
	cie_offset = offset + 4 - back;
	if (*cie != cie_offset) {
		*cie = cie_offset;
		*width = cie_width(frames, cie_offset, work);
	}
	if (!*width || frames->len - offset < 8 + 2 * *width)
		return 0;
	memcpy(&size, frames->data + offset + 8 + *width, *width);
	return size;
}

int unwind_read(const struct unwind_bytes *header, const struct unwind_bytes *frames,
		struct perfmap_work *work, struct elf_extent **extents, size_t *cnt, size_t *cap)
{
	const uint8_t *h = header->data;
	uint64_t cie = UINT64_MAX, vaddr;
	size_t width = 0;
	uint32_t entries;

	if (unwind_frames_vaddr(header, &vaddr) || h[2] != DWARF_UDATA4 ||
	    h[3] != (DWARF_DATAREL | DWARF_SDATA4))
		return -ENOTSUP;
	entries = read_u32(h + 8);
	if (entries > UNWIND_ENTRIES_MAX)
		entries = UNWIND_ENTRIES_MAX;
	if (entries > (header->len - HEADER_BYTES) / ENTRY_BYTES)
		entries = (uint32_t)((header->len - HEADER_BYTES) / ENTRY_BYTES);
	for (uint32_t i = 0; i < entries; i++) {
		const uint8_t *e = h + HEADER_BYTES + (size_t)i * ENTRY_BYTES;
		uint64_t start = header->vaddr + (uint64_t)(int64_t)(int32_t)read_u32(e);
		uint64_t frame = header->vaddr + (uint64_t)(int64_t)(int32_t)read_u32(e + 4);
		uint64_t size = entry_size(frames, frame, &cie, &width, work);

		if (!perfmap_work_add(work, ENTRY_BYTES + 2 * sizeof(uint64_t)))
			return -E2BIG;
		if (!size || size > UINT32_MAX)
			continue;
		if (grow_array((void **)extents, *cnt, cap, sizeof(**extents)))
			return -ENOMEM;
		(*extents)[(*cnt)++] = (struct elf_extent){start, (uint32_t)size};
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/unwind_elf.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "parse/elf_file.h"
#include "parse/unwind.h"

/* Code that is looked through for restorers of signals: that of C libraries and small static
 * programs. */
#define RESTORER_BYTES_MAX (8u << 20)
#define RESTORERS_MAX	   8u
/* Of .eh_frame_hdr: all that is wanted of it, where .eh_frame lies. */
#define HEADER_BYTES 12u

/* What is there of a file. */
struct found {
	Elf *elf;
	int fd;
	struct unwind_layout *layout;
	struct perfmap_work work;
};

/* --- where things are ------------------------------------------------------------------------- */

static void read_layout(struct found *f)
{
	struct unwind_layout *layout = f->layout;
	size_t cnt = elf_file_headers(f->elf);

	for (size_t i = 0; i < cnt && layout->segments_cnt < ELF_SEGMENTS_MAX; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(f->elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    (ph.p_flags & PF_X) && ph.p_filesz)
			layout->segments[layout->segments_cnt++] = (struct elf_segment){
				.offset = ph.p_offset, .size = ph.p_filesz, .vaddr = ph.p_vaddr};
	}
}

static bool is_code(const struct found *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->layout->segments_cnt; i++)
		if (vaddr >= f->layout->segments[i].vaddr &&
		    vaddr - f->layout->segments[i].vaddr < f->layout->segments[i].size)
			return true;
	return false;
}

/* The section of that name, with its header. */
static Elf_Scn *find_section(const struct found *f, const char *wanted, GElf_Shdr *sh)
{
	size_t names = elf_file_names(f->elf);
	Elf_Scn *scn = NULL;

	while (names && (scn = elf_nextscn(f->elf, scn))) {
		const char *name;

		/* SHT_X86_64_UNWIND is .eh_frame's type where the ABI is followed to the letter. */
		if (!gelf_getshdr(scn, sh) ||
		    (sh->sh_type != SHT_PROGBITS && sh->sh_type != SHT_X86_64_UNWIND))
			continue;
		name = elf_strptr(f->elf, names, sh->sh_name);
		if (name && !strcmp(name, wanted))
			return scn;
	}
	return NULL;
}

/* Its bytes, taken out of their packing. NULL where there are none, or too many. */
static Elf_Data *section_data(Elf_Scn *scn, const GElf_Shdr *sh)
{
	if (sh->sh_size > ELF_UNWIND_BYTES_MAX)
		return NULL;
	if (sh->sh_flags & SHF_COMPRESSED) {
		GElf_Chdr packed;

		if (!gelf_getchdr(scn, &packed) || packed.ch_size > ELF_UNWIND_BYTES_MAX ||
		    elf_compress(scn, 0, 0) < 0)
			return NULL;
	}
	return elf_getdata(scn, NULL);
}

/* --- rows ------------------------------------------------------------------------------------- */

static enum model_reason compile_section(struct found *f, const char *name, bool is_debug,
					 struct cfi_rows *rows)
{
	GElf_Shdr sh;
	Elf_Scn *scn = find_section(f, name, &sh);
	Elf_Data *data = scn ? section_data(scn, &sh) : NULL;
	struct unwind_bytes bytes;
	int err;

	if (!data || !data->d_buf)
		return REASON_NAMED;
	bytes = (struct unwind_bytes){data->d_buf, data->d_size, sh.sh_addr};
	err = cfi_compile(&bytes, is_debug, &f->work, rows);
	return err ? REASON_LIMIT : REASON_NAMED;
}

/* Bytes of records that lie one after the other, up to the one of length 0 that ends them. */
static size_t records_len(const uint8_t *data, size_t len)
{
	size_t at = 0;

	while (len - at >= 4) {
		uint32_t bytes;

		memcpy(&bytes, data + at, sizeof(bytes));
		if (!bytes || bytes > len - at - 4)
			break;
		at += 4 + (size_t)bytes;
	}
	return at;
}

/* What is loaded from vaddr on, at most max bytes; NULL: nothing. */
static uint8_t *read_loaded(const struct found *f, uint64_t vaddr, uint64_t max, size_t *ret_len)
{
	size_t cnt = elf_file_headers(f->elf);

	for (size_t i = 0; i < cnt; i++) {
		uint64_t distance;
		uint8_t *bytes;
		ssize_t len;
		GElf_Phdr ph;

		if (!gelf_getphdr(f->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    vaddr < ph.p_vaddr || vaddr - ph.p_vaddr >= ph.p_filesz)
			continue;
		distance = vaddr - ph.p_vaddr;
		if (max > ph.p_filesz - distance)
			max = ph.p_filesz - distance;
		if (max > f->layout->identity.size_bytes)
			max = f->layout->identity.size_bytes;
		bytes = malloc(max);
		len = bytes ? pread(f->fd, bytes, max, (off_t)(ph.p_offset + distance)) : -1;
		if (len > 0) {
			*ret_len = (size_t)len;
			return bytes;
		}
		free(bytes);
		return NULL;
	}
	return NULL;
}

/* .eh_frame of a file without section headers: what the header points to that is loaded. */
static enum model_reason compile_loaded(struct found *f, struct cfi_rows *rows)
{
	_cleanup_free_ uint8_t *header_bytes = NULL, *frames_bytes = NULL;
	struct unwind_bytes header = {0}, frames = {0};
	size_t cnt = elf_file_headers(f->elf);
	GElf_Phdr ph = {0};

	for (size_t i = 0; i < cnt && ph.p_type != PT_GNU_EH_FRAME; i++)
		if (!gelf_getphdr(f->elf, (int)i, &ph))
			return REASON_NAMED;
	if (ph.p_type != PT_GNU_EH_FRAME)
		return REASON_NAMED;
	header.vaddr = ph.p_vaddr;
	header.data = header_bytes = read_loaded(f, ph.p_vaddr, HEADER_BYTES, &header.len);
	if (!header_bytes || unwind_frames_vaddr(&header, &frames.vaddr))
		return REASON_NAMED;
	frames.data = frames_bytes =
		read_loaded(f, frames.vaddr, ELF_UNWIND_BYTES_MAX, &frames.len);
	if (!frames_bytes)
		return REASON_NAMED;
	/* What lies behind it in its segment is none of it. */
	frames.len = records_len(frames_bytes, frames.len);
	return cfi_compile(&frames, false, &f->work, rows) ? REASON_LIMIT : REASON_NAMED;
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct cfi_row *a = pa, *b = pb;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* Has rows say that of [start, end), whatever they said; unless they know of a signal there. */
static int overrule(struct cfi_rows *rows, uint64_t start, uint64_t end, struct unwind_row row)
{
	const struct cfi_row *at = cfi_at(rows, start), *last = cfi_at(rows, end);
	struct unwind_row behind = last ? last->row : (struct unwind_row){0};
	size_t kept = 0;

	if (at && at->row.cfa == UNWIND_SIGNAL)
		return 0;
	for (size_t i = 0; i < rows->cnt; i++)
		if (rows->rows[i].vaddr < start || rows->rows[i].vaddr > end)
			rows->rows[kept++] = rows->rows[i];
	rows->cnt = kept;
	for (int i = 0; i < 2; i++) {
		if (GROW(rows->rows, rows->cnt, rows->cap))
			return -ENOMEM;
		rows->rows[rows->cnt++] =
			i ? (struct cfi_row){end, behind} : (struct cfi_row){start, row};
	}
	qsort(rows->rows, rows->cnt, sizeof(*rows->rows), compare_rows);
	return 0;
}

/*
 * The kernel returns from a handler to code that asks it to restore what was interrupted, mov
 * $15,%eax (or %rax); syscall. A walk looks it up by the byte before, as any return address. Nobody
 * else makes that call, so rows that take it for a plain function (Go's) are wrong.
 */
static enum model_reason add_restorers(struct found *f, struct cfi_rows *rows)
{
	static const uint8_t codes[][9] = {
		{0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05},
		{0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05},
	};
	static const size_t lengths[] = {9, 7};
	const struct unwind_row signal = {
		.cfa = UNWIND_SIGNAL, .fp = UNWIND_FP_SAME, .cfa_offset = CFI_SIGNAL_SP / 8};
	unsigned cnt = 0;

	for (size_t i = 0; i < f->layout->segments_cnt; i++) {
		const struct elf_segment *s = &f->layout->segments[i];
		_cleanup_free_ uint8_t *code = NULL;
		ssize_t len;

		if (s->size > RESTORER_BYTES_MAX)
			continue;
		code = malloc(s->size);
		if (!code)
			return REASON_LIMIT;
		len = pread(f->fd, code, s->size, (off_t)s->offset);
		for (size_t k = 0; k < 2 && len > 0; k++) {
			const uint8_t *at = code, *end = code + len;

			while (cnt < RESTORERS_MAX &&
			       (at = memmem(at, (size_t)(end - at), codes[k], lengths[k]))) {
				uint64_t vaddr = s->vaddr + (uint64_t)(at - code);

				if (overrule(rows, vaddr ? vaddr - 1 : 0, vaddr + lengths[k],
					     signal))
					return REASON_LIMIT;
				cnt++;
				at += lengths[k];
			}
		}
	}
	return REASON_NAMED;
}

/* Entries may tell of addresses where no code lies: those are left out. */
static void keep_code(const struct found *f, struct cfi_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->cnt; i++)
		/* An end may be the end of the segment, too. */
		if (is_code(f, rows->rows[i].vaddr) ||
		    (rows->rows[i].vaddr && is_code(f, rows->rows[i].vaddr - 1)))
			rows->rows[kept++] = rows->rows[i];
	rows->cnt = kept;
}

enum model_reason unwind_elf_compile(int fd, struct cfi_rows *rows, struct unwind_layout *layout)
{
	_cleanup_elf_ Elf *elf = NULL;
	struct found f = {.fd = fd, .layout = layout};
	enum model_reason reason;
	GElf_Ehdr header;

	reason = elf_identify(fd, &layout->identity);
	if (reason)
		return reason;
	f.elf = elf = elf_file_open(fd);
	if (!elf || !gelf_getehdr(elf, &header))
		return REASON_FILE_MALFORMED;
	f.work.limit = ELF_WORK_BASE + ELF_WORK_PER_BYTE * layout->identity.size_bytes;
	read_layout(&f);
	if (header.e_machine != EM_X86_64)
		return REASON_NAMED;
	reason = compile_section(&f, ".eh_frame", false, rows);
	if (!reason && !rows->cnt)
		reason = compile_loaded(&f, rows);
	if (!reason && !rows->cnt)
		reason = compile_section(&f, ".debug_frame", true, rows);
	if (!reason)
		reason = add_restorers(&f, rows);
	keep_code(&f, rows);
	return reason;
}

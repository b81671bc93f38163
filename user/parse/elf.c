/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/io.h"
#include "parse/debug_file.h"
#include "parse/elf_entries.h"
#include "parse/elf_file.h"
#include "parse/elf_names.h"
#include "parse/unwind.h"

#define NAMES_MAX      (1u << 28) /* what elf_function.name can address */
#define NOTE_BYTES_MAX 65536	  /* of all notes */
#define NAMED_LOOKS    256 /* sections whose names are looked at; -g with DWARF 5 makes a dozen */

_Static_assert(ELF_STRINGS_MAX <= NAMES_MAX, "names must be addressable");

static bool read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	return io_read_at(fd, buf, len, offset) == (ssize_t)len;
}

/* Notes: three words (name size, descriptor size, type), then both parts padded to 4 bytes. */
static void find_build_id(const uint8_t *notes, size_t len, struct elf_identity *id)
{
	size_t pos = 0;

	while (len - pos >= 12) {
		uint32_t words[3];
		size_t name_len, desc_len, desc;

		memcpy(words, notes + pos, sizeof(words));
		name_len = ((size_t)words[0] + 3) & ~(size_t)3;
		desc_len = ((size_t)words[1] + 3) & ~(size_t)3;
		if (name_len > len - pos - 12 || desc_len > len - pos - 12 - name_len)
			return;
		desc = pos + 12 + name_len;
		if (words[2] == NT_GNU_BUILD_ID && words[0] == 4 &&
		    !memcmp(notes + pos + 12, "GNU", 4) && words[1] && words[1] <= BUILD_ID_MAX) {
			memcpy(id->build_id, notes + desc, words[1]);
			id->build_id_len = (uint8_t)words[1];
			return;
		}
		pos = desc + desc_len;
	}
}

static void read_build_id(Elf *elf, int fd, struct elf_identity *id)
{
	size_t cnt = elf_file_headers(elf), left = NOTE_BYTES_MAX;

	id->build_id_len = 0;
	for (size_t i = 0; i < cnt && !id->build_id_len; i++) {
		_cleanup_free_ uint8_t *notes = NULL;
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_NOTE || ph.p_filesz > left)
			continue;
		left -= ph.p_filesz;
		notes = malloc(ph.p_filesz);
		if (notes && read_at(fd, notes, ph.p_filesz, ph.p_offset))
			find_build_id(notes, ph.p_filesz, id);
	}
}

enum model_reason elf_identify(int fd, struct elf_identity *ret_identity)
{
	_cleanup_elf_ Elf *elf = elf_file_open(fd);
	struct elf_identity id = {0};
	struct stat st;

	if (!elf || fstat(fd, &st))
		return REASON_FILE_MALFORMED;
	id.dev = st.st_dev;
	id.inode = st.st_ino;
	id.size_bytes = (uint64_t)st.st_size;
	id.ctime_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
	read_build_id(elf, fd, &id);
	*ret_identity = id;
	return REASON_NAMED;
}

/* Ends of executable sections, to close functions that have no size. */
struct section_ends {
	uint64_t *ends; /* by section number; 0 = holds no code */
	size_t cnt;
};

static int read_section_ends(Elf *elf, struct section_ends *ret_ends)
{
	Elf_Scn *scn = NULL;
	size_t cnt;

	if (elf_getshdrnum(elf, &cnt) || cnt > ELF_SECTIONS_MAX)
		cnt = 0;
	ret_ends->cnt = cnt;
	ret_ends->ends = calloc(cnt + 1, sizeof(uint64_t));
	if (!ret_ends->ends)
		return -ENOMEM;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		size_t index = elf_ndxscn(scn);

		if (index < cnt && gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR) &&
		    sh.sh_addr + sh.sh_size > sh.sh_addr)
			ret_ends->ends[index] = sh.sh_addr + sh.sh_size;
	}
	return 0;
}

/* Aliases: exported names before local ones, plain ones before those with underscores. */
static unsigned rank_of(const GElf_Sym *sym, const char *name)
{
	unsigned rank = GELF_ST_BIND(sym->st_info) == STB_LOCAL ? 4 : 0;

	if (name[0] == '_')
		rank += name[1] == '_' ? 2 : 1;
	return rank;
}

/* Adds a function, whose name is to come, unless its section holds no code there. */
static int add_symbol(struct elf_table *t, const struct section_ends *ends, const GElf_Sym *sym,
		      const char *name)
{
	bool known = sym->st_shndx < ends->cnt;
	uint64_t end = known ? ends->ends[sym->st_shndx] : 0;
	uint64_t size = sym->st_size;

	if (known && (!end || sym->st_value >= end))
		return 0;
	if (!size)
		size = end ? end - sym->st_value : 1;
	if (GROW(t->functions, t->functions_cnt, t->functions_cap))
		return -ENOMEM;
	t->functions[t->functions_cnt++] = (struct elf_function){
		.start = sym->st_value,
		.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
		.rank = rank_of(sym, name) & 7,
		.open = !sym->st_size,
	};
	return 0;
}

/* A section's bytes, once its size has been checked against the bound. NULL where it has none. */
static Elf_Data *bounded_data(Elf_Scn *scn, const GElf_Shdr *sh, uint64_t max_bytes)
{
	if (sh->sh_type == SHT_NOBITS || !sh->sh_size || sh->sh_size > max_bytes ||
	    (sh->sh_flags & SHF_COMPRESSED))
		return NULL;
	return elf_getdata(scn, NULL);
}

/* A symbol table and its strings, in memory. */
struct symbols {
	Elf_Data *rows, *strings;
	size_t cnt;
};

static enum model_reason open_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
				      struct symbols *ret)
{
	Elf_Scn *str_scn = elf_getscn(elf, sh->sh_link);
	struct symbols s;
	GElf_Shdr str_sh;

	if (!str_scn || !gelf_getshdr(str_scn, &str_sh) || str_sh.sh_type != SHT_STRTAB ||
	    !sh->sh_entsize)
		return REASON_FILE_MALFORMED;
	s.cnt = sh->sh_size / sh->sh_entsize;
	if (s.cnt > ELF_SYMBOLS_MAX || str_sh.sh_size > ELF_STRINGS_MAX)
		return REASON_LIMIT;
	s.rows = bounded_data(scn, sh, ELF_SYMBOLS_MAX * sizeof(Elf64_Sym));
	s.strings = bounded_data(str_scn, &str_sh, ELF_STRINGS_MAX);
	if (!s.rows || !s.strings || !s.rows->d_buf || !s.strings->d_buf)
		return REASON_FILE_MALFORMED;
	*ret = s;
	return REASON_NAMED;
}

/* Whether it is a function of this file with a name of one byte at least. */
static bool is_function(const GElf_Sym *sym, const Elf_Data *strings)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_shndx != SHN_UNDEF &&
	       sym->st_value && sym->st_name + 1ull < strings->d_size &&
	       ((const char *)strings->d_buf)[sym->st_name];
}

static bool is_runtime(const GElf_Sym *sym, const Elf_Data *strings)
{
	const char *names = strings->d_buf;

	return GELF_ST_TYPE(sym->st_info) == STT_OBJECT && sym->st_shndx != SHN_UNDEF &&
	       sym->st_name < strings->d_size &&
	       elf_entries_is_export(names + sym->st_name, strings->d_size - sym->st_name);
}

/* Adds the functions of a symbol table; refs has room for all of them. */
static int add_symbols(struct elf_table *t, const struct symbols *s,
		       const struct section_ends *ends, struct elf_name_ref *refs)
{
	const char *strings = s->strings->d_buf;
	size_t refs_cnt = 0;

	perfmap_work_add(&t->work, s->cnt * sizeof(Elf64_Sym));
	for (size_t i = 1; i < s->cnt && i <= INT32_MAX; i++) {
		size_t before = t->functions_cnt;
		GElf_Sym sym;

		if (!gelf_getsym(s->rows, (int)i, &sym))
			break;
		t->is_runtime |= is_runtime(&sym, s->strings);
		if (!is_function(&sym, s->strings))
			continue;
		if (add_symbol(t, ends, &sym, strings + sym.st_name))
			return -ENOMEM;
		if (t->functions_cnt > before)
			refs[refs_cnt++] = (struct elf_name_ref){sym.st_name, (uint32_t)before};
	}
	return elf_names_keep(t, strings, s->strings->d_size, refs, refs_cnt);
}

static enum model_reason read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
				      const struct section_ends *ends, struct elf_table *t)
{
	_cleanup_free_ struct elf_name_ref *refs = NULL;
	size_t before = t->functions_cnt;
	struct symbols s;
	enum model_reason reason = open_symbols(elf, scn, sh, &s);

	if (reason)
		return reason;
	refs = reallocarray(NULL, s.cnt ? s.cnt : 1, sizeof(*refs));
	if (refs && !add_symbols(t, &s, ends, refs))
		return REASON_NAMED;
	t->functions_cnt = before; /* without names */
	return REASON_LIMIT;
}

/* A file name, padded to four bytes, then the CRC of that file (bfd/opncls.c of binutils). */
static void read_debuglink(Elf_Scn *scn, const GElf_Shdr *sh, struct elf_table *t)
{
	Elf_Data *data = bounded_data(scn, sh, 4096);
	size_t len, crc_at;

	if (!data || !data->d_buf)
		return;
	len = strnlen(data->d_buf, data->d_size);
	crc_at = (len + 4) & ~(size_t)3;
	if (!len || len >= sizeof(t->debuglink) || crc_at + 4 > data->d_size ||
	    memchr(data->d_buf, '/', len))
		return;
	memcpy(t->debuglink, data->d_buf, len + 1);
	memcpy(&t->debuglink_crc, (const char *)data->d_buf + crc_at, 4);
}

/* Looks for what leads to symbols kept elsewhere. */
static void read_debug_links(Elf *elf, struct elf_table *t)
{
	size_t names_section = elf_file_names(elf), looks = 0;
	Elf_Scn *scn = NULL;

	while (names_section && looks < NAMED_LOOKS && (scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS || sh.sh_flags)
			continue;
		looks++;
		name = elf_strptr(elf, names_section, sh.sh_name);
		if (name && !strcmp(name, ".gnu_debuglink")) {
			read_debuglink(scn, &sh, t);
		} else if (name && !strcmp(name, ".gnu_debugdata")) {
			t->debugdata_offset = sh.sh_offset;
			t->debugdata_bytes = sh.sh_size;
		}
	}
}

/* Reads the first symbol table of each type. */
static enum model_reason read_symtabs(Elf *elf, struct elf_table *t, bool *ret_symtab)
{
	struct section_ends ends;
	bool seen_dynsym = false, seen_symtab = false;
	enum model_reason reason = REASON_NAMED;
	Elf_Scn *scn = NULL;

	if (read_section_ends(elf, &ends))
		return REASON_LIMIT;
	while (reason == REASON_NAMED && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		bool *seen;

		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		seen = sh.sh_type == SHT_SYMTAB ? &seen_symtab : &seen_dynsym;
		if (*seen)
			continue;
		*seen = true;
		reason = read_symbols(elf, scn, &sh, &ends, t);
		/* One bad table does not take the other away. */
		if (reason == REASON_FILE_MALFORMED)
			reason = REASON_NAMED;
	}
	*ret_symtab = seen_symtab;
	free(ends.ends);
	return reason;
}

static int compare_extents(const void *pa, const void *pb)
{
	const struct elf_extent *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

/* Bytes of the file at a virtual address, up to the end of its segment or max_bytes. */
static uint8_t *read_vaddr(int fd, const struct elf_table *t, uint64_t vaddr, size_t max_bytes,
			   size_t *ret_len)
{
	for (size_t i = 0; i < t->segments_cnt; i++) {
		const struct elf_segment *s = &t->segments[i];
		uint64_t distance = vaddr - s->vaddr, len;
		uint8_t *buf;
		ssize_t n;

		if (vaddr < s->vaddr || distance >= s->size)
			continue;
		len = s->size - distance;
		if (s->offset + distance >= t->identity.size_bytes)
			return NULL;
		if (len > t->identity.size_bytes - s->offset - distance)
			len = t->identity.size_bytes - s->offset - distance;
		if (len > max_bytes)
			len = max_bytes;
		buf = malloc(len);
		if (!buf)
			return NULL;
		n = pread(fd, buf, len, (off_t)(s->offset + distance));
		if (n <= 0) {
			free(buf);
			return NULL;
		}
		*ret_len = (size_t)n;
		return buf;
	}
	return NULL;
}

/* Leaves only the bounds of functions that nothing names. */
static void drop_named(struct elf_table *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->extents_cnt; i++)
		if (!elf_name_at(t, t->extents[i].start))
			t->extents[kept++] = t->extents[i];
	t->extents_cnt = kept;
}

/* Adds the bounds of functions, in order. */
static void read_extents(int fd, uint64_t header_vaddr, uint64_t header_bytes, struct elf_table *t)
{
	struct unwind_bytes header = {.vaddr = header_vaddr}, frames = {0};
	_cleanup_free_ uint8_t *header_buf = NULL, *frames_buf = NULL;

	if (header_bytes > ELF_UNWIND_BYTES_MAX)
		return;
	header.data = header_buf = read_vaddr(fd, t, header_vaddr, header_bytes, &header.len);
	if (!header_buf || unwind_frames_vaddr(&header, &frames.vaddr))
		return;
	frames.data = frames_buf =
		read_vaddr(fd, t, frames.vaddr, ELF_UNWIND_BYTES_MAX, &frames.len);
	if (!frames_buf)
		return;
	perfmap_work_add(&t->work, header.len + frames.len);
	unwind_read(&header, &frames, &t->work, &t->extents, &t->extents_cnt, &t->extents_cap);
	if (t->extents_cnt)
		qsort(t->extents, t->extents_cnt, sizeof(*t->extents), compare_extents);
}

/* How far a function without a size may reach: to the end of the bounds around it, else to the next
 * ones. Where those are unknown, and functions of no symbol may lie behind it, it names its first
 * byte alone. */
static uint64_t reach_of(const struct elf_table *t, uint64_t start)
{
	size_t next;
	const struct elf_extent *around = elf_extent_around(t, start, &next);

	if (around)
		return around->start + around->size - start;
	if (!t->has_symtab)
		return 1;
	return next < t->extents_cnt ? t->extents[next].start - start : UINT64_MAX;
}

static void bound_open(struct elf_table *t)
{
	for (size_t i = 0; i < t->functions_cnt; i++) {
		struct elf_function *f = &t->functions[i];
		uint64_t reach = f->open ? reach_of(t, f->start) : UINT64_MAX;

		if (reach < f->size)
			f->size = (uint32_t)reach;
	}
}

/* One more file may be read for the table. */
static void allow_work(struct elf_table *t, int fd)
{
	struct stat st;

	t->work.limit += ELF_WORK_BASE;
	if (!fstat(fd, &st) && st.st_size > 0)
		t->work.limit += ELF_WORK_PER_BYTE * (uint64_t)st.st_size;
}

static void read_segments(Elf *elf, int fd, struct elf_table *t)
{
	uint64_t header_vaddr = 0, header_bytes = 0;
	size_t cnt = elf_file_headers(elf);

	for (size_t i = 0; i < cnt; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			continue;
		if (ph.p_type == PT_LOAD && ph.p_filesz && t->segments_cnt < ELF_SEGMENTS_MAX) {
			t->segments[t->segments_cnt++] = (struct elf_segment){
				.offset = ph.p_offset,
				.size = ph.p_filesz,
				.vaddr = ph.p_vaddr,
			};
		} else if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X)) {
			t->absent = (struct elf_segment){.size = ph.p_memsz, .vaddr = ph.p_vaddr};
			t->absent_cnt++;
		} else if (ph.p_type == PT_GNU_EH_FRAME) {
			header_vaddr = ph.p_vaddr;
			header_bytes = ph.p_filesz;
		}
	}
	if (header_bytes)
		read_extents(fd, header_vaddr, header_bytes, t);
}

enum model_reason elf_load(int fd, const struct elf_identity *identity,
			   struct elf_table **ret_table)
{
	_cleanup_elf_ Elf *elf = elf_file_open(fd);
	struct elf_table *t;
	enum model_reason reason;

	if (!elf)
		return REASON_FILE_MALFORMED;
	t = calloc(1, sizeof(*t));
	if (!t)
		return REASON_LIMIT;
	t->identity = *identity;
	allow_work(t, fd);
	read_debug_links(elf, t);
	reason = read_symtabs(elf, t, &t->has_symtab);
	if (reason != REASON_NAMED) {
		elf_free(t);
		return reason;
	}
	elf_settle(t);
	read_segments(elf, fd, t);
	bound_open(t);
	drop_named(t);
	if (t->is_runtime && !t->has_symtab) {
		elf_entries_add(elf, t);
		elf_settle(t);
		drop_named(t);
	}
	if (perfmap_work_exceeded(&t->work)) {
		elf_free(t);
		return REASON_LIMIT;
	}
	*ret_table = t;
	return REASON_NAMED;
}

/* Whether a debug file is that of the table's file. */
static enum model_reason check_debug(const struct elf_table *t, Elf *elf, int fd)
{
	struct elf_identity id = {0};
	uint32_t crc;

	read_build_id(elf, fd, &id);
	if (id.build_id_len && t->identity.build_id_len)
		return id.build_id_len == t->identity.build_id_len &&
				       !memcmp(id.build_id, t->identity.build_id, id.build_id_len)
			       ? REASON_NAMED
			       : REASON_FILE_CHANGED;
	if (!t->debuglink[0])
		return REASON_FILE_CHANGED;
	switch (debug_crc(fd, &crc)) {
	case 0:
		return crc == t->debuglink_crc ? REASON_NAMED : REASON_FILE_CHANGED;
	case -E2BIG:
	case -ENOMEM:
		return REASON_LIMIT;
	default:
		return REASON_FILE_MALFORMED;
	}
}

/* Adds the symbols of another file with the same addresses. */
static enum model_reason add_symbols_of(struct elf_table *t, Elf *elf, int fd)
{
	enum model_reason reason;
	bool has_symtab;

	allow_work(t, fd);
	reason = read_symtabs(elf, t, &has_symtab);
	elf_settle(t);
	if (!reason && perfmap_work_exceeded(&t->work))
		reason = REASON_LIMIT;
	if (!reason && !has_symtab)
		reason = REASON_NO_SYMBOL;
	return reason;
}

enum model_reason elf_add_debug(struct elf_table *table, int fd)
{
	_cleanup_elf_ Elf *elf = elf_file_open(fd);
	enum model_reason reason;

	if (!elf)
		return REASON_FILE_MALFORMED;
	reason = check_debug(table, elf, fd);
	if (!reason)
		reason = add_symbols_of(table, elf, fd);
	if (!reason)
		table->has_symtab = true;
	return reason;
}

enum model_reason elf_add_debugdata(struct elf_table *table, int fd, int scratch_fd)
{
	_cleanup_elf_ Elf *elf = NULL;

	if (!table->debugdata_bytes)
		return REASON_NO_SYMBOL;
	switch (debug_unpack(fd, table->debugdata_offset, table->debugdata_bytes, scratch_fd)) {
	case 0:
		break;
	case -E2BIG:
	case -ENOMEM:
		return REASON_LIMIT;
	default:
		return REASON_FILE_MALFORMED;
	}
	elf = elf_file_open(scratch_fd);
	return elf ? add_symbols_of(table, elf, scratch_fd) : REASON_FILE_MALFORMED;
}

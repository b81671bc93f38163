/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/elf_file.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/io.h"
#include "parse/elf.h"

#define SEGMENTS_LIMIT 1024 /* program headers that are looked at */
/* Every section has a name of some 20 bytes; most files have 40 of them. */
#define SECTION_NAMES_BYTES_MAX (1u << 20)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_DATA ELFDATA2LSB
#else
#define HOST_DATA ELFDATA2MSB
#endif

static bool read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	return io_read_at(fd, buf, len, offset) == (ssize_t)len;
}

/*
 * libelf makes an array of all sections as it opens a file, so their number is checked before. With
 * e_shnum 0 it stands in the first section header instead.
 */
static bool header_is_sane(int fd)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} h = {0};
	bool is64;
	uint64_t shoff, count;
	unsigned type, shnum, shentsize, phnum;

	if (!read_at(fd, &h, sizeof(h.e32), 0) || memcmp(h.ident, ELFMAG, SELFMAG))
		return false;
	is64 = h.ident[EI_CLASS] == ELFCLASS64;
	if ((!is64 && h.ident[EI_CLASS] != ELFCLASS32) || h.ident[EI_DATA] != HOST_DATA ||
	    (is64 && !read_at(fd, &h, sizeof(h.e64), 0)))
		return false;
	type = is64 ? h.e64.e_type : h.e32.e_type;
	shoff = is64 ? h.e64.e_shoff : h.e32.e_shoff;
	shnum = is64 ? h.e64.e_shnum : h.e32.e_shnum;
	shentsize = is64 ? h.e64.e_shentsize : h.e32.e_shentsize;
	phnum = is64 ? h.e64.e_phnum : h.e32.e_phnum;
	if ((type != ET_EXEC && type != ET_DYN) || phnum == PN_XNUM)
		return false;
	if (shnum || !shoff)
		return true;
	if (shentsize != (is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return false;
	if (is64) {
		Elf64_Shdr s;

		count = read_at(fd, &s, sizeof(s), shoff) ? s.sh_size : UINT64_MAX;
	} else {
		Elf32_Shdr s;

		count = read_at(fd, &s, sizeof(s), shoff) ? s.sh_size : UINT64_MAX;
	}
	return count <= ELF_SECTIONS_MAX;
}

Elf *elf_file_open(int fd)
{
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE || !header_is_sane(fd))
		return NULL;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	if (elf)
		elf_end(elf);
	return NULL;
}

size_t elf_file_headers(Elf *elf)
{
	size_t cnt;

	if (elf_getphdrnum(elf, &cnt))
		return 0;
	return cnt < SEGMENTS_LIMIT ? cnt : SEGMENTS_LIMIT;
}

size_t elf_file_names(Elf *elf)
{
	size_t index = 0;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &index) || !gelf_getshdr(elf_getscn(elf, index), &sh) ||
	    sh.sh_size > SECTION_NAMES_BYTES_MAX)
		return 0;
	return index;
}

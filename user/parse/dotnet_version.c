/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/dotnet_version.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define SECTIONS_MAX	  4096u /* usual programs have 40 */
#define SEGMENTS_MAX	  256u
#define NAMES_BYTES_MAX	  (4u << 20)  /* of one string table */
#define SYMBOLS_BYTES_MAX (24u << 20) /* a million of them */
#define LIBRARY_BYTES_MAX (64u << 20) /* libcoreclr.so has 7 MB */
#define CHUNK_BYTES	  (1u << 20)

#define INFO_SYMBOL  "DotNetRuntimeInfo"
#define CLASS_OBJECT "DllGetClassObject"
#define AOT_SECTION  "__managedcode"
#define LIBRARY_MARK "@(#)Version "
#define PATH_MARK    "/Microsoft.NETCore.App/"

/* What DotNetRuntimeInfo points at. */
struct runtime_info {
	char signature[18];
	char padding[2];
	int32_t version;
	uint8_t modules[3][24];
	int32_t runtime[4]; /* from version 2 on */
};
_Static_assert(sizeof(struct runtime_info) == 112, "as the runtime lays it out");

struct image {
	int fd;
	Elf64_Ehdr header;
	Elf64_Shdr *sections; /* owned */
	size_t sections_cnt;
};

static bool read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	return io_read_at(fd, buf, len, offset) == (ssize_t)len;
}

/* Owned bytes of a section with a NUL after them, or NULL. */
static void *read_section(const struct image *image, size_t i, size_t max, size_t *ret_len)
{
	const Elf64_Shdr *s;
	_cleanup_free_ char *bytes = NULL;

	if (i >= image->sections_cnt)
		return NULL;
	s = &image->sections[i];
	if (!s->sh_size || s->sh_size > max || s->sh_type == SHT_NOBITS)
		return NULL;
	bytes = malloc(s->sh_size + 1);
	if (!bytes || !read_at(image->fd, bytes, s->sh_size, s->sh_offset))
		return NULL;
	bytes[s->sh_size] = '\0';
	*ret_len = s->sh_size;
	return take_ptr(&bytes);
}

static bool open_image(int fd, struct image *image)
{
	Elf64_Ehdr *h = &image->header;
	size_t bytes;

	image->fd = fd;
	if (!read_at(fd, h, sizeof(*h), 0) || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    h->e_phentsize != sizeof(Elf64_Phdr) || !h->e_shnum || h->e_shnum > SECTIONS_MAX ||
	    h->e_phnum > SEGMENTS_MAX)
		return false;
	bytes = h->e_shnum * sizeof(Elf64_Shdr);
	image->sections = malloc(bytes);
	image->sections_cnt = h->e_shnum;
	return image->sections && read_at(fd, image->sections, bytes, h->e_shoff);
}

static bool has_section(const struct image *image, const char *name)
{
	size_t len;
	_cleanup_free_ char *names =
		read_section(image, image->header.e_shstrndx, NAMES_BYTES_MAX, &len);

	if (!names)
		return false;
	for (size_t i = 0; i < image->sections_cnt; i++)
		if (image->sections[i].sh_name < len &&
		    !strcmp(names + image->sections[i].sh_name, name))
			return true;
	return false;
}

/* Address of an exported object. */
static bool find_export(const struct image *image, const char *name, uint64_t *ret_address)
{
	_cleanup_free_ Elf64_Sym *symbols = NULL;
	_cleanup_free_ char *names = NULL;
	size_t bytes = 0, names_len = 0, i = 0;

	while (i < image->sections_cnt && image->sections[i].sh_type != SHT_DYNSYM)
		i++;
	symbols = read_section(image, i, SYMBOLS_BYTES_MAX, &bytes);
	if (!symbols)
		return false;
	names = read_section(image, image->sections[i].sh_link, NAMES_BYTES_MAX, &names_len);
	if (!names)
		return false;
	for (size_t k = 0; k < bytes / sizeof(*symbols); k++) {
		if (symbols[k].st_shndx == SHN_UNDEF || symbols[k].st_name >= names_len ||
		    strcmp(names + symbols[k].st_name, name))
			continue;
		*ret_address = symbols[k].st_value;
		return true;
	}
	return false;
}

static bool read_at_address(const struct image *image, uint64_t address, void *buf, size_t len)
{
	for (unsigned i = 0; i < image->header.e_phnum; i++) {
		Elf64_Phdr p;

		if (!read_at(image->fd, &p, sizeof(p), image->header.e_phoff + i * sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz && p.p_filesz - (address - p.p_vaddr) >= len)
			return read_at(image->fd, buf, len, p.p_offset + (address - p.p_vaddr));
	}
	return false;
}

/* Numbers of the runtime as people know them. False where they are none. */
static bool write_version(const int32_t numbers[3], char *ret_version)
{
	for (unsigned i = 0; i < 3; i++)
		if (numbers[i] < 0 || numbers[i] > 99999)
			return false;
	if (numbers[0] < 3 || numbers[0] > 999)
		return false;
	snprintf(ret_version, DOTNET_VERSION_BYTES, "%d.%d.%d", numbers[0], numbers[1],
		 numbers[2] / 100);
	return true;
}

void dotnet_version_executable(int fd, struct dotnet_executable *ret_executable)
{
	struct dotnet_executable found = {0};
	struct image image = {0};
	unsigned char ident[EI_NIDENT];
	struct runtime_info info;
	uint64_t address;

	*ret_executable = found;
	if (!read_at(fd, ident, sizeof(ident), 0) || memcmp(ident, ELFMAG, SELFMAG))
		return;
	found.is_32bit = ident[EI_CLASS] == ELFCLASS32;
	if (ident[EI_CLASS] == ELFCLASS64 &&
	    ident[EI_DATA] ==
		    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) &&
	    open_image(fd, &image)) {
		found.native_aot = has_section(&image, AOT_SECTION);
		found.class_object = find_export(&image, CLASS_OBJECT, &address);
		found.has_runtime = find_export(&image, INFO_SYMBOL, &address);
		if (found.has_runtime && read_at_address(&image, address, &info, sizeof(info)) &&
		    !memcmp(info.signature, INFO_SYMBOL, sizeof(INFO_SYMBOL)) && info.version >= 2)
			write_version(info.runtime, found.version);
	}
	free(image.sections);
	*ret_executable = found;
}

/* "8.0.3126.42015 @Commit": its first three numbers. One that ends with the piece may go on. */
static bool parse_mark(const char *text, char *ret_version)
{
	int32_t numbers[3];
	char after;

	return sscanf(text, "%5d.%5d.%5d%c", &numbers[0], &numbers[1], &numbers[2], &after) == 4 &&
	       after == '.' && write_version(numbers, ret_version);
}

bool dotnet_version_library(int fd, char ret_version[DOTNET_VERSION_BYTES])
{
	/* What a piece ends with may begin the mark: so much is looked at again. */
	const size_t again = sizeof(LIBRARY_MARK) + 32;
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES + 1);
	uint64_t at = 0;

	while (chunk && at < LIBRARY_BYTES_MAX) {
		ssize_t n = pread(fd, chunk, CHUNK_BYTES, (off_t)at);
		char *mark, *from = chunk;

		if (n <= 0)
			return false;
		chunk[n] = '\0';
		while ((mark = memmem(from, (size_t)(chunk + n - from), LIBRARY_MARK,
				      strlen(LIBRARY_MARK)))) {
			from = mark + strlen(LIBRARY_MARK);
			if (parse_mark(from, ret_version))
				return true;
		}
		if ((size_t)n < CHUNK_BYTES)
			return false;
		at += (uint64_t)n - again;
	}
	return false;
}

bool dotnet_version_path(const char *path, char ret_version[DOTNET_VERSION_BYTES])
{
	const char *mark = NULL, *at = path, *end;
	size_t len;

	while ((at = strstr(at, PATH_MARK))) {
		mark = at + strlen(PATH_MARK);
		at = mark;
	}
	if (!mark)
		return false;
	end = strchr(mark, '/');
	len = end ? (size_t)(end - mark) : 0;
	if (!len || len >= DOTNET_VERSION_BYTES || *mark < '0' || *mark > '9' ||
	    strspn(mark, ".-+0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") < len)
		return false;
	memcpy(ret_version, mark, len);
	ret_version[len] = '\0';
	return true;
}

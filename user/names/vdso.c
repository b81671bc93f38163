/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/vdso.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "parse/unwind_elf.h"

#define VDSO_BYTES_MAX 65536u /* two pages today */

/* The image ends with its section headers, or with its last loaded byte. */
static size_t image_bytes(const Elf64_Ehdr *e)
{
	const Elf64_Phdr *ph = (const void *)((const char *)e + e->e_phoff);
	size_t size = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;

	for (unsigned i = 0; i < e->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_offset + ph[i].p_filesz > size)
			size = ph[i].p_offset + ph[i].p_filesz;
	return size;
}

/* Through a descriptor like every other file: one way to load. */
static enum model_reason open_image(int *ret_fd)
{
	const Elf64_Ehdr *e = (const void *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_close_ int fd = -1;
	size_t size;

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64)
		return REASON_NO_SYMBOL;
	size = image_bytes(e);
	if (size > VDSO_BYTES_MAX)
		return REASON_LIMIT;
	fd = memfd_create("hotrun-vdso", MFD_CLOEXEC);
	if (fd < 0 || write(fd, e, size) != (ssize_t)size)
		return REASON_LIMIT;
	*ret_fd = take_fd(&fd);
	return REASON_NAMED;
}

struct unwind_table *vdso_load_unwind(void)
{
	_cleanup_close_ int fd = -1;
	struct unwind_layout layout = {0};
	struct unwind_table *table = NULL;
	struct cfi_rows rows = {0};
	int blob_fd = -1;
	struct stat st;

	if (!open_image(&fd) && !unwind_elf_compile(fd, &rows, &layout))
		blob_fd = memfd_create("hotrun-vdso", MFD_CLOEXEC);
	if (blob_fd >= 0 && (unwind_table_write(&rows, &layout, blob_fd) || fstat(blob_fd, &st)))
		cleanup_close(&blob_fd);
	if (blob_fd >= 0)
		table = unwind_table_read(blob_fd, (size_t)st.st_size);
	cfi_clear(&rows);
	return table;
}

enum model_reason vdso_load(struct elf_table **ret_table)
{
	_cleanup_close_ int fd = -1;
	struct elf_identity identity;
	enum model_reason reason = open_image(&fd);

	if (!reason)
		reason = elf_identify(fd, &identity);
	return reason ? reason : elf_load(fd, &identity, ret_table);
}

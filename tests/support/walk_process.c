/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "walk_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "parse/unwind_elf.h"

/* NULL: the file tells nothing. */
static struct unwind_table *compile(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int out = memfd_create("table", MFD_CLOEXEC);
	struct unwind_layout layout = {0};
	struct cfi_rows rows = {0};
	struct unwind_table *table = NULL;
	struct stat st;

	if (fd >= 0 && out >= 0 && !unwind_elf_compile(fd, &rows, &layout) &&
	    !unwind_table_write(&rows, &layout, out) && !fstat(out, &st))
		table = unwind_table_read(out, (size_t)st.st_size);
	else if (out >= 0)
		close(out);
	cfi_clear(&rows);
	return table;
}

static void add(struct walk_process *p, uint64_t start, uint64_t end, uint64_t offset,
		const char *path)
{
	struct walk_mapping *map = &p->mappings[p->cnt];
	struct unwind_table *table = *path == '/' ? compile(path) : NULL;

	*map = (struct walk_mapping){
		.start = start, .end = end, .kind = *path ? UNWIND_NO_TABLE : UNWIND_BY_FP};
	p->tables[p->cnt++] = table;
	if (!table || !unwind_table_bias(table, start, offset, &map->bias))
		return;
	map->kind = UNWIND_BY_TABLE;
	map->table = table;
}

int walk_process_read(struct walk_process *p, pid_t pid)
{
	_cleanup_fclose_ FILE *in = NULL;
	char name[64] = "/proc/self/maps", line[4096 + 128];

	if (pid)
		snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	in = fopen(name, "re");
	if (!in)
		return -errno;
	p->cnt = 0;
	while (p->cnt < WALK_MAPPINGS_MAX && fgets(line, sizeof(line), in)) {
		unsigned long start, end, offset;
		char rights[5] = "", path[4096] = "";

		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095[^\n]", &start, &end, rights,
			   &offset, path) >= 4 &&
		    rights[2] == 'x')
			add(p, start, end, offset, path);
	}
	return 0;
}

void walk_process_clear(struct walk_process *p)
{
	for (size_t i = 0; i < p->cnt; i++)
		unwind_table_free(p->tables[i]);
	p->cnt = 0;
}

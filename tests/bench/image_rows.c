/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows by which stacks are walked in a precompiled .NET image, for the live test that compares them
 * with the code itself, and to measure compiling them.
 *
 *   image_rows FILE            writes "RVA CFA OFFSET FP OFFSET" of each row, hex and decimal
 *   image_rows share FILE...   rows, functions left out and CPU time of each
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "parse/image_unwind.h"

static ssize_t read_at(void *source, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = pread(*(int *)source, buf, len, (off_t)offset);

	return n < 0 ? -errno : n;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compile(const char *path, struct cfi_rows *rows)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct perfmap_work work = {0};
	struct elf_segment code;

	if (fd < 0)
		return -errno;
	err = image_unwind_compile(read_at, &fd, &work, rows, &code);
	close(fd);
	return err;
}

static int write_rows(const char *path)
{
	struct cfi_rows rows = {0};
	int err = compile(path, &rows);

	for (size_t i = 0; i < rows.cnt; i++) {
		const struct unwind_row *row = &rows.rows[i].row;

		printf("%" PRIx64 " %u %d %u %d\n", rows.rows[i].vaddr, row->cfa, row->cfa_offset,
		       row->fp, row->fp_offset);
	}
	cfi_clear(&rows);
	if (err)
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
	return err ? 1 : 0;
}

static void share(const char *path)
{
	struct cfi_rows rows = {0};
	double before = cpu_ms();
	int err = compile(path, &rows);

	if (err)
		printf("%s: %s\n", path, strerror(-err));
	else
		printf("%s: %zu rows, %zu left out, %.1f ms\n", path, rows.cnt, rows.left_out,
		       cpu_ms() - before);
	cfi_clear(&rows);
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "share")) {
		for (int i = 2; i < argc; i++)
			share(argv[i]);
		return 0;
	}
	if (argc == 2)
		return write_rows(argv[1]);
	fprintf(stderr, "usage: image_rows FILE | share FILE...\n");
	return 2;
}

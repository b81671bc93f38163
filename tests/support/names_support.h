/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_NAMES_SUPPORT_H
#define HOTRUN_TESTS_NAMES_SUPPORT_H
/*
 * What the tests of names/ need of a host: a /proc tree in a temporary folder, and ELF files made
 * to measure. Helpers end the test where the host itself fails them.
 */
#include <stddef.h>
#include <stdint.h>

/* A temporary folder that plays /proc. */
struct fake_proc {
	char path[64];
};

void fake_proc_make(struct fake_proc *proc);
void fake_proc_remove(struct fake_proc *proc);

/* Formats a path below the folder into a static buffer; valid until the next call. */
const char *fake_path(const struct fake_proc *proc, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes a file below the folder, making its parent folders. */
void fake_file(const struct fake_proc *proc, const char *name, const void *bytes, size_t len);
void fake_text(const struct fake_proc *proc, const char *name, const char *text);
/* Memory of process 100 at an address, in a file with holes, and that its pages are there. */
void fake_process_memory(const struct fake_proc *proc, uint64_t address, const void *bytes,
			 size_t len);

/*
 * A process with stat (comm, start in ticks), status (NSpid "tgid 7"), cgroup, cmdline, maps and a
 * root folder TGID/root; exe is a link to the path.
 */
struct fake_process {
	uint32_t tgid;
	uint64_t start_ticks;
	const char *comm, *exe, *cgroup, *maps;
	const char *cmdline;
	size_t cmdline_len;
	const char *uid; /* NULL = ours */
};
void fake_process(const struct fake_proc *proc, const struct fake_process *process);

/* An ELF library: code at file offset = vaddr 0x1000, 0x1000 bytes. */
struct fake_symbol {
	const char *name;
	uint64_t value, size;
	uint8_t info; /* ELF64_ST_INFO */
};
struct fake_elf {
	const struct fake_symbol *symbols;
	size_t symbols_cnt;
	const uint64_t (*functions)[2]; /* start and size, by start: for the unwind table */
	size_t functions_cnt;
	uint8_t build_id; /* each of its 20 bytes; 0 = no note */
	const char *debuglink;
	uint32_t debuglink_crc;
	size_t debugdata_bytes; /* of .gnu_debugdata, which the caller appends to the image */
};
#define FAKE_ELF_BYTES 0x4000
/* Fills image[FAKE_ELF_BYTES]. */
void fake_elf(const struct fake_elf *elf, uint8_t *image);

/* A descriptor of a file in memory with those bytes. */
int fake_fd(const void *bytes, size_t len);
#endif

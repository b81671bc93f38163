/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_SHELF_H
#define HOTRUN_NAMES_SHELF_H
/*
 * Keeps what was made of files, for whom it was made: a table is given to processes of one party
 * (file_requests_party) alone, that whose process's file it was made of. Nothing that a file says
 * of itself lets it serve others: a build id, a time or an inode number (of a FUSE file system) can
 * be forged, a debug file or an assembly beside a file can be the party's own, and a worker that
 * its bytes took over can say anything of the files that it is given next.
 *
 * So each party has a file read once more, at its own expense, and tables that came out byte for
 * byte the same are kept once in memory. That shares more than the same file would: two containers
 * of one image have different devices in stat and in maps (overlayfs, Linux 6.18: st_dev 64 and 66,
 * equal inodes). What it costs, for libc, libcrypto and perl: 17 ms of CPU and 3 KB for each party
 * more. Tables of composite images are not shared: their parts are made of further files.
 *
 * Bounded in bytes and rows; the party that has most of them loses first, the longest unused. What
 * several have counts in equal parts. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "parse/elf.h"
#include "parse/image_table.h"
#include "parse/unwind_table.h"

/* A row looks 1 KB large to the bound; so many are also quick to look through. */
#define SHELF_ROWS_MAX	16384u
#define SHELF_ROW_BYTES 1024u

enum file_kind {
	FILE_ELF,	/* symbols */
	FILE_IMAGE,	/* functions of a precompiled .NET image */
	FILE_BUNDLE,	/* the list of what is bundled into a program */
	FILE_COMPONENT, /* names of an assembly of a composite image: a further part of its table */
	FILE_UNWIND,	/* how its code is unwound: of ELF, or of a precompiled .NET image */
};

/* A row, for as long as it is what it was. */
struct shelf_ref {
	uint32_t row; /* MODEL_NONE = none */
	uint32_t serial;
};

#define SHELF_NONE ((struct shelf_ref){MODEL_NONE, 0})

/* What a table was made of. */
struct shelf_label {
	enum file_kind kind; /* not COMPONENT */
	uint64_t party;
	uint32_t module;
	uint64_t inside; /* where a bundled image begins in the file; 0 = the file itself */
	struct elf_identity identity;
};

/* What is kept: one of the four. */
struct shelf_table {
	struct elf_table *elf;
	struct unwind_table *unwind;
	struct bundle_table *bundle;
	struct image_table *image;
};

struct shelf;

/* Owned, or NULL with errno ENOMEM. */
struct shelf *shelf_new(size_t memory_bytes);
void shelf_free(struct shelf *s);

/* Takes the table, in any case. Returns where it is, or SHELF_NONE: no room for it. Others may be
 * dropped for it. */
struct shelf_ref shelf_add(struct shelf *s, const struct shelf_label *label,
			   struct shelf_table *table);

/* Adds a further part to an image; takes fd. false: no room, it is gone, or others have it, too. */
bool shelf_add_part(struct shelf *s, struct shelf_ref ref, int fd, size_t bytes);

/* What is there, borrowed until the next call that adds; NULL: it was dropped. */
const struct shelf_table *shelf_table(const struct shelf *s, struct shelf_ref ref);
const struct shelf_label *shelf_label(const struct shelf *s, struct shelf_ref ref);
/* A number for the content: equal for tables that are kept once, and never given again. */
uint64_t shelf_content(const struct shelf *s, struct shelf_ref ref);
/* It was just used. */
void shelf_touch(struct shelf *s, struct shelf_ref ref);

/* Of the very same file: kind, inside, device, inode, change time and size. */
struct shelf_ref shelf_by_identity(const struct shelf *s, const struct shelf_label *label);
/* Of the same module row. */
struct shelf_ref shelf_by_module(const struct shelf *s, const struct shelf_label *label);

#define SHELF_ANY_SIZE UINT64_MAX

/* ELF symbols, by build id. A file and its stripped copy have one build id: a full table serves
 * both, a stripped one only files of its size (0 = only full ones, SHELF_ANY_SIZE = better than
 * nothing). */
struct shelf_ref shelf_by_build_id(const struct shelf *s, uint64_t party, const uint8_t *build_id,
				   uint8_t len, uint64_t size_bytes);

/* Bytes of all tables, and rows in use. */
size_t shelf_bytes(const struct shelf *s);
size_t shelf_rows(const struct shelf *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_ELF_H
#define HOTRUN_PARSE_ELF_H
/*
 * Function names and bounds of one ELF file (32 or 64 bit, the host's byte order), read through
 * libelf from a descriptor, never mapped: a file that shrinks meanwhile gives an error, not SIGBUS.
 * The content is hostile: sizes are checked against the file and the bounds below before anything
 * is allocated. A finished table is read-only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/blob.h"
#include "model/model.h"
#include "perfmap/work.h"

#define ELF_FILE_BYTES_MAX   (4ull << 30) /* debug files of browsers come near */
#define ELF_SYMBOLS_MAX	     4000000u	  /* of one section: 96 MB while it is read */
#define ELF_STRINGS_MAX	     (256u << 20) /* bytes of one string table, and of the names kept */
#define ELF_NAME_MAX	     1024u	  /* bytes of one name; the rest is cut */
#define ELF_SECTIONS_MAX     65536u
#define ELF_SEGMENTS_MAX     64u
#define ELF_UNWIND_BYTES_MAX (64u << 20) /* of .eh_frame */

/*
 * Work that reading a file may take: so much for each of its bytes, whatever it holds. The dearest
 * are rows of the unwind table (8 bytes), each with an entry of its own kind elsewhere in the file.
 */
#define ELF_WORK_PER_BYTE 64u
#define ELF_WORK_BASE	  (1u << 20)

/* What tells one file from another. A time of modification can be set by its owner, the one of its
 * change cannot (but on a file system of the owner's own making, e.g. FUSE). */
struct elf_identity {
	uint64_t dev, inode, size_bytes, ctime_ns;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len; /* 0 = none */
};

struct elf_function {
	uint64_t start;	    /* virtual address in the file */
	uint32_t size;	    /* bytes, at least 1 */
	uint32_t name : 28; /* offset in names */
	uint32_t rank : 3;  /* of aliases, less is better; ELF_RANK_ENTRY is the worst */
	uint32_t
		open : 1; /* has no size of its own: ends at the next one, or where its bounds do */
};

#define ELF_RANK_ENTRY 7 /* of a name that is no symbol's (elf_entries.h) */

struct elf_extent {
	uint64_t start;
	uint32_t size;
};

struct elf_segment {
	uint64_t offset, size, vaddr;
};

struct elf_table {
	struct elf_identity identity;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t segments_cnt;
	/* Code that a debug file tells of without having it; the offset is not known. */
	struct elf_segment absent;
	unsigned absent_cnt;
	struct elf_function *functions; /* by start, one for each */
	size_t functions_cnt, functions_cap;
	struct elf_extent *extents; /* functions without a symbol, from the unwind tables */
	size_t extents_cnt, extents_cap;
	char *names;
	size_t names_len, names_cap;
	bool has_symtab;     /* of its own or from a debug file: nothing is missing */
	bool is_runtime;     /* of .NET, by what it exports; not known of one from a worker */
	char debuglink[256]; /* file name in .gnu_debuglink, "" none */
	uint32_t debuglink_crc;
	uint64_t debugdata_offset,
		debugdata_bytes;  /* of .gnu_debugdata in the file, 0 bytes none */
	struct perfmap_work work; /* of loading it, and what was added */
	/* Owned; of a table that came from a worker: what the arrays lie in (elf_blob.h). */
	struct blob *blob;
	struct elf_table *debug; /* owned: symbols of its debug file, asked first; or NULL */
};

/* Where an address lies. */
struct elf_place {
	const char *name;  /* borrowed from the table; NULL = no symbol covers the address */
	uint64_t vaddr;	   /* of the address */
	uint64_t function; /* vaddr of the function's start; the address itself where not known */
	bool in_function;  /* bounds of the function are known */
};

/*
 * Checks that fd is an ELF program or library and reads what identifies it. Returns REASON_NAMED
 * or REASON_FILE_MALFORMED.
 */
enum model_reason elf_identify(int fd, struct elf_identity *ret_identity);

/*
 * Loads the table of a file. Returns REASON_NAMED with an owned table (a file without symbols is an
 * empty table; a .NET runtime without a symbol table has its entry points, see elf_entries.h),
 * REASON_FILE_MALFORMED, or REASON_LIMIT (also out of memory).
 */
enum model_reason elf_load(int fd, const struct elf_identity *identity,
			   struct elf_table **ret_table);

/*
 * Adds the symbols of the separate debug file of the table's file. It belongs to it if both have
 * the same build id or, where one of them has none, if its CRC is that of the debug link. Returns
 * REASON_NAMED with has_symtab; REASON_FILE_CHANGED: it belongs to another file; REASON_NO_SYMBOL:
 * it has no symbols either; REASON_FILE_MALFORMED or REASON_LIMIT. The table stays valid.
 */
enum model_reason elf_add_debug(struct elf_table *table, int fd);

/*
 * Adds the symbols packed in .gnu_debugdata; fd is the table's own file again, scratch_fd an empty
 * one in memory to unpack to. They are of functions alone, and without the exported ones:
 * has_symtab stays as it is. Same results.
 */
enum model_reason elf_add_debugdata(struct elf_table *table, int fd, int scratch_fd);

/*
 * For a debug file in place of its program: its code is what is mapped at start..end from
 * file_offset on. Where that cannot be (the lengths differ), it answers for no offset.
 */
void elf_place_code(struct elf_table *table, uint64_t start, uint64_t end, uint64_t file_offset);

/* Puts functions in order, keeps the best alias of each and closes those without a size. To be
 * called after adding functions, before the look-ups. Counts in table->work. */
void elf_settle(struct elf_table *table);

/* The name of the symbol that covers vaddr, borrowed from the table, or NULL. */
const char *elf_name_at(const struct elf_table *table, uint64_t vaddr);

void elf_free(struct elf_table *table);
size_t elf_memory_bytes(const struct elf_table *table);

/* The bounds that hold an address, the last of them to begin; NULL where none do. The bounds are in
 * order. ret_next, or NULL: the row of the first that begin behind it. */
const struct elf_extent *elf_extent_around(const struct elf_table *table, uint64_t vaddr,
					   size_t *ret_next);

/*
 * Finds the function at an offset in the file (that of the mapping plus the distance in it).
 * Returns false when no loaded part of the file holds it.
 */
bool elf_find(const struct elf_table *table, uint64_t file_offset, struct elf_place *ret_place);
#endif

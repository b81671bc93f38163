/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_METADATA_H
#define PERFMAP_IMAGES_METADATA_H
/*
 * Names in the metadata of one .NET assembly: types, methods, references to those of others. Only
 * the tables that names need are kept, with the heaps of strings and blobs. The content is hostile:
 * rows are checked when they are used, nothing recurses, walks over enclosing types are bounded,
 * and what is looked at is counted in work: past its limit there are no more names. Not for use
 * outside perfmap/. A loaded one is read-only, for any threads.
 *
 * Source: ECMA-335 6th edition, II.22 (tables), II.24.2 (streams and row widths).
 */
#include "perfmap/bytes.h"
#include "perfmap/images/pe.h"
#include "perfmap/names/type.h"

#define PERFMAP_METADATA_BYTES_MAX (32u << 20) /* of each heap, and of all tables kept */
#define PERFMAP_METADATA_ROWS_MAX  (1u << 24)  /* of a table: the room in a token */
#define PERFMAP_NESTING_MAX	   32u	       /* types in types; C# code has 3 or 4 */
/* Bytes of a name; the rest is cut. The runtime loads no type with a longer one
 * (MAX_CLASSNAME_LENGTH in dotnet/runtime src/coreclr/inc/corhdr.h). */
#define PERFMAP_IDENTIFIER_MAX 1024u

#define PERFMAP_MVID_BYTES PERFMAP_IMAGE_MVID_BYTES

enum perfmap_table {
	PERFMAP_MODULE = 0x00,
	PERFMAP_TYPE_REF = 0x01,
	PERFMAP_TYPE_DEF = 0x02,
	PERFMAP_METHOD_DEF = 0x06,
	PERFMAP_MEMBER_REF = 0x0a,
	PERFMAP_TYPE_SPEC = 0x1b,
	PERFMAP_ASSEMBLY = 0x20,
	PERFMAP_ASSEMBLY_REF = 0x23,
	PERFMAP_NESTED_CLASS = 0x29,
	PERFMAP_TABLES = 0x2d,
};

struct perfmap_rows {
	const uint8_t *rows; /* NULL: not kept */
	uint32_t cnt;
	uint32_t row_bytes;
};

/* Some of the metadata is looked at now: at is where it lies in the directory. What cannot be read
 * stays zeros. */
typedef void (*perfmap_metadata_need)(void *source, uint8_t *bytes, size_t at, size_t len);

struct perfmap_metadata {
	struct perfmap_rows tables[PERFMAP_TABLES];
	uint8_t *table_bytes, *string_bytes, *blob_bytes; /* owned */
	struct perfmap_bytes strings, blobs;
	uint8_t string_index, guid_index, blob_index; /* bytes of an index into these heaps */
	uint8_t mvid[PERFMAP_MVID_BYTES];
	size_t memory_bytes;
	/* Has bytes of it read before they are looked at, where it was opened so; NULL: all are. */
	perfmap_metadata_need need;
	void *source;
};

/*
 * Loads the metadata that lies in the directory. Returns 0; -ENODATA (directory is empty);
 * -EBADMSG, -E2BIG, -ENOMEM, or what read returned. perfmap_metadata_clear() is due after success.
 */
int perfmap_metadata_load(const struct perfmap_pe *pe, const struct perfmap_reader *r,
			  struct perfmap_directory directory, struct perfmap_metadata *ret);
/*
 * The same of a directory all of whose bytes can be read from offset 0 of the reader on, but its
 * rows, strings and blobs only when they are looked at: by need, each as often as that happens.
 * Without its mvid. Same results.
 */
int perfmap_metadata_open(const struct perfmap_reader *r, uint32_t bytes,
			  perfmap_metadata_need need, void *source, struct perfmap_metadata *ret);
/* Takes a zeroed one. */
void perfmap_metadata_clear(struct perfmap_metadata *md);

/* Reads a number in 1, 2 or 4 bytes, as in signatures and before blobs (II.23.2), and moves *at
 * behind it. False where there is none. */
bool perfmap_compressed(struct perfmap_bytes b, size_t *at, uint32_t *ret_value);

/* Where a type or the class of a member is; row 0 = nowhere. */
struct perfmap_token {
	enum perfmap_table table;
	uint32_t row;
};

/* Decodes a TypeDefOrRef index, as in signatures. Row 0 where it is no such thing. */
struct perfmap_token perfmap_type_token(uint32_t coded);

/* Rows of a table; row numbers begin at 1. */
uint32_t perfmap_metadata_rows(const struct perfmap_metadata *md, enum perfmap_table table);

/* Name of a method (METHOD_DEF, MEMBER_REF). Len 0 where there is no such row. */
struct perfmap_span perfmap_method_name(const struct perfmap_metadata *md,
					struct perfmap_work *work, struct perfmap_token method);
/* The type that a method is in (its class: TYPE_DEF, TYPE_REF, TYPE_SPEC). Row 0 where there is
 * none. */
struct perfmap_token perfmap_method_owner(const struct perfmap_metadata *md,
					  struct perfmap_token method);
/* Signature of a method or TYPE_SPEC. Len 0 where there is none. */
struct perfmap_bytes perfmap_token_blob(const struct perfmap_metadata *md,
					struct perfmap_token token);

/* Puts "Ns.Outer`2+Inner`1" of a TYPE_DEF or TYPE_REF, with nested for "+". False where there is no
 * such type. */
bool perfmap_put_type(const struct perfmap_metadata *md, struct perfmap_work *work,
		      struct perfmap_token type, const char *nested, struct perfmap_out *out);
/* Name of the assembly that a TYPE_DEF (this one) or TYPE_REF is said to be in; len 0 = not
 * told. */
struct perfmap_span perfmap_type_assembly(const struct perfmap_metadata *md,
					  struct perfmap_work *work, struct perfmap_token type);
/* Simple name of this assembly, or of a row of ASSEMBLY_REF. */
struct perfmap_span perfmap_assembly_name(const struct perfmap_metadata *md,
					  struct perfmap_work *work);
struct perfmap_span perfmap_assembly_ref_name(const struct perfmap_metadata *md,
					      struct perfmap_work *work, uint32_t row);
#endif

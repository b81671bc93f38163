/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/elf_blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ELF_BLOB 0x666c6568u

enum section { HEAD, FUNCTIONS, EXTENTS, NAMES };

/* All of a table but its arrays. */
struct head {
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	struct elf_segment absent;
	uint64_t debugdata_offset, debugdata_bytes;
	uint32_t segments_cnt, absent_cnt;
	uint32_t debuglink_crc;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	uint8_t has_symtab;
	char debuglink[256];
};

int elf_blob_write(const struct elf_table *table, int fd)
{
	struct head head = {
		.absent = table->absent,
		.debugdata_offset = table->debugdata_offset,
		.debugdata_bytes = table->debugdata_bytes,
		.segments_cnt = (uint32_t)table->segments_cnt,
		.absent_cnt = table->absent_cnt,
		.debuglink_crc = table->debuglink_crc,
		.build_id_len = table->identity.build_id_len,
		.has_symtab = table->has_symtab,
	};
	struct blob_writer w;

	memcpy(head.segments, table->segments, sizeof(head.segments));
	memcpy(head.build_id, table->identity.build_id, sizeof(head.build_id));
	memcpy(head.debuglink, table->debuglink, sizeof(head.debuglink));
	blob_begin(&w, fd, ELF_BLOB);
	blob_put(&w, HEAD, &head, sizeof(head));
	blob_put(&w, FUNCTIONS, table->functions, table->functions_cnt * sizeof(*table->functions));
	blob_put(&w, EXTENTS, table->extents, table->extents_cnt * sizeof(*table->extents));
	blob_put(&w, NAMES, table->names, table->names_len);
	return blob_end(&w);
}

static void set_head(struct elf_table *t, const struct head *head)
{
	memcpy(t->segments, head->segments, sizeof(t->segments));
	t->segments_cnt =
		head->segments_cnt < ELF_SEGMENTS_MAX ? head->segments_cnt : ELF_SEGMENTS_MAX;
	t->absent = head->absent;
	t->absent_cnt = head->absent_cnt;
	t->debugdata_offset = head->debugdata_offset;
	t->debugdata_bytes = head->debugdata_bytes;
	t->debuglink_crc = head->debuglink_crc;
	memcpy(t->identity.build_id, head->build_id, sizeof(t->identity.build_id));
	t->identity.build_id_len =
		head->build_id_len <= BUILD_ID_MAX ? head->build_id_len : BUILD_ID_MAX;
	t->has_symtab = head->has_symtab != 0;
	memcpy(t->debuglink, head->debuglink, sizeof(t->debuglink));
	t->debuglink[sizeof(t->debuglink) - 1] = '\0';
	/* It becomes part of a path: the name of a file, not of a folder above. */
	if (strchr(t->debuglink, '/'))
		t->debuglink[0] = '\0';
}

struct elf_table *elf_blob_read(int fd, size_t bytes)
{
	struct blob *blob = blob_open(fd, bytes, ELF_BLOB);
	struct elf_table *t = blob ? calloc(1, sizeof(*t)) : NULL;
	const struct head *head;
	size_t cnt;

	if (!t) {
		blob_free(blob);
		return NULL;
	}
	t->blob = blob;
	head = blob_rows(blob, HEAD, sizeof(*head), &cnt);
	if (cnt != 1) {
		elf_free(t);
		errno = EBADMSG;
		return NULL;
	}
	set_head(t, head);
	/* Only ever read: the pages are. */
	t->functions = (void *)blob_rows(blob, FUNCTIONS, sizeof(*t->functions), &t->functions_cnt);
	t->extents = (void *)blob_rows(blob, EXTENTS, sizeof(*t->extents), &t->extents_cnt);
	t->names = (void *)blob_text(blob, NAMES, &t->names_len);
	if (!t->names)
		t->names_len = 0;
	return t;
}

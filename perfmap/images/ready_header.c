/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/ready_header.h"

#include <errno.h>

#include "perfmap/bytes.h"

#define CLI_BYTES    72u
#define CLI_METADATA 8u
#define CLI_NATIVE   64u

#define HEADER_SIGNATURE 0x00525452u /* "RTR" */
#define HEADER_BYTES	 8u	     /* signature, version; then a core header: */
#define CORE_BYTES	 8u	     /* flags and number of sections */
#define SECTION_BYTES	 12u
#define SECTIONS_MAX	 64u

enum {
	RUNTIME_FUNCTIONS = 102,
	METHOD_ENTRY_POINTS = 103,
	DELAY_LOAD_THUNKS = 106,
	INSTANCE_ENTRY_POINTS = 109,
	MANIFEST_METADATA = 112,
	COMPONENT_ASSEMBLIES = 115,
	MANIFEST_MVIDS = 118,
	HOT_COLD_MAP = 120,
};

static void note_section(struct perfmap_ready_sections *s, uint32_t type,
			 struct perfmap_directory d)
{
	switch (type) {
	case RUNTIME_FUNCTIONS:
		s->runtime_functions = d;
		break;
	case METHOD_ENTRY_POINTS:
		s->methods = d;
		break;
	case DELAY_LOAD_THUNKS:
		s->thunks = d;
		break;
	case INSTANCE_ENTRY_POINTS:
		s->instances = d;
		break;
	case MANIFEST_METADATA:
		s->manifest = d;
		break;
	case COMPONENT_ASSEMBLIES:
		s->components = d;
		break;
	case MANIFEST_MVIDS:
		s->mvids = d;
		break;
	case HOT_COLD_MAP:
		s->hot_cold = d;
		break;
	}
}

int perfmap_cli_header(const struct perfmap_pe *pe, const struct perfmap_reader *r,
		       struct perfmap_directory cli, struct perfmap_directory *ret_metadata,
		       struct perfmap_directory *ret_native)
{
	uint8_t head[CLI_BYTES];
	int err;

	if (cli.bytes < CLI_BYTES)
		return -ENODATA;
	err = perfmap_pe_read(pe, r, cli.rva, head, sizeof(head));
	if (err)
		return err;
	*ret_metadata = perfmap_directory_at(head + CLI_METADATA);
	*ret_native = perfmap_directory_at(head + CLI_NATIVE);
	return 0;
}

int perfmap_ready_core(const struct perfmap_pe *pe, const struct perfmap_reader *r, uint32_t rva,
		       struct perfmap_ready_sections *ret_sections)
{
	uint8_t head[CORE_BYTES], rows[SECTIONS_MAX * SECTION_BYTES];
	struct perfmap_ready_sections s = {0};
	uint32_t cnt;
	int err = perfmap_pe_read(pe, r, rva, head, sizeof(head));

	if (err)
		return err;
	cnt = perfmap_u32_at(head + 4);
	if (cnt > SECTIONS_MAX)
		return -E2BIG;
	err = perfmap_pe_read(pe, r, rva + CORE_BYTES, rows, cnt * SECTION_BYTES);
	for (uint32_t i = 0; !err && i < cnt; i++)
		note_section(&s, perfmap_u32_at(rows + i * SECTION_BYTES),
			     perfmap_directory_at(rows + i * SECTION_BYTES + 4));
	if (!err)
		*ret_sections = s;
	return err;
}

int perfmap_ready_header(const struct perfmap_pe *pe, const struct perfmap_reader *r,
			 struct perfmap_ready_sections *ret_sections,
			 struct perfmap_directory *ret_metadata)
{
	struct perfmap_directory metadata, native;
	uint8_t head[HEADER_BYTES];
	int err = perfmap_cli_header(pe, r, pe->cli, &metadata, &native);

	if (err)
		return err;
	if (native.bytes < HEADER_BYTES + CORE_BYTES)
		return -ENODATA;
	err = perfmap_pe_read(pe, r, native.rva, head, sizeof(head));
	if (err)
		return err;
	if (perfmap_u32_at(head) != HEADER_SIGNATURE)
		return -ENODATA;
	err = perfmap_ready_core(pe, r, native.rva + HEADER_BYTES, ret_sections);
	if (!err)
		*ret_metadata = metadata;
	return err;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_READY_HEADER_H
#define PERFMAP_IMAGES_READY_HEADER_H
/*
 * Where the tables of a ready-to-run image lie: its CLI header and the header of its native code.
 * The content is hostile: directories are not checked here, but where they are read. For perfmap/
 * and parse/image_unwind.c. Pure but for what the reader does.
 *
 * Source: ECMA-335 II.25.3.3 (CLI header); dotnet/runtime
 * docs/design/coreclr/botr/readytorun-format.md.
 */
#include "perfmap/images/pe.h"

/* Sections that we read; bytes 0 = not there. */
struct perfmap_ready_sections {
	struct perfmap_directory runtime_functions, methods, thunks, instances, manifest,
		components, mvids, hot_cold;
};

/* What a CLI header tells of metadata and native code. 0, -ENODATA (no such header), -EBADMSG,
 * -E2BIG, or what read returned. */
int perfmap_cli_header(const struct perfmap_pe *pe, const struct perfmap_reader *r,
		       struct perfmap_directory cli, struct perfmap_directory *ret_metadata,
		       struct perfmap_directory *ret_native);

/* The core header at an RVA: of the image, or of an assembly in a composite one. Errors as above.
 */
int perfmap_ready_core(const struct perfmap_pe *pe, const struct perfmap_reader *r, uint32_t rva,
		       struct perfmap_ready_sections *ret_sections);

/* The image's own. Errors as above. */
int perfmap_ready_header(const struct perfmap_pe *pe, const struct perfmap_reader *r,
			 struct perfmap_ready_sections *ret_sections,
			 struct perfmap_directory *ret_metadata);
#endif

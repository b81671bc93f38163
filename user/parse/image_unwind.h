/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_IMAGE_UNWIND_H
#define HOTRUN_PARSE_IMAGE_UNWIND_H
/*
 * Compiles the unwind data of a precompiled .NET image (x64) into the rows by which stacks are
 * walked (bpf/events.h, cfi.h). Handlers (EH funclets) are functions of their own there, which
 * leave the frame pointer of their method alone. Epilogues and frame pointers, of which the data
 * says nothing, are found in the code (epilogue.h). The content is hostile: work is counted, rows
 * are bounded, and what cannot be expressed becomes a row that says so. In a worker (parse.h) only.
 *
 * Source: Microsoft PE/COFF specification (exception directory), unwind_info.h; dotnet/runtime
 * src/coreclr/tools/aot/ILCompiler.ReadyToRun/Compiler/DependencyAnalysis/ReadyToRun/Target_X64/
 * ImportThunk.cs (stubs that load what they call later).
 */
#include "parse/cfi.h"
#include "perfmap/images/image.h"

/* Of an image, with all unwind data between the first and the last. */
#define IMAGE_UNWIND_BYTES_MAX (64u << 20)

/*
 * Fills rows, which must be empty: cfi_row.vaddr is the RVA. read and source as of
 * perfmap_image_load(): an image in another file is read by adding where it begins. work->limit is
 * set as of an image of this length. ret_code: where the code lies in the image, vaddr its RVA.
 * Returns 0, or
 *	-ENOEXEC	not a PE file, or not of code for Linux
 *	-ENOTSUP	arm64
 *	-ENODATA	nothing precompiled inside
 *	-EBADMSG	malformed or cut short
 *	-E2BIG		more than the bounds, or more work
 *	-ENOMEM, or what read returned.
 * What was found is kept, in order.
 */
int image_unwind_compile(perfmap_image_read read, void *source, struct perfmap_work *work,
			 struct cfi_rows *rows, struct elf_segment *ret_code);
#endif

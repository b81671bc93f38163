/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FAKE_BUNDLE_H
#define HOTRUN_TESTS_FAKE_BUNDLE_H
/*
 * A single-file .NET program made to measure: an ELF file of one segment that holds the mark, then
 * what is bundled, then the list of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_BUNDLE_DATA    0x100u /* the segment */
#define FAKE_BUNDLE_MARK    0x140u /* eight bytes of the list's offset, then the mark */
#define FAKE_BUNDLE_FILES   0x200u /* each of 0x100 bytes: A.dll, B.dll, compressed C.dll */
#define FAKE_BUNDLE_LIST    0x500u
#define FAKE_BUNDLE_ENTRIES (FAKE_BUNDLE_LIST + 12 + 3 + 40)
#define FAKE_BUNDLE_ENTRY   (25 + 1 + 5) /* bytes of one */
#define FAKE_BUNDLE_BYTES   (FAKE_BUNDLE_ENTRIES + 3 * FAKE_BUNDLE_ENTRY)

/* Fills bytes[FAKE_BUNDLE_BYTES]. */
void fake_bundle(uint8_t *bytes);
#endif

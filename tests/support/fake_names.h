/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FAKE_NAMES_H
#define HOTRUN_TESTS_FAKE_NAMES_H
/*
 * A precompiled .NET image with names: assembly "Shop", as small as it gets, laid out by hand. Its
 * functions (FAKE_NAMES_FUNCTIONS), each 0x20 bytes from FAKE_IMAGE_CODE_OFFSET on:
 *
 *	0  Shop.Cart::Add		1  its handler		2  bool Shop.Cart::Has
 *	3  Shop.Cart+Line::.ctor	4  Shop.Box`1[System.Int32]::Get
 *	5  [Acme] Acme.List`1[Shop.Cart+Line]::Push		6  Shop.Cart::Has<__Canon>
 *	7  the cold part of 0
 */
#include <stddef.h>
#include <stdint.h>

#include "fake_image.h"

#define FAKE_NAMES_FUNCTIONS 8u
#define FAKE_NAMES_RVA	     0x12000u
#define FAKE_NAMES_OFFSET    0xa00u
#define FAKE_NAMES_BYTES     0x600u
#define FAKE_NAMES_IMAGE     (FAKE_NAMES_OFFSET + FAKE_NAMES_BYTES)

/* Offsets in the file of what tests spoil. */
struct fake_names {
	size_t cli, header, sections, methods, instances, hot_cold, metadata, tables, rows, strings,
		blobs, guids;
};

/* Fills image[FAKE_NAMES_IMAGE]. */
void fake_names(uint16_t machine, uint8_t *image, struct fake_names *ret_places);

/* Makes it a composite image of one assembly, "Acme" by its manifest, whose metadata is
 * elsewhere. */
void fake_names_composite(uint8_t *image, const struct fake_names *places);

/* What its version id begins with; all bytes are this. */
#define FAKE_NAMES_MVID 0x5a
#endif

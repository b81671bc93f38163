/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_HELD_BYTES_H
#define HOTRUN_TESTS_HELD_BYTES_H
/*
 * Bytes in memory, to be read as the parsers of perfmap/ read a file.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct held_bytes {
	const uint8_t *data; /* borrowed */
	size_t len;
	uint64_t fail_at; /* reading beyond fails with -EIO; 0 = never */
	size_t reads;	  /* so far */
};

/* A perfmap_image_read; source is a struct held_bytes. */
ssize_t held_bytes_read(void *source, void *buf, size_t len, uint64_t offset);
#endif

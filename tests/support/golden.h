/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_GOLDEN_H
#define HOTRUN_TESTS_GOLDEN_H
/*
 * Compares text with tests/golden/<name>, byte by byte. HOTRUN_RECORD=1 in the environment writes
 * the file instead: read the difference before it is committed. Runs from the top of the tree.
 */
#include <stddef.h>

/* Fails the criterion test at the first line that differs. */
void golden_expect(const char *name, const char *text, size_t len);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_STORE_FOLDER_H
#define HOTRUN_TESTS_STORE_FOLDER_H
/*
 * What the tests of the store share: each runs in a process of its own, in a folder of its own
 * (its working directory), which is removed after it. Helpers end the test where they fail.
 */
#include <stdbool.h>

#include "model/model.h"

extern char folder[64]; /* of this test: an absolute path */

void enter_folder(void);
/* The same in memory, where there is such a file system: for what flushes again and again. */
void enter_memory_folder(void);
void leave_folder(void);

/* Reads the capture and expects it to be like the model. */
void expect_equal(const char *path, const struct model *m);

/* What store_read() and store_create() say of that path: 0 or a negative errno. */
int read_error(const char *path);
int create_error(const char *path);

void put_file(const char *path, const char *content);

/*
 * From here on, this process is killed by its n-th change of a file through SQLite (write,
 * truncate, unlink): before that change, or with half of the bytes written. What a kill leaves
 * depends only on the changes before it: all n, until the process ends by itself, are all instants.
 */
void die_at_change(unsigned int n, bool half);
/* Runs change(ctx) in a child that dies so; returns whether it was killed. Fails if it ended in any
 * other way than by returning 0. */
bool killed_at_change(unsigned int n, bool half, int (*change)(void *ctx), void *ctx);

/* Entries of the working directory. */
int count_files(void);

/* What f says when the nobody user asks (root only; else the same user), from a child. */
int as_nobody(int (*f)(const char *), const char *path);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_PAPERS_H
#define HOTRUN_WATCH_PAPERS_H
/*
 * The report and the page of finished captures, written one after the other by a process of their own
 * (this program again, `hotrun report` and `hotrun flame`) at low priority: a large capture neither
 * delays the next slice nor brings the recorder down with it. NAME.hotrun gets NAME.txt and NAME.html,
 * mode 0600, under a temporary name (".NAME.txt.new") until they are whole. No threads.
 */
#include <stdbool.h>
#include <stdint.h>

struct papers;

/* dir_fd is borrowed until papers_free(). Returns it owned, or NULL with errno. */
struct papers *papers_new(int dir_fd);
/* Puts a capture (its name in the folder, ending in .hotrun; copied) into the queue. 0; -E2BIG where too
 * many wait; -ENOMEM. */
int papers_add(struct papers *p, const char *name);
/* Looks whether the running one has ended (or has run for too long: it is killed), and starts the next.
 * Returns 1 and the name of a capture whose papers are done now (borrowed until the next call; *ret_err 0
 * or why they are not: negative errno, -ETIMEDOUT), else 0. For once a slice; never waits. */
int papers_look(struct papers *p, uint64_t now_ns, const char **ret_name, int *ret_err);
/* True while it waits or is being written; and how many do. */
bool papers_has(const struct papers *p, const char *name);
unsigned int papers_pending(const struct papers *p);
/* Ends the one that runs. Takes NULL. */
void papers_free(struct papers *p);
#endif

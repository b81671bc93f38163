/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_ARTIFACTS_H
#define HOTRUN_WATCH_ARTIFACTS_H
/*
 * The report and the page of finished captures, written one after the other by a process of their
 * own (this program again, `hotrun report` and `hotrun flame`) at low priority: a large capture
 * neither delays the next slice nor brings the recorder down with it (it is the first to go when
 * memory runs out, and ends with the thread that looks). It holds no capability (base/confine.h),
 * only the user's own files, of which the folder is one. NAME.hotrun gets NAME.txt and NAME.html,
 * mode 0600, under a temporary name (".NAME.txt.new") until they are whole; and its trunks (`hotrun
 * export --format trunks`), for the caller alone. No threads; the caller leaves its children to it.
 */
#include <stdbool.h>
#include <stdint.h>

#define ARTIFACTS_QUEUE 64
/* For one artifact: of a capture of 5 minutes it takes about a second of CPU time, which at this
 * priority may be minutes on a host that is overloaded. */
#define ARTIFACTS_LIMIT_NS 600000000000ull

struct artifacts;

/* dir_fd is borrowed until artifacts_free(). Returns it owned, or NULL with errno. */
struct artifacts *artifacts_new(int dir_fd);
/* The same with another program (copied) and another time for one artifact. */
struct artifacts *artifacts_new_with(int dir_fd, const char *program, uint64_t limit_ns);
/* Puts a capture (its name in the folder, ending in .hotrun; copied) into the queue. 0; -EINVAL no
 * such name; -E2BIG where ARTIFACTS_QUEUE wait; -ENOMEM. */
int artifacts_add(struct artifacts *p, const char *name);
/*
 * Looks whether the running one has ended (or has run for too long: it is killed), and starts the
 * next. now_ns: CLOCK_MONOTONIC. Returns 1 and the name of a capture whose artifacts are done now
 * (borrowed until the next call; *ret_err 0 or why not both are there: negative errno, -ETIMEDOUT,
 * -EIO where the program failed), else 0. For once a slice; never waits.
 */
int artifacts_look(struct artifacts *p, uint64_t now_ns, const char **ret_name, int *ret_err);
/* The trunks of the capture that artifacts_look() returned last, as a file without a name, owned
 * by the caller; or negative errno: they could not be written, no failure of its artifacts. */
int artifacts_take_trunks(struct artifacts *p);
/* True while it waits or is being written; and how many do. */
bool artifacts_has(const struct artifacts *p, const char *name);
unsigned int artifacts_pending(const struct artifacts *p);
/* Ends the one that runs. Takes NULL. */
void artifacts_free(struct artifacts *p);
#endif

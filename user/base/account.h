/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_ACCOUNT_H
#define HOTRUN_BASE_ACCOUNT_H
/*
 * The user that children are to be: looked up once, at the start, in /etc/passwd and /etc/group. No
 * name service (NSS) is asked: the static program has none, and an image may have no such files.
 * Who is not in them is written UID:GID. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ACCOUNT_GROUPS_MAX 64
#define ACCOUNT_TEXT_BYTES 256

struct account {
	uid_t uid;
	gid_t gid;
	gid_t groups[ACCOUNT_GROUPS_MAX]; /* gid among them */
	size_t groups_cnt;
	char name[ACCOUNT_TEXT_BYTES], home[ACCOUNT_TEXT_BYTES]; /* "" = of UID:GID */
};

/*
 * text: a name, a uid that is in etc/passwd, or UID:GID, which is taken as it is. etc: the folder
 * of passwd and group, "/etc". 0; -EINVAL not one of these; -ENOENT no such user; -E2BIG more than
 * ACCOUNT_GROUPS_MAX groups, or a name or home that is too long.
 */
int account_find(const char *text, const char *etc, struct account *ret_account);

/* Whether the calling thread may become it: it is it already, or holds CAP_SETUID and
 * CAP_SETGID. */
bool account_is_open(const struct account *account);

/*
 * Becomes it, groups first, between fork() and exec or in a process that has one thread.
 * keep_saved: the saved uid stays, so that the parent, which may hold no CAP_KILL, can still signal
 * this process; becoming it once more without lets go of that. From the second time on no
 * capability is needed. 0 or negative errno.
 */
int account_become(const struct account *account, bool keep_saved);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/account.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/privileges.h"
#include "base/text.h"

/* (uid_t)-1 means "as it is" to the kernel. */
#define ID_MAX (UINT32_MAX - 1)

static FILE *open_in(const char *etc, const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/%s", etc, name) < 0) {
		path = NULL;
		errno = ENOMEM;
		return NULL;
	}
	return fopen(path, "re");
}

/* UID:GID; 0 or -EINVAL. */
static int parse_ids(const char *text, struct account *a)
{
	const char *colon = strchr(text, ':');
	uint64_t uid, gid;
	char first[16];

	if ((size_t)(colon - text) >= sizeof(first))
		return -EINVAL;
	memcpy(first, text, (size_t)(colon - text));
	first[colon - text] = '\0';
	if (text_parse_u64(first, 0, ID_MAX, &uid) || text_parse_u64(colon + 1, 0, ID_MAX, &gid))
		return -EINVAL;
	a->uid = (uid_t)uid;
	a->gid = (gid_t)gid;
	return 0;
}

static int copy(char buf[static ACCOUNT_TEXT_BYTES], const char *text)
{
	size_t len = strlen(text);

	if (len >= ACCOUNT_TEXT_BYTES)
		return -E2BIG;
	memcpy(buf, text, len + 1);
	return 0;
}

static int find_user(const char *text, const char *etc, struct account *a)
{
	_cleanup_fclose_ FILE *file = open_in(etc, "passwd");
	uint64_t uid = UINT64_MAX;
	struct passwd *p;
	int err;

	if (!file)
		return -errno;
	/* Not a number: a name. */
	if (text_parse_u64(text, 0, ID_MAX, &uid))
		uid = UINT64_MAX;
	while ((p = fgetpwent(file)))
		if (uid == UINT64_MAX ? !strcmp(p->pw_name, text) : p->pw_uid == uid)
			break;
	if (!p)
		return -ENOENT;
	a->uid = p->pw_uid;
	a->gid = p->pw_gid;
	err = copy(a->name, p->pw_name);
	return err ?: copy(a->home, p->pw_dir);
}

static int add_group(struct account *a, gid_t gid)
{
	for (size_t i = 0; i < a->groups_cnt; i++)
		if (a->groups[i] == gid)
			return 0;
	if (a->groups_cnt == ACCOUNT_GROUPS_MAX)
		return -E2BIG;
	a->groups[a->groups_cnt++] = gid;
	return 0;
}

/* Those that list it. A system without the file has none. */
static int find_groups(const char *etc, struct account *a)
{
	_cleanup_fclose_ FILE *file = open_in(etc, "group");
	struct group *g;
	int err = add_group(a, a->gid);

	while (!err && file && *a->name && (g = fgetgrent(file)))
		for (char **member = g->gr_mem; !err && *member; member++)
			if (!strcmp(*member, a->name))
				err = add_group(a, g->gr_gid);
	return err;
}

int account_find(const char *text, const char *etc, struct account *ret_account)
{
	struct account a = {0};
	int err;

	if (!*text)
		return -EINVAL;
	err = strchr(text, ':') ? parse_ids(text, &a) : find_user(text, etc, &a);
	if (!err)
		err = find_groups(etc, &a);
	if (!err)
		*ret_account = a;
	return err;
}

bool account_is_open(const struct account *account)
{
	uint64_t needed = PRIVILEGE(CAP_SETUID) | PRIVILEGE(CAP_SETGID);

	return (account->uid == geteuid() && account->gid == getegid()) ||
	       (privileges_held() & needed) == needed;
}

int account_become(const struct account *a, bool keep_saved)
{
	uid_t saved = keep_saved ? (uid_t)-1 : a->uid;

	/* Only who has CAP_SETGID; the groups of a second time are those of the first. */
	if (setgroups(a->groups_cnt, a->groups) && (errno != EPERM || getegid() != a->gid))
		return -errno;
	if (setresgid(a->gid, a->gid, a->gid) || setresuid(a->uid, a->uid, saved))
		return -errno;
	return 0;
}

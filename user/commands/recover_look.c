/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/recover_look.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/text.h"
#include "commands/command.h"

/* Between two looks: who is traced at work stops some hundred times a second, and cpulimit has a
 * period of a tenth of one. */
#define AGAIN_NS 150000000

void recover_look_init(struct recover_look *l, struct file_requests *requests)
{
	*l = (struct recover_look){0};
	left_reader_init(&l->reader, requests);
}

void recover_look_clear(struct recover_look *l)
{
	for (size_t i = 0; i < l->cnt; i++)
		free(l->rows[i]);
	free(l->rows);
	left_reader_clear(&l->reader);
}

static bool has_findings(const struct left_process *p)
{
	struct recover_finding *findings = calloc(RECOVER_FINDINGS_MAX, sizeof(*findings));
	bool has = findings && recover_judge(p, findings);

	free(findings);
	return has;
}

/* Whether another look decides. */
static bool is_suspect(const struct left_process *p)
{
	return p->stopped_cnt || p->traced_cnt || p->freeze.frozen != LEFT_NOT_FROZEN;
}

/* 0 or -errno. */
static int keep(struct recover_look *l, const struct left_process *left)
{
	if (l->cnt >= RECOVER_ROWS_MAX) {
		l->cut = true;
		return 0;
	}
	if (GROW(l->rows, l->cnt, l->cap))
		return -ENOMEM;
	l->rows[l->cnt] = calloc(1, sizeof(**l->rows));
	if (!l->rows[l->cnt])
		return -ENOMEM;
	l->rows[l->cnt++]->found = *left;
	return 0;
}

/* What its own files tell: of a .NET process, else its name alone. */
static void add_inside(struct recover_look *l, struct left_process *left)
{
	struct dotnet_list list = {0};
	int err = dotnet_read(l->reader.requests, left->tgid, &list);

	l->unreadable += err == -EACCES || err == -EPERM;
	l->hung += err == -ETIMEDOUT;
	if (!err)
		left_behind_add_dotnet(&l->reader, &list.rows[0], left);
	else
		left_behind_add_name(&l->reader, left);
	dotnet_clear(&list);
}

int recover_look_one(struct recover_look *l, uint32_t tgid)
{
	_cleanup_free_ struct left_process *left = malloc(sizeof(*left));
	int err = left ? left_behind_read(&l->reader, tgid, left) : -ENOMEM;

	if (err)
		return err;
	l->looked_at++;
	l->freeze_unseen += left->freeze.unseen;
	if (!recover_refusal(left, (uint32_t)getpid()))
		add_inside(l, left);
	return keep(l, left);
}

/* The row of a pid, or NULL; rows are by pid. */
static const struct dotnet_target *find_dotnet(const struct dotnet_list *list, uint32_t tgid)
{
	size_t low = 0, high = list->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->rows[middle].process.tgid < tgid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->cnt && list->rows[low].process.tgid == tgid ? &list->rows[low] : NULL;
}

static int look_at(struct recover_look *l, const struct dotnet_list *list, uint32_t tgid,
		   struct left_process *left)
{
	const struct dotnet_target *dotnet = find_dotnet(list, tgid);

	/* Processes that go meanwhile are none of those that stand. */
	if (left_behind_read(&l->reader, tgid, left) || recover_refusal(left, (uint32_t)getpid()))
		return 0;
	l->looked_at++;
	l->freeze_unseen += left->freeze.unseen;
	if (dotnet)
		left_behind_add_dotnet(&l->reader, dotnet, left);
	if (!has_findings(left))
		return 0;
	if (!dotnet)
		left_behind_add_name(&l->reader, left);
	return keep(l, left);
}

static int compare_rows(const void *a, const void *b)
{
	const struct recover_row *x = *(struct recover_row *const *)a;
	const struct recover_row *y = *(struct recover_row *const *)b;

	return COMPARE(x->found.tgid, y->found.tgid);
}

int recover_look_all(struct recover_look *l)
{
	_cleanup_free_ struct left_process *left = malloc(sizeof(*left));
	struct dotnet_list list = {0};
	int err = left ? dotnet_read(l->reader.requests, 0, &list) : -ENOMEM;
	const struct dirent *entry;
	uint64_t tgid;
	DIR *dir;

	if (err)
		return err;
	l->unreadable = list.unreadable;
	l->hung = list.hung;
	l->cut = list.cut;
	dir = opendir(l->reader.requests->proc_path);
	err = dir ? 0 : -errno;
	while (!err && !stop_requested && (entry = readdir(dir)))
		if (!text_parse_u64(entry->d_name, 1, UINT32_MAX, &tgid))
			err = look_at(l, &list, (uint32_t)tgid, left);
	if (dir)
		closedir(dir);
	dotnet_clear(&list);
	if (l->cnt)
		qsort(l->rows, l->cnt, sizeof(*l->rows), compare_rows);
	return !err && stop_requested ? -EINTR : err;
}

void recover_look_again(struct recover_look *l)
{
	size_t suspects = 0;

	for (size_t i = 0; i < l->cnt; i++)
		suspects += is_suspect(&l->rows[i]->found);
	if (!suspects)
		return;
	nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
	for (size_t i = 0; i < l->cnt; i++) {
		struct recover_row *row = l->rows[i];

		if (is_suspect(&row->found))
			row->ended = left_behind_read_again(&l->reader, &row->found) == -ESRCH;
	}
}

int recover_look_now(struct recover_look *l, const struct left_process *before,
		     struct left_process *ret_now)
{
	struct dotnet_list list = {0};
	int err;

	*ret_now = *before;
	err = left_behind_read_again(&l->reader, ret_now);
	if (err)
		return err;
	ret_now->moves = false;
	if (!before->dotnet.is)
		return 0;
	ret_now->dotnet = (struct left_dotnet){
		.is = true,
		.has_finalizer = ret_now->dotnet.has_finalizer,
		.map = before->dotnet.map,
		.socket = before->dotnet.socket,
	};
	if (!dotnet_read(l->reader.requests, before->tgid, &list))
		left_behind_add_dotnet(&l->reader, &list.rows[0], ret_now);
	dotnet_clear(&list);
	return 0;
}

int recover_look_anew(struct recover_look *l, const struct left_process *before,
		      struct left_process *ret_now)
{
	int err = recover_look_now(l, before, ret_now);

	if (err || !is_suspect(ret_now))
		return err;
	nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
	return left_behind_read_again(&l->reader, ret_now);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/command.h"
#include "store/store.h"

int capture_open(const char *path, struct model **ret_model)
{
	_cleanup_free_ char *newest = NULL;
	int err;

	if (!path) {
		err = store_newest(".", &newest);
		if (err) {
			log_error("no capture in this folder; make one with `hotrun record`, or "
				  "name its file");
			return EXIT_FAILED;
		}
		path = newest;
		log_info("reading %s, the newest capture here", path);
	}
	err = store_read(path, ret_model);
	if (err) {
		log_error("%s: %s", path, store_error_text(err));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* By row of processes; owned, NULL without memory. */
static uint64_t *sum_cpu(const struct model *m)
{
	uint64_t *sums = calloc(m->processes_cnt + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < m->threads_cnt; i++)
		sums[m->threads[i].process] += m->threads[i].sched.on_cpu_ns;
	return sums;
}

struct found {
	uint32_t row;
	uint64_t on_cpu_ns;
};

static int by_cpu(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return COMPARE(y->on_cpu_ns, x->on_cpu_ns);
}

bool capture_is_meant(const struct model_process *p, const char *what)
{
	uint64_t pid;

	if (!what)
		return p->flags & PROCESS_SELECTED;
	return !text_parse_u64(what, 1, UINT32_MAX, &pid)
		       ? p->tgid == pid
		       : !strcmp(p->name, what) || !strcmp(p->comm, what);
}

int capture_find(const struct model *m, const char *what, uint32_t **ret_rows, size_t *ret_cnt)
{
	_cleanup_free_ struct found *found = NULL;
	_cleanup_free_ uint64_t *on_cpu_ns = sum_cpu(m);
	size_t cnt = 0, cap = 0;
	uint32_t *rows;

	if (!on_cpu_ns)
		return EXIT_FAILED;
	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		if (!capture_is_meant(&m->processes[i], what))
			continue;
		if (GROW(found, cnt, cap))
			break;
		found[cnt++] = (struct found){i, on_cpu_ns[i]};
	}
	if (!cnt && what) {
		log_error("%s: no such process in this capture; `hotrun report` lists them", what);
		return EXIT_FAILED;
	}
	if (cnt)
		qsort(found, cnt, sizeof(*found), by_cpu);
	rows = reallocarray(NULL, cnt ? cnt : 1, sizeof(*rows));
	if (!rows)
		return EXIT_FAILED;
	for (size_t i = 0; i < cnt; i++)
		rows[i] = found[i].row;
	*ret_rows = rows;
	*ret_cnt = cnt;
	return EXIT_OK;
}

int capture_argument(int argc, char **argv, const char *process, const struct time_window *window,
		     struct model **ret_model, uint32_t **ret_rows, size_t *ret_cnt)
{
	struct report_window taken;
	int rc;

	*ret_cnt = 0;
	if (argc - optind > 1) {
		log_error("%s: one capture at a time", argv[optind + 1]);
		return command_usage(argv[0] + strlen("hotrun "));
	}
	rc = time_window_check(window, argv[0] + strlen("hotrun "));
	if (!rc)
		rc = capture_open(optind < argc ? argv[optind] : NULL, ret_model);
	if (!rc)
		rc = time_window_cut(window, argv[0] + strlen("hotrun "), *ret_model, &taken);
	if (!rc && taken.whole_ns)
		time_window_say(&taken);
	if (!rc && process)
		rc = capture_find(*ret_model, process, ret_rows, ret_cnt);
	return rc;
}

struct result {
	FILE *file;
	char *path; /* NULL = stdout */
	char *temporary;
};

static void result_free(struct result *result)
{
	free(result->path);
	free(result->temporary);
	free(result);
}

void capture_give_to_user(int fd)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	uint64_t u, g;

	if (geteuid() || !uid || !gid || text_parse_u64(uid, 0, UINT32_MAX - 1, &u) ||
	    text_parse_u64(gid, 0, UINT32_MAX - 1, &g))
		return;
	if (fchown(fd, (uid_t)u, (gid_t)g))
		log_debug("owner not changed: %s", strerror(errno));
}

struct result *result_open(const char *path)
{
	struct result *result = calloc(1, sizeof(*result));
	struct stat st;
	int fd, err;

	if (!result)
		return NULL;
	if (!path || !strcmp(path, "-")) {
		result->file = stdout;
		return result;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		/* A device or a pipe is written as it is; gone by now, it is not made as a file. */
		fd = S_ISDIR(st.st_mode) ? -1 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		err = S_ISDIR(st.st_mode) ? EISDIR : errno;
		result->file = fd < 0 ? NULL : fdopen(fd, "w");
		if (result->file)
			return result;
		log_error("%s: %s", path, strerror(fd < 0 ? err : errno));
		cleanup_close(&fd);
		result_free(result);
		return NULL;
	}
	result->path = strdup(path);
	if (!result->path || asprintf(&result->temporary, "%s.XXXXXX", path) < 0) {
		result->temporary = NULL;
		result_free(result);
		return NULL;
	}
	fd = mkostemp(result->temporary, O_CLOEXEC);
	if (fd < 0) {
		log_error("%s: %s", path, store_error_text(-errno));
		result_free(result);
		return NULL;
	}
	capture_give_to_user(fd);
	result->file = fdopen(fd, "w");
	if (!result->file) {
		log_error("%s: %s", path, strerror(errno));
		close(fd);
		unlink(result->temporary);
		result_free(result);
		return NULL;
	}
	return result;
}

FILE *result_file(struct result *result)
{
	return result->file;
}

void result_drop(struct result *result)
{
	if (result->file != stdout)
		fclose(result->file);
	if (result->temporary)
		unlink(result->temporary);
	result_free(result);
}

int result_close(struct result *result, int err)
{
	const char *path = result->path ? result->path : "output";

	/* A writer knows only that its file has failed; errno still tells of which failure. */
	if (err == -EIO && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EPIPE))
		err = -errno;
	/* A writer knows only that the file failed; trying the rest again tells why. */
	errno = 0;
	if ((!err || err == -EIO) && fflush(result->file) && errno)
		err = -errno;
	if (result->file != stdout && fclose(result->file) && !err)
		err = -errno;
	if (!err && result->path && rename(result->temporary, result->path))
		err = -errno;
	if (err && result->temporary)
		unlink(result->temporary);
	/* A reader that has seen enough is no failure. */
	if (err && !(result->file == stdout && err == -EPIPE))
		log_error("%s: %s", path,
			  err == -E2BIG ? "more names than one page can hold" : strerror(-err));
	result_free(result);
	return err ? EXIT_FAILED : EXIT_OK;
}

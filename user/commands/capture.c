/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <signal.h>
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
	err = store_read_until(path, &stop_requested, ret_model);
	if (err == -EINTR)
		capture_leave_signals();
	if (err) {
		log_error("%s: %s", path, err == -EINTR ? "stopped" : store_error_text(err));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

void capture_leave_signals(void)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (stop_requested == SIGINT || stop_requested == SIGTERM)
		raise(stop_requested);
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

static bool is_named(const char *name, const char *what, bool begins)
{
	return begins ? *what && !strncmp(name, what, strlen(what)) : !strcmp(name, what);
}

bool capture_is_meant(const struct model_process *p, const char *what, bool begins)
{
	uint64_t pid;

	if (!what)
		return p->flags & PROCESS_SELECTED;
	return !text_parse_u64(what, 1, UINT32_MAX, &pid)
		       ? p->tgid == pid
		       : is_named(p->name, what, begins) || is_named(p->comm, what, begins);
}

int capture_find(const struct model *m, const char *what, uint32_t **ret_rows, size_t *ret_cnt)
{
	_cleanup_free_ struct found *found = NULL;
	_cleanup_free_ uint64_t *on_cpu_ns = sum_cpu(m);
	size_t cnt = 0, cap = 0;
	uint32_t *rows;

	if (!on_cpu_ns)
		return EXIT_FAILED;
	for (int begins = 0; begins <= 1 && !cnt; begins++) {
		for (uint32_t i = 0; i < m->processes_cnt; i++) {
			if (!capture_is_meant(&m->processes[i], what, begins))
				continue;
			if (GROW(found, cnt, cap))
				break;
			found[cnt++] = (struct found){i, on_cpu_ns[i]};
		}
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
	capture_leave_signals();
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
	char *path; /* NULL = stdout, or what is no file */
	int fd;	    /* of a file without a name, which is gone with the program; -1 = it has one: */
	char *temporary;
};

static void result_free(struct result *result)
{
	cleanup_close(&result->fd);
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

/* In the folder of that file, to be linked into it: -1 with errno where that cannot be. */
static int open_nameless(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);

	if (!copy || access("/proc/self/fd", X_OK))
		return -1;
	return open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
}

/* Opens the file of result->path. 0, or -1 with errno. */
static int open_file(struct result *result)
{
	int fd;

	result->fd = open_nameless(result->path);
	if (result->fd < 0) {
		if (asprintf(&result->temporary, "%s.XXXXXX", result->path) < 0) {
			result->temporary = NULL;
			return -1;
		}
		fd = mkostemp(result->temporary, O_CLOEXEC);
	} else {
		fd = fcntl(result->fd, F_DUPFD_CLOEXEC, 0);
	}
	if (fd < 0)
		return -1;
	capture_give_to_user(fd);
	result->file = fdopen(fd, "w");
	if (result->file)
		return 0;
	if (result->temporary)
		unlink(result->temporary);
	close(fd);
	return -1;
}

/* Gives a nameless file that name, which is not taken. 0 or negative errno. */
static int link_as(int fd, const char *path)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* They come when they are let go again. */
static void hold_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(how, &set, NULL);
}

/* Puts the finished file under its name. 0 or negative errno. */
static int give_name(struct result *result)
{
	int err;

	if (!result->temporary) {
		err = link_as(result->fd, result->path);
		if (err != -EEXIST)
			return err;
		if (asprintf(&result->temporary, "%s.%d", result->path, (int)getpid()) < 0) {
			result->temporary = NULL;
			return -ENOMEM;
		}
		err = link_as(result->fd, result->temporary);
		if (err) {
			free(result->temporary); /* somebody else's */
			result->temporary = NULL;
			return err;
		}
	}
	return rename(result->temporary, result->path) ? -errno : 0;
}

struct result *result_open(const char *path)
{
	struct result *result = calloc(1, sizeof(*result));
	struct stat st;
	int fd, err;

	if (!result)
		return NULL;
	result->fd = -1;
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
	if (!result->path || open_file(result)) {
		log_error("%s: %s", path, store_error_text(-errno));
		result_free(result);
		return NULL;
	}
	return result;
}

struct result *result_open_last(const char *path)
{
	struct result *result;

	capture_leave_signals();
	hold_signals(SIG_BLOCK);
	result = result_open(path);
	/* A file with a name is to be removed, or finished. */
	if (!result || !result->temporary)
		hold_signals(SIG_UNBLOCK);
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
	hold_signals(SIG_UNBLOCK);
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
	hold_signals(SIG_BLOCK);
	if (!err && result->path)
		err = give_name(result);
	if (err && result->temporary)
		unlink(result->temporary);
	hold_signals(SIG_UNBLOCK);
	/* A reader that has seen enough is no failure. */
	if (err && !(result->file == stdout && err == -EPIPE))
		log_error("%s: %s", path,
			  err == -E2BIG ? "more names than one page can hold" : strerror(-err));
	result_free(result);
	return err ? EXIT_FAILED : EXIT_OK;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun captures: what the resident recorder kept. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/options.h"
#include "output/captures_table.h"
#include "store/store.h"
#include "watch/folder.h"

/* Each takes about a millisecond. */
#define LOOKS_MAX  1000
#define PATH_BYTES (FOLDER_NAME_BYTES + 32)

struct arguments {
	const char *dir, *output;
	bool json;
};

static int open_folder(const struct arguments *o, int *ret_dir)
{
	char why[1024];

	if (!folder_open(o->dir, false, why, sizeof(why), ret_dir))
		return EXIT_OK;
	log_error("%s", why);
	return EXIT_FAILED;
}

/* The way to a file of the open folder for those who take a path. */
static void path_of(char ret_path[static PATH_BYTES], int dir, const char *name)
{
	snprintf(ret_path, PATH_BYTES, "/proc/self/fd/%d/%s", dir, name);
}

static bool is_capture(const char *name)
{
	size_t len = strlen(name), ending = strlen(".hotrun");

	return folder_is_name(name) && !strcmp(name + len - ending, ".hotrun");
}

/* What the errno of a file in the folder means to whom. */
static void tell(const char *name, int err)
{
	if (err == -EINVAL)
		log_error("%s: not the name of a capture or artifact; `hotrun captures` lists them",
			  name);
	else if (err == -ENOENT)
		log_error("%s: no such capture or artifact; `hotrun captures` lists them", name);
	else if (err == -EPERM)
		log_error("%s: not a file of the recorder's; left alone", name);
	else
		log_error("%s: %s", name, strerror(-err));
}

/* --- list ------------------------------------------------------------------------------------- */

static void look(int dir, const struct folder_capture *capture, struct captures_row *row)
{
	struct store_look look;
	char path[PATH_BYTES];
	int err;

	path_of(path, dir, capture->name);
	err = store_look(path, &look);
	if (err) {
		row->state = CAPTURES_UNREADABLE;
		row->why = store_error_text(err);
		return;
	}
	row->length_ns = look.length_ns;
	/* Without memory it is not told. */
	row->taken = *look.taken ? strdup(look.taken) : NULL;
	row->state = look.writing    ? CAPTURES_WRITING
		     : look.complete ? CAPTURES_COMPLETE
				     : CAPTURES_CUT;
}

static void fill_rows(int dir, const struct folder_capture *captures, size_t cnt,
		      struct captures_row *rows)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct folder_capture *capture = &captures[i];

		rows[i] = (struct captures_row){.name = capture->name,
						.time_s = capture->time_s,
						.by = folder_by_id(capture->by),
						.text = capture->text,
						.page = capture->page,
						.bytes = capture->bytes};
		if (!capture->capture)
			rows[i].state = CAPTURES_GONE;
		else if (i >= LOOKS_MAX || stop_requested)
			rows[i].state = CAPTURES_NOT_LOOKED;
		else
			look(dir, capture, &rows[i]);
	}
}

static void free_rows(struct captures_row *rows, size_t cnt)
{
	for (size_t i = 0; rows && i < cnt; i++)
		free((char *)rows[i].taken);
	free(rows);
}

static int list(const struct arguments *o)
{
	_cleanup_free_ struct folder_capture *captures = NULL;
	struct captures_row *rows = NULL;
	_cleanup_close_ int dir = -1;
	struct captures_table table = {.folder = o->dir};
	size_t cnt = 0;
	int rc = open_folder(o, &dir), err;

	if (rc)
		return rc;
	err = folder_captures(dir, &captures, &cnt);
	if (!err) {
		rows = calloc(cnt + 1, sizeof(*rows));
		err = rows ? 0 : -ENOMEM;
	}
	if (err) {
		log_error("%s: %s", o->dir, strerror(-err));
		return EXIT_FAILED;
	}
	fill_rows(dir, captures, cnt, rows);
	table.rows = rows;
	table.rows_cnt = cnt;
	err = o->json ? captures_table_json(stdout, &table) : captures_table_write(stdout, &table);
	if (err && errno != EPIPE)
		log_error("output: %s", strerror(errno));
	free_rows(rows, cnt);
	return err ? EXIT_FAILED : EXIT_OK;
}

/* --- get -------------------------------------------------------------------------------------- */

/* A file without a name, gone with us: in the recorder's folder, where there is room for captures,
 * or in that for temporary files. */
static int open_nameless(int dir)
{
	const char *tmp = getenv("TMPDIR");
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd
		       : open(tmp && *tmp == '/' ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
			      0600);
}

/* Whoever reads our stdout may be slow, and while a capture is copied its recorder cannot write. */
static int pour_copy(int dir, const char *path)
{
	_cleanup_close_ int fd = open_nameless(dir);
	int err;

	if (fd < 0)
		return -errno;
	err = store_copy(path, fd);
	return err ? err : io_copy(fd, STDOUT_FILENO, UINT64_MAX);
}

/* to -1: stdout. */
static int get_capture(int dir, const char *name, int to)
{
	struct store_look look;
	char path[PATH_BYTES];
	int err;

	path_of(path, dir, name);
	err = store_look(path, &look);
	if (err)
		return err;
	if (look.writing)
		log_warn("%s: still being written; what there is by now is handed out", name);
	if (to < 0 && look.writing)
		return pour_copy(dir, path);
	return store_copy(path, to < 0 ? STDOUT_FILENO : to);
}

static int get_to(int dir, const char *name, int to)
{
	_cleanup_close_ int fd = -1;
	int err = folder_get(dir, name, &fd);

	if (err)
		tell(name, err);
	else {
		err = is_capture(name) ? get_capture(dir, name, to)
				       : io_copy(fd, to < 0 ? STDOUT_FILENO : to, UINT64_MAX);
		/* A reader that has seen enough is no failure worth a word. */
		if (err == -EINTR)
			log_error("%s: interrupted", name);
		else if (err && !(err == -EPIPE && to < 0))
			log_error("%s: %s", name, store_error_text(err));
	}
	return err ? EXIT_FAILED : EXIT_OK;
}

static int get_to_file(int dir, const char *name, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0) {
		if (errno == EEXIST)
			log_error("%s: exists; choose another name with -o", path);
		else
			log_error("%s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	capture_give_to_user(fd);
	rc = get_to(dir, name, fd);
	if (rc)
		unlink(path);
	return rc;
}

static int get(const struct arguments *o, const char *name)
{
	_cleanup_close_ int dir = -1;
	int rc;

	if (!folder_is_name(name)) {
		tell(name, -EINVAL);
		return EXIT_FAILED;
	}
	rc = open_folder(o, &dir);
	if (rc)
		return rc;
	if (!o->output || strcmp(o->output, "-") != 0)
		return get_to_file(dir, name, o->output ? o->output : name);
	if (is_capture(name) && isatty(STDOUT_FILENO)) {
		log_error("%s: a capture is no text for a terminal; name a file with -o", name);
		return EXIT_USAGE;
	}
	return get_to(dir, name, -1);
}

/* --- remove ----------------------------------------------------------------------------------- */

static int remove_one(int dir, const char *name)
{
	struct store_look look;
	char path[PATH_BYTES];
	int err;

	if (!is_capture(name)) {
		log_error("%s: not the name of a capture; `hotrun captures` lists them", name);
		return EXIT_FAILED;
	}
	path_of(path, dir, name);
	if (!store_look(path, &look) && look.writing) {
		log_error("%s: still being written; try again when it is done", name);
		return EXIT_FAILED;
	}
	err = folder_remove(dir, name);
	if (err)
		tell(name, err);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int remove_all(const struct arguments *o, char **names, int cnt)
{
	_cleanup_close_ int dir = -1;
	int rc = open_folder(o, &dir);

	if (rc)
		return rc;
	for (int i = 0; i < cnt; i++)
		if (remove_one(dir, names[i]))
			rc = EXIT_FAILED;
	return rc;
}

/* --- the command line ------------------------------------------------------------------------- */

static int obey(const struct arguments *o, char **words, int cnt)
{
	const char *verb = cnt ? words[0] : "list";

	if (o->output && strcmp(verb, "get") != 0) {
		log_error("-o goes with `get NAME`");
		return command_usage("captures");
	}
	if (!strcmp(verb, "list") && cnt <= 1)
		return list(o);
	if (!strcmp(verb, "get") && cnt == 2)
		return get(o, words[1]);
	if (!strcmp(verb, "remove") && cnt >= 2)
		return remove_all(o, words + 1, cnt - 1);
	if (!strcmp(verb, "get"))
		log_error("get: one NAME");
	else if (!strcmp(verb, "remove"))
		log_error("remove: which NAME?");
	else
		log_error("%s: list, get NAME, or remove NAME", verb);
	return command_usage("captures");
}

static const char *const verbs[] = {"list", "get", "remove", NULL};

static const struct command_option rows[] = {
	OPTION(0, "dir", "DIR", "the folder of the recorder (default " FOLDER_DEFAULT ")",
	       option_text, .complete = COMPLETE_FOLDER, OPTION_IN(struct arguments, dir)),
	OPTION_FORMAT("of the list: text (the default), json", struct arguments, json),
	OPTION('o', "output", "FILE",
	       "where to put what is handed out, - for stdout; a new file, for you alone "
	       "(default: NAME in this folder)",
	       option_text, .complete = COMPLETE_FILE, OPTION_IN(struct arguments, output)),
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static int run(int argc, char **argv)
{
	struct arguments a = {.dir = FOLDER_DEFAULT};
	int rc = options_parse(&captures_command, argc, argv, &a);

	return rc ? rc : obey(&a, argv + optind, argc - optind);
}

const struct command captures_command = {
	.name = "captures",
	.job = "list, hand out and remove what the resident recorder kept",
	.usage = "[list] [--dir DIR] [--format text|json]\n"
		 "get NAME [-o FILE|-] [--dir DIR]\n"
		 "remove NAME... [--dir DIR]",
	.verbs = verbs,
	.about =
		"Lists what the resident recorder (`hotrun watch`) kept, newest first; hands out a "
		"capture,\n"
		"or one of its artifacts (NAME with .txt or .html at its end), whole and readable "
		"also while "
		"it\n"
		"is being written; removes captures with their artifacts. Needs no privileges but "
		"those of "
		"the\n"
		"recorder's user, or root.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun captures\n"
		    "  hotrun captures get web1-20261121T191202Z-trigger.hotrun\n"
		    "  kubectl exec -n hotrun POD -- hotrun captures get NAME -o - > NAME\n"
		    "  hotrun captures remove web1-20261121T190000Z-rotate.hotrun\n",
	.notes = "Exit code: 0; 1 failure; 2 usage.\n",
	.run = run,
};

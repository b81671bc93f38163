/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun query: SQL over a capture, or a folder of them. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/frames.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "commands/time_window.h"
#include "export/query.h"
#include "store/store.h"

#define MIN_WIDTH     40
#define DEFAULT_WIDTH 130

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

struct arguments {
	struct frames frames;
	struct time_window window;
	struct export_options options;
	const char *output;
	unsigned int format, width;
	bool folded, tables;
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION(0, "tables", NULL, "say which tables and columns there are, and end", option_true,
	       IN(tables)),
	OPTION(0, "format", "FORMAT", "text (default), csv, or json", option_word,
	       OPTION_WORDS("text", "csv", "json"), IN(format)),
	OPTION(0, "folded", NULL,
	       "the answer is two columns, a stack and a number: a line each, for flame graph "
	       "tools",
	       option_true, IN(folded)),
	OPTION('o', "output", "RESULT", "where to write (default: stdout)", option_text,
	       .complete = COMPLETE_FILE, IN(output)),
	OPTION(0, "width", "COLUMNS", "of text (default: the terminal's, else 130)", option_count,
	       .min = MIN_WIDTH, .max = OPTION_MAX_CNT, IN(width)),
	OPTION(0, "idle", NULL, "blocked time with that of idle waits", option_true,
	       IN(options.idle)),
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(frames_options, struct arguments, frames),
	OPTION_SHARED(time_window_options, struct arguments, window),
};

/* --- captures --------------------------------------------------------------------------------- */

struct list {
	char **names; /* within the folder */
	size_t cnt, cap;
};

static void list_clear(struct list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		free(list->names[i]);
	free(list->names);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* *.hotrun of a folder, by name: those of one host in the order of time. */
static int list_folder(const char *path, struct list *list)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int err = folder ? 0 : -errno;

	while (!err && (entry = readdir(folder))) {
		size_t len = strlen(entry->d_name);

		if (len <= strlen(".hotrun") || strcmp(entry->d_name + len - 7, ".hotrun"))
			continue;
		err = GROW(list->names, list->cnt, list->cap);
		if (!err && !(list->names[list->cnt] = strdup(entry->d_name)))
			err = -ENOMEM;
		list->cnt += !err;
	}
	if (folder)
		closedir(folder);
	if (list->cnt)
		qsort(list->names, list->cnt, sizeof(*list->names), compare_names);
	return err;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int add_model(struct query *q, const struct arguments *a, const char *name, struct model *m)
{
	struct report_window taken;
	int err, rc = time_window_cut(&a->window, "query", m, &taken);

	if (!rc)
		rc = frames_apply(&a->frames, m);
	if (rc)
		return rc;
	err = query_add(q, name, m, &a->options);
	if (!err)
		return EXIT_OK;
	log_error("%s: its tables are more than memory may hold: ask for fewer of them, or for a "
		  "part in time",
		  name);
	return EXIT_FAILED;
}

static int add_file(struct query *q, const struct arguments *a, const char *path)
{
	struct model *m = NULL;
	int rc = capture_open(path, &m);

	if (!rc)
		rc = add_model(q, a, path ? base_of(path) : m->host.name, m);
	model_free(m);
	return rc;
}

/* Those that cannot be read are told, and are no failure: one may just be written. */
static int add_folder(struct query *q, const struct arguments *a, const char *path)
{
	_cleanup_(list_clear) struct list list = {0};
	int err = list_folder(path, &list), rc = EXIT_OK;
	size_t added = 0;

	if (err || !list.cnt) {
		log_error("%s: %s", path, err ? strerror(-err) : "no captures in this folder");
		return EXIT_FAILED;
	}
	for (size_t i = 0; !rc && i < list.cnt && !stop_requested; i++) {
		_cleanup_free_ char *file = NULL;
		struct model *m = NULL;

		if (asprintf(&file, "%s/%s", path, list.names[i]) < 0)
			return EXIT_FAILED;
		err = store_read(file, &m);
		if (err == -ENOMEM) {
			log_error("%s: no memory for more captures: ask for fewer of them, or for "
				  "fewer tables",
				  file);
			return EXIT_FAILED;
		}
		if (err) {
			log_warn("%s: left out: %s", file, store_error_text(err));
			continue;
		}
		rc = add_model(q, a, list.names[i], m);
		model_free(m);
		added++;
	}
	if (stop_requested) {
		log_error("stopped");
		return EXIT_FAILED;
	}
	if (!rc && added < list.cnt)
		log_warn("%zu of %zu captures could not be read", list.cnt - added, list.cnt);
	return rc;
}

static int add_captures(struct query *q, const struct arguments *a, const char *path)
{
	struct stat st;

	if (!query_reads(q))
		return EXIT_OK;
	if (!path || stat(path, &st) || !S_ISDIR(st.st_mode))
		return add_file(q, a, path);
	if (a->window.from_text || a->window.to_text || a->window.worst_ns) {
		log_error("of a folder: say the time in the question, by began_utc and from_s; "
			  "--from, --to and --worst are of one capture");
		return command_usage("query");
	}
	return add_folder(q, a, path);
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool is_stopped(void)
{
	return stop_requested != 0;
}

static int answer(const struct arguments *a, struct query *q)
{
	struct result *result = result_open_last(a->output);
	char why[QUERY_WHY_BYTES] = "";
	FILE *out;
	int err;

	if (!result)
		return EXIT_FAILED;
	out = result_file(result);
	query_stop_when(q, is_stopped);
	err = a->folded			 ? query_write_folded(out, q, why)
	      : a->format == FORMAT_CSV	 ? query_write_csv(out, q, why)
	      : a->format == FORMAT_JSON ? query_write_json(out, q, why)
					 : query_write_text(out, q, a->width, why);
	if (err != -EINVAL)
		return result_close(result, err);
	log_error("the question: %s", why);
	result_drop(result);
	return EXIT_FAILED;
}

static int ask(struct arguments *a, const char *path, const char *sql)
{
	char why[QUERY_WHY_BYTES];
	struct query *q = query_new(sql, why);
	int rc;

	if (!q) {
		log_error("the question: %s", why);
		return command_usage("query");
	}
	rc = add_captures(q, a, path);
	if (!rc)
		rc = answer(a, q);
	query_free(q);
	return rc;
}

static int run(int argc, char **argv)
{
	struct arguments a = {0};
	int cnt, rc = options_parse(&query_command, argc, argv, &a);

	if (rc)
		return rc;
	cnt = argc - optind;
	if (a.tables)
		return query_write_tables(stdout) ? EXIT_FAILED : EXIT_OK;
	if (cnt < 1 || cnt > 2) {
		log_error("name a capture, or a folder of them, and the question in quotes");
		return command_usage("query");
	}
	if (a.folded && a.format != FORMAT_TEXT) {
		log_error("--folded is a format of its own: leave out --format");
		return command_usage("query");
	}
	a.width = a.width ?: terminal_columns(MIN_WIDTH) ?: DEFAULT_WIDTH;
	rc = time_window_check(&a.window, "query");
	if (!rc)
		rc = ask(&a, cnt == 2 ? argv[optind] : NULL, argv[argc - 1]);
	frames_clear(&a.frames);
	return rc;
}

const struct command query_command = {
	.name = "query",
	.job = "ask a capture, or a folder of them, in SQL",
	.usage = "[OPTION]... [FILE|DIR] SQL",
	.about = "Answers a question in SQL over the tables of a capture (of the newest in this "
		 "folder,\n"
		 "without FILE), or of all captures in a folder as one database. A question can "
		 "only "
		 "read;\n"
		 "captures of former versions have the same tables. Needs no privileges.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples =
		"  hotrun query --tables\n"
		"  hotrun query slow.hotrun \"SELECT process, method, self FROM methods ORDER BY "
		"self "
		"DESC LIMIT 10\"\n"
		"  hotrun query /var/lib/hotrun \"SELECT host, began_utc, process, verdict FROM "
		"processes\n"
		"      WHERE hurt ORDER BY began_utc\"\n"
		"  hotrun query --folded slow.hotrun \"SELECT stack, samples FROM stacks WHERE "
		"stack "
		"LIKE '%Price%'\"\n",
	.notes = "Columns are those of `hotrun export --format csv`, in deploy/hotrun.schema.json "
		 "(export);\n"
		 "each table begins with capture, host and began_utc. What is not known is NULL. "
		 "Only tables\n"
		 "that the question reads are filled: one that asks for no samples is quick over "
		 "many "
		 "captures.\n"
		 "Exit code: 0; 1 failure; 2 usage, and a question that is refused.\n",
	.run = run,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/service_signal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "commands/command.h"
#include "isolate/signal_reader.h"
#include "kernel/host.h"
#include "model/signal.h"

/* A reading is at the most so old: one a second, and a command that takes its time. */
#define STALE_NS  ((SIGNAL_DEADLINE_MS + 3000) * 1000000ull)
#define TRIES	  100
#define WHY_BYTES 128

struct source {
	const char *value; /* of the option; borrowed */
	char *name;	   /* NULL = lines */
	const char *what;  /* a path, or the words behind the ! */
	bool is_command;
	struct signal_reader *reader;
	uint64_t begun_ns;
	char why[WHY_BYTES]; /* it is silent now; "" = it is not */
};

struct service_signals {
	struct source sources[SERVICE_SIGNALS_MAX];
	size_t cnt;
	const char *user; /* of the option; borrowed; NULL = that of hotrun */
	struct account account;
	struct signal_text text;
	struct signal_entry *entries; /* of all sources, as of this slice */
	size_t entries_cnt;
};

#define ENTRIES_MAX ((size_t)SERVICE_SIGNALS_MAX * SIGNAL_LINES_MAX)

static struct service_signals *signals_new(void)
{
	struct service_signals *s = calloc(1, sizeof(*s));

	if (s)
		s->entries = calloc(ENTRIES_MAX, sizeof(*s->entries));
	if (s && !s->entries) {
		free(s);
		s = NULL;
	}
	return s;
}

void service_signals_free(struct service_signals *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->cnt; i++) {
		free(s->sources[i].name);
		signal_reader_free(s->sources[i].reader);
	}
	free(s->entries);
	free(s);
}

/* --- the option ------------------------------------------------------------------------------ */

/* Where the name ends: paths that begin with / or . and commands have none, whatever they hold. */
static const char *end_of_name(const char *value)
{
	return strchr("/.!", *value) ? NULL : strchr(value, '=');
}

/* A slot with a name, or without. */
static int note(struct source *source, const char *value, const char *equals)
{
	const char *what = equals ? equals + 1 : value;

	*source = (struct source){.value = value, .is_command = *what == '!'};
	source->what = what + source->is_command;
	if (equals)
		source->name = strndup(value, (size_t)(equals - value));
	if (!equals || source->name)
		return EXIT_OK;
	log_error("out of memory");
	return EXIT_FAILED;
}

static struct service_signals *made(struct service_signals **signals)
{
	if (!*signals)
		*signals = signals_new();
	if (!*signals)
		log_error("out of memory");
	return *signals;
}

static int take_signal(void *at, const struct command_option *option, const char *value)
{
	const char *equals = end_of_name(value);
	struct service_signals *s = made(at);
	int rc;

	if (!s)
		return EXIT_FAILED;
	if (s->cnt == SERVICE_SIGNALS_MAX)
		return option_refuse(option, value, "too many of them (16 at the most)");
	if (equals && (equals == value || equals - value >= SIGNAL_NAME_BYTES))
		return option_refuse(option, value,
				     "no name before the =, or one that is too long");
	if (!*(equals ? equals + 1 : value))
		return option_refuse(option, value, "no file and no command");
	rc = note(&s->sources[s->cnt], value, equals);
	if (!rc)
		s->cnt++;
	return rc;
}

/* The last one counts, for all commands. */
static int take_user(void *at, const struct command_option *option, const char *value)
{
	struct service_signals *s = made(at);
	int err;

	if (!s)
		return EXIT_FAILED;
	err = account_find(value, "/etc", &s->account);
	if (err == -EINVAL)
		return option_refuse(option, value, "not a user and not UID:GID");
	if (err)
		log_error("--%s %s: %s", option->name, value,
			  err == -ENOENT ? "no such user in /etc/passwd; UID:GID needs no entry"
					 : strerror(-err));
	s->user = value;
	return err ? EXIT_FAILED : EXIT_OK;
}

const struct command_option service_signal_options[2] = {
	OPTION(0, "service-signal", "[NAME=]FILE, [NAME=]!COMMAND",
	       "your own number for what the kernel cannot see, read once a second: the share of "
	       "the work that is slow or fails, 0 to 1 or in %, of NAME: a process, unit or pid. "
	       "Without NAME: lines of `NAME NUMBER`. FILE: regular, and written less than 30 s "
	       "ago. COMMAND: run without capabilities and not by a shell (words are split at "
	       "blanks), killed after 2 s. Again for more",
	       take_signal, .complete = COMPLETE_FILE),
	OPTION(0, "signal-user", "USER",
	       "who runs these commands: a user of /etc/passwd, or UID:GID (default: the user of "
	       "hotrun)",
	       take_user),
};

/* --- start ----------------------------------------------------------------------------------- */

static int start(struct service_signals *s, struct source *source, const char *command)
{
	const struct account *account = s->user ? &s->account : NULL;

	source->begun_ns = clock_now_ns();
	source->reader = signal_reader_new(source->what, source->is_command, account);
	if (source->reader)
		return EXIT_OK;
	if (errno == EINVAL) {
		option_refuse(&service_signal_options[0], source->value,
			      "no command, or more than 32 words");
		return command_usage(command);
	}
	log_error("--service-signal %s: %s", source->value, strerror(errno));
	return EXIT_FAILED;
}

int service_signals_start(struct service_signals *s, const char *command)
{
	int rc = EXIT_OK;

	if (s && s->user && !account_is_open(&s->account)) {
		log_error("--signal-user %s: not permitted; run as root, or with the capabilities "
			  "SETUID and SETGID",
			  s->user);
		return EXIT_FAILED;
	}
	for (size_t i = 0; s && !rc && i < s->cnt; i++)
		rc = start(s, &s->sources[i], command);
	return rc;
}

/* --- reading --------------------------------------------------------------------------------- */

static void read_error_text(const struct signal_text *t, char why[static WHY_BYTES])
{
	switch (-t->err) {
	case ENOTSUP:
		snprintf(why, WHY_BYTES, "not a regular file");
		break;
	case ESTALE:
		snprintf(why, WHY_BYTES, "not written for more than %d s", SIGNAL_FILE_AGE_S);
		break;
	case EFBIG:
		snprintf(why, WHY_BYTES, "more than %d bytes", SIGNAL_TEXT_BYTES);
		break;
	case ETIMEDOUT:
		snprintf(why, WHY_BYTES, "it did not end within %d s and was killed",
			 SIGNAL_DEADLINE_MS / 1000);
		break;
	case ECHILD:
		if (t->exit_code == 127)
			snprintf(why, WHY_BYTES, "no such command (exit code 127)");
		else
			snprintf(why, WHY_BYTES, "exit code %d", t->exit_code);
		break;
	default:
		snprintf(why, WHY_BYTES, "%s", strerror(-t->err));
	}
}

static const char *parse_error_text(int err)
{
	switch (-err) {
	case ENODATA:
		return "it says nothing";
	case ERANGE:
		return "a number that is not within 0 to 1 (or 0 to 100%)";
	case E2BIG:
		return "too many lines (256 at the most), or a name that is too long";
	default:
		return "not a number from 0 to 1 (or in %)";
	}
}

/* Adds what it says to the entries; why: "" or why it says nothing. */
static void parse(struct service_signals *s, const struct source *source,
		  char why[static WHY_BYTES])
{
	struct signal_entry *to = s->entries + s->entries_cnt;
	size_t cnt = 1;
	unsigned int line;
	int err;

	if (source->name) {
		err = signal_parse_value(s->text.text, s->text.len, &to->value);
		snprintf(to->name, sizeof(to->name), "%s", source->name);
		if (err)
			snprintf(why, WHY_BYTES, "%s", parse_error_text(err));
	} else {
		err = signal_parse_lines(s->text.text, s->text.len, to, SIGNAL_LINES_MAX, &cnt,
					 &line);
		if (err)
			snprintf(why, WHY_BYTES, "line %u: %s", line, parse_error_text(err));
	}
	if (!err)
		s->entries_cnt += cnt;
}

static void read_source(struct service_signals *s, struct source *source)
{
	uint64_t now_ns = clock_now_ns(), of_ns;
	char why[WHY_BYTES] = "";
	int err = -EAGAIN;

	for (int i = 0; err && i < TRIES; i++)
		err = signal_reader_get(source->reader, &s->text);
	of_ns = !err && s->text.time_ns ? s->text.time_ns : source->begun_ns;
	if (now_ns > of_ns && now_ns - of_ns > STALE_NS)
		snprintf(why, sizeof(why), "no answer for more than %llu s", STALE_NS / 1000000000);
	else if (err || !s->text.time_ns)
		return; /* too soon to say anything */
	else if (s->text.err)
		read_error_text(&s->text, why);
	else
		parse(s, source, why);
	if (*why && strcmp(why, source->why) != 0)
		log_warn("--service-signal %s: n/a: %s", source->value, why);
	else if (!*why && *source->why)
		log_info("--service-signal %s: it answers again", source->value);
	memcpy(source->why, why, sizeof(why));
}

/* --- processes ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct signal_entry *)a)->name,
		      ((const struct signal_entry *)b)->name);
}

/* Raises *worst to the largest number that stands under that name. */
static void look_up(const struct service_signals *s, const char *name, double *worst)
{
	struct signal_entry key;
	const struct signal_entry *e, *end = s->entries + s->entries_cnt;

	if (!*name || strlen(name) >= sizeof(key.name))
		return;
	strcpy(key.name, name);
	e = bsearch(&key, s->entries, s->entries_cnt, sizeof(key), by_name);
	if (!e)
		return;
	while (e > s->entries && !strcmp(e[-1].name, name))
		e--;
	for (; e < end && !strcmp(e->name, name); e++)
		if (e->value > *worst)
			*worst = e->value;
}

static bool is_alive(const struct model *m, const struct model_process *p)
{
	return !(p->flags & (PROCESS_KERNEL | PROCESS_SELF | PROCESS_GONE)) &&
	       (!p->exit_ns || p->exit_ns >= m->slices[m->slices_cnt - 1].start_ns);
}

void service_signals_take(struct service_signals *s, struct model *m)
{
	if (!s || !s->cnt || !m->slices_cnt)
		return;
	s->entries_cnt = 0;
	for (size_t i = 0; i < s->cnt; i++)
		read_source(s, &s->sources[i]);
	if (!s->entries_cnt)
		return;
	qsort(s->entries, s->entries_cnt, sizeof(*s->entries), by_name);
	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		const struct model_process *p = &m->processes[i];
		struct model_signal row = {(uint32_t)m->slices_cnt - 1, i, 0};
		double worst = -1;
		char pid[16];

		if (!is_alive(m, p))
			continue;
		snprintf(pid, sizeof(pid), "%u", p->tgid);
		look_up(s, pid, &worst);
		look_up(s, p->name, &worst);
		look_up(s, p->unit, &worst);
		if (p->comm != p->name)
			look_up(s, p->comm, &worst);
		if (worst < 0)
			continue;
		row.value_ppm = (uint32_t)(worst * SIGNAL_PPM + 0.5);
		if (model_signal_add(m, &row))
			model_loss_add(m, LOSS_MODEL_LIMIT, 1);
	}
}

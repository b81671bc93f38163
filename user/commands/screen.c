/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/screen.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

#include "base/cleanup.h"

#define ESCAPE_MS 50 /* after which Esc is a key of its own, and no begin of an arrow key */
/* Readable, and still nothing to read: the terminal is gone. Once can happen, with a signal. */
#define EMPTY_READS_MAX 3
#define LOG_LINE_BYTES	1024
#define LOG_BYTES_MAX	(1 << 20) /* of a view that runs for days */

struct screen {
	SCREEN *terminal;
	bool utf8;
	int log_fd;    /* takes stderr's place */
	int stderr_fd; /* where stderr went before */
	off_t logged;  /* bytes of the log that were looked at */
	char line[LOG_LINE_BYTES];
	unsigned int empty_reads;
};

int screen_check(char *why, size_t why_bytes)
{
	const char *term = getenv("TERM");
	int status = 0;

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
		snprintf(why, why_bytes, "%s is no terminal; --batch prints plain text",
			 isatty(STDOUT_FILENO) ? "stdin" : "stdout");
		return -ENOTTY;
	}
	if (!term || !*term) {
		snprintf(why, why_bytes, "TERM is not set; --batch prints plain text");
		return -ENOTSUP;
	}
	if (setupterm(term, STDOUT_FILENO, &status) == OK && cursor_address)
		return 0;
	snprintf(why, why_bytes,
		 status == 0 ? "TERM=%s: not known here (terminfo has no such terminal); --batch "
			       "prints plain text"
		 : status == 1
			 ? "TERM=%s: this terminal cannot place its cursor; --batch prints "
			   "plain text"
			 : "TERM=%s: there is no terminfo database here; --batch prints plain "
			   "text",
		 term);
	return -ENOTSUP;
}

static int catch_log(struct screen *s)
{
	s->log_fd = memfd_create("hotrun-log", MFD_CLOEXEC);
	s->stderr_fd = s->log_fd < 0 ? -1 : dup(STDERR_FILENO);
	if (s->stderr_fd < 0 || dup2(s->log_fd, STDERR_FILENO) < 0)
		return -errno;
	return 0;
}

int screen_open(char *why, size_t why_bytes, struct screen **ret_screen)
{
	struct screen *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		goto out;
	s->log_fd = s->stderr_fd = -1;
	setlocale(LC_CTYPE, ""); /* the terminal's characters; numbers stay as they are */
	s->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	err = catch_log(s);
	if (err)
		goto out;
	s->terminal = newterm(NULL, stdout, stdin);
	err = s->terminal ? 0 : -ENOTSUP;
	if (err)
		goto out;
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
out:
	if (err) {
		screen_close(s);
		snprintf(why, why_bytes,
			 "the screen cannot be opened (%s); --batch prints plain text",
			 strerror(-err));
		return err;
	}
	*ret_screen = s;
	return 0;
}

/* What was logged meanwhile goes where it would have gone. */
static void release_log(struct screen *s)
{
	char buf[4096];
	ssize_t n;
	off_t at = 0;

	if (s->stderr_fd >= 0)
		dup2(s->stderr_fd, STDERR_FILENO);
	while (s->log_fd >= 0 && (n = pread(s->log_fd, buf, sizeof(buf), at)) > 0) {
		if (write(STDERR_FILENO, buf, (size_t)n) < 0)
			break;
		at += n;
	}
	if (s->stderr_fd >= 0)
		close(s->stderr_fd);
	if (s->log_fd >= 0)
		close(s->log_fd);
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	if (s->terminal) {
		endwin();
		delscreen(s->terminal);
	}
	release_log(s);
	free(s);
}

unsigned int screen_lines(const struct screen *s)
{
	(void)s;
	return (unsigned int)LINES;
}

unsigned int screen_columns(const struct screen *s)
{
	(void)s;
	return (unsigned int)COLS;
}

/* --- keys ------------------------------------------------------------------------------------ */

static int translate(int key)
{
	switch (key) {
	case KEY_UP:
		return SCREEN_UP;
	case KEY_DOWN:
		return SCREEN_DOWN;
	case KEY_PPAGE:
		return SCREEN_PAGE_UP;
	case KEY_NPAGE:
		return SCREEN_PAGE_DOWN;
	case KEY_HOME:
		return SCREEN_HOME;
	case KEY_END:
		return SCREEN_END;
	case KEY_RESIZE:
		return SCREEN_RESIZED;
	case KEY_ENTER:
	case '\r':
		return SCREEN_ENTER;
	default:
		return key > 0 && key < 256 ? key : SCREEN_OTHER;
	}
}

int screen_key(struct screen *s, uint64_t wait_ns)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec wait = {(time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000)};
	int key = getch(), ready;

	if (key != ERR)
		return translate(key);
	ready = ppoll(&in, 1, &wait, NULL);
	if (ready > 0 && in.revents & (POLLHUP | POLLERR | POLLNVAL))
		return SCREEN_CLOSED;
	key = getch();
	if (key != ERR) {
		s->empty_reads = 0;
		return translate(key);
	}
	if (ready > 0 && ++s->empty_reads >= EMPTY_READS_MAX)
		return SCREEN_CLOSED;
	return SCREEN_NONE;
}

/* --- the picture ----------------------------------------------------------------------------- */

void screen_clear(struct screen *s)
{
	(void)s;
	erase();
}

static attr_t attributes(enum screen_look look)
{
	switch (look) {
	case SCREEN_HEADING:
	case SCREEN_ALARM:
		return A_BOLD;
	case SCREEN_TITLES:
	case SCREEN_CHOSEN:
		return A_REVERSE;
	default:
		return A_NORMAL;
	}
}

/* Where the terminal knows no UTF-8: signs of ours as what they resemble, one for one. */
static wchar_t ascii_of(wchar_t c)
{
	if (c < 0x80)
		return c;
	return c == L'·' ? L'-' : c == L'…' ? L'~' : L'?';
}

/* Reads a code point; locale is not asked, since it may not know UTF-8. */
static wchar_t next_point(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	unsigned int more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0 ? 1 : 0;
	uint32_t c = more ? *s & (0x3fu >> more) : *s;

	for (s++; more && (*s & 0xc0) == 0x80; more--, s++)
		c = c << 6 | (*s & 0x3fu);
	*text = (const char *)s;
	return (wchar_t)c;
}

void screen_put(struct screen *s, unsigned int y, const char *text, enum screen_look look)
{
	int room = COLS;
	wchar_t line[1024];
	size_t n = 0;

	if (y >= (unsigned int)LINES)
		return;
	while (*text && n + 1 < sizeof(line) / sizeof(line[0])) {
		wchar_t c = next_point(&text);
		int cells;

		if (!s->utf8)
			c = ascii_of(c);
		cells = wcwidth(c);
		if (cells < 0) {
			c = L'?';
			cells = 1;
		}
		if (cells > room)
			break;
		room -= cells;
		line[n++] = c;
	}
	line[n] = L'\0';
	attrset(attributes(look));
	mvaddnwstr((int)y, 0, line, (int)n);
	if (look == SCREEN_TITLES || look == SCREEN_CHOSEN)
		while (room-- > 0)
			addch(' ');
	attrset(A_NORMAL);
}

void screen_show(struct screen *s)
{
	(void)s;
	refresh();
}

/* --- the log --------------------------------------------------------------------------------- */

const char *screen_logged(struct screen *s)
{
	char buf[LOG_LINE_BYTES];
	off_t end = lseek(s->log_fd, 0, SEEK_END), from;
	ssize_t n;
	char *line;

	if (end <= s->logged)
		return NULL;
	s->logged = end;
	from = end > (off_t)sizeof(buf) - 1 ? end - (off_t)sizeof(buf) + 1 : 0;
	n = pread(s->log_fd, buf, sizeof(buf) - 1, from);
	/* stderr shares the offset: it goes on at the beginning. */
	if (end > LOG_BYTES_MAX && !ftruncate(s->log_fd, 0)) {
		lseek(s->log_fd, 0, SEEK_SET);
		s->logged = 0;
	}
	while (n > 0 && buf[n - 1] == '\n')
		n--;
	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	line = strrchr(buf, '\n');
	line = line ? line + 1 : buf;
	snprintf(s->line, sizeof(s->line), "%s", !strncmp(line, "hotrun: ", 8) ? line + 8 : line);
	return s->line;
}

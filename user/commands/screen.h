/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SCREEN_H
#define HOTRUN_COMMANDS_SCREEN_H
/*
 * A full-screen terminal: lines of text, keys, resizing. The only file that sees ncurses. While it
 * is open, what the program logs does not go to the terminal but waits to be shown in a line of the
 * screen; screen_close() writes it to stderr. One at a time; no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct screen;

/* What screen_key() returns beside the characters of keys. */
enum screen_key {
	SCREEN_NONE = 0, /* the time is over */
	SCREEN_ENTER = '\n',
	SCREEN_ESCAPE = 27,
	SCREEN_UP = 256,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_RESIZED,
	SCREEN_OTHER,  /* a key without a meaning */
	SCREEN_CLOSED, /* the terminal is gone */
};

enum screen_look { SCREEN_PLAIN, SCREEN_HEADING, SCREEN_TITLES, SCREEN_CHOSEN, SCREEN_ALARM };

/* Whether a screen can be opened: stdin and stdout are terminals of a known kind. 0, or -ENOTTY or
 * -ENOTSUP with a sentence for people in why. */
int screen_check(char *why, size_t why_bytes);
/* Clears the terminal. 0, -ENOTSUP or -ENOMEM with a sentence in why. */
int screen_open(char *why, size_t why_bytes, struct screen **ret_screen);
/* Gives the terminal back. Takes NULL. */
void screen_close(struct screen *s);

/* The size as of the last key. */
unsigned int screen_lines(const struct screen *s);
unsigned int screen_columns(const struct screen *s);

/* Waits at most that long for a key. */
int screen_key(struct screen *s, uint64_t wait_ns);

/* Empties the picture; lines are put into it and appear with screen_show(). Text is valid UTF-8
 * without control bytes; what is beyond the last column is cut. */
void screen_clear(struct screen *s);
void screen_put(struct screen *s, unsigned int y, const char *text, enum screen_look look);
void screen_show(struct screen *s);

/* The newest line that was logged since the last call (logged lines are safe to show), or NULL;
 * borrowed until the next call. */
const char *screen_logged(struct screen *s);
#endif

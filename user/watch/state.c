/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "watch/governor.h"

#define STATE_NAME    "state"
#define STATE_NEW     ".state.new"
#define STATE_TITLE   "hotrun-state"
#define STATE_VERSION 1
/* Without this last line the file was cut. */
#define STATE_LAST "end"
/* All lines with their largest numbers are below half of it. */
#define STATE_BYTES 2048
#define WORD_BYTES  32
/* The year 9999: sums and differences of such times do not overflow. */
#define TIME_MAX_S 253402300799

#define STORM_S	      300
#define STORM_FREE    3
#define STORM_WAIT_S  60
#define STORM_DOUBLES 6 /* 2^6 is more than the longest wait */

/* --- the text --------------------------------------------------------------------------------- */

/* A part of a text. */
struct piece {
	const char *at;
	size_t len;
};

/* Cuts off what is before the separator, which goes too; false where there is none. */
static bool cut(struct piece *rest, char separator, struct piece *ret_part)
{
	const char *end = rest->len ? memchr(rest->at, separator, rest->len) : NULL;

	if (!end)
		return false;
	*ret_part = (struct piece){rest->at, (size_t)(end - rest->at)};
	rest->len -= ret_part->len + 1;
	rest->at = end + 1;
	return true;
}

static bool is_word(const struct piece *p, const char *word)
{
	return p->len == strlen(word) && !memcmp(p->at, word, p->len);
}

static int parse_number(const struct piece *p, uint64_t max, uint64_t *ret_value)
{
	char text[WORD_BYTES];

	if (p->len >= sizeof(text) || memchr(p->at, '\0', p->len))
		return -EINVAL;
	memcpy(text, p->at, p->len);
	text[p->len] = '\0';
	return text_parse_u64(text, 0, max, ret_value) ? -EINVAL : 0;
}

/* "TIME TIME ...", newest first. */
static int parse_starts(struct piece value, struct state *state)
{
	struct piece word;
	uint64_t time;
	size_t n = 0;

	while (n < STATE_STARTS) {
		bool last = !cut(&value, ' ', &word);

		if (parse_number(last ? &value : &word, TIME_MAX_S, &time) || !time)
			return -EINVAL;
		state->starts_s[n++] = (int64_t)time;
		if (last)
			return 0;
	}
	return -EINVAL;
}

/* The keys, in the order in which they are written; each at most once. */
enum state_key {
	KEY_STARTS,
	KEY_CLEAN,
	KEY_TRIGGERED,
	KEY_ROTATED,
	KEY_FAILED,
	KEY_REMOVED,
	KEY_TRIGGER_S,
	KEY_LEVEL,
	KEY_CNT
};
static const struct {
	const char *word;
	uint64_t max;
} keys[KEY_CNT] = {
	[KEY_STARTS] = {"starts", 0},
	[KEY_CLEAN] = {"clean", 1},
	[KEY_TRIGGERED] = {"triggered", UINT64_MAX},
	[KEY_ROTATED] = {"rotated", UINT64_MAX},
	[KEY_FAILED] = {"failed", UINT64_MAX},
	[KEY_REMOVED] = {"removed", UINT64_MAX},
	[KEY_TRIGGER_S] = {"trigger-time", TIME_MAX_S},
	[KEY_LEVEL] = {"level", GOVERNOR_LEVEL_CNT - 1},
};

static void set_value(struct state *state, enum state_key key, uint64_t value)
{
	switch (key) {
	case KEY_CLEAN:
		state->clean = value;
		break;
	case KEY_TRIGGERED:
		state->triggered = value;
		break;
	case KEY_ROTATED:
		state->rotated = value;
		break;
	case KEY_FAILED:
		state->failed = value;
		break;
	case KEY_REMOVED:
		state->removed = value;
		break;
	case KEY_TRIGGER_S:
		state->trigger_s = (int64_t)value;
		break;
	case KEY_LEVEL:
		state->level = (uint32_t)value;
		break;
	case KEY_STARTS:
	case KEY_CNT:
		break;
	}
}

/* line: "KEY VALUE". seen: a bit a key. */
static int parse_line(struct piece line, struct state *state, unsigned int *seen)
{
	struct piece word;
	uint64_t value;
	int key = 0;

	if (!cut(&line, ' ', &word))
		return -EINVAL;
	while (key < KEY_CNT && !is_word(&word, keys[key].word))
		key++;
	if (key == KEY_CNT || *seen & 1u << key)
		return -EINVAL;
	*seen |= 1u << key;
	if (key == KEY_STARTS)
		return parse_starts(line, state);
	if (parse_number(&line, keys[key].max, &value))
		return -EINVAL;
	set_value(state, (enum state_key)key, value);
	return 0;
}

static int check_title(struct piece *line)
{
	struct piece word;
	uint64_t version;

	if (!cut(line, ' ', &word) || !is_word(&word, STATE_TITLE) ||
	    parse_number(line, UINT64_MAX, &version))
		return -EINVAL;
	return version == STATE_VERSION ? 0 : version > STATE_VERSION ? -EPROTO : -EINVAL;
}

int state_parse(const char *text, size_t len, struct state *ret_state)
{
	struct piece rest = {text, len}, line;
	struct state state = {0};
	unsigned int seen = 0;
	int err;

	if (!cut(&rest, '\n', &line))
		return -EINVAL;
	err = check_title(&line);
	if (err)
		return err;
	for (;;) {
		if (!cut(&rest, '\n', &line))
			return -EINVAL;
		if (is_word(&line, STATE_LAST))
			break;
		if (parse_line(line, &state, &seen))
			return -EINVAL;
	}
	if (rest.len)
		return -EINVAL;
	*ret_state = state;
	return 0;
}

static size_t put_state(char text[static STATE_BYTES], const struct state *state)
{
	const uint64_t values[KEY_CNT] = {
		[KEY_CLEAN] = state->clean,
		[KEY_TRIGGERED] = state->triggered,
		[KEY_ROTATED] = state->rotated,
		[KEY_FAILED] = state->failed,
		[KEY_REMOVED] = state->removed,
		[KEY_TRIGGER_S] = state->trigger_s > 0 ? (uint64_t)state->trigger_s : 0,
		[KEY_LEVEL] = state->level,
	};
	size_t at = (size_t)sprintf(text, STATE_TITLE " %d\n", STATE_VERSION);

	for (size_t i = 0; i < STATE_STARTS && state->starts_s[i] > 0; i++)
		at += (size_t)sprintf(text + at, "%s %" PRId64, i ? "" : keys[KEY_STARTS].word,
				      state->starts_s[i]);
	if (state->starts_s[0] > 0)
		at += (size_t)sprintf(text + at, "\n");
	for (int i = KEY_CLEAN; i < KEY_CNT; i++)
		at += (size_t)sprintf(text + at, "%s %" PRIu64 "\n", keys[i].word, values[i]);
	return at + (size_t)sprintf(text + at, STATE_LAST "\n");
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_text(int dir, char text[static STATE_BYTES], size_t *ret_len)
{
	_cleanup_close_ int fd =
		openat(dir, STATE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size >= STATE_BYTES)
		return -EINVAL;
	if (st.st_uid != geteuid())
		return -EPERM;
	n = io_read(fd, text, STATE_BYTES);
	if (n < 0)
		return (int)n;
	*ret_len = (size_t)n;
	return 0;
}

int state_read(int dir, struct state *ret_state)
{
	char text[STATE_BYTES];
	size_t len = 0;
	int err;

	*ret_state = (struct state){0};
	err = read_text(dir, text, &len);
	return err ? err : state_parse(text, len, ret_state);
}

static int write_text(int dir, const char *text, size_t len)
{
	_cleanup_close_ int fd = -1;

	if (unlinkat(dir, STATE_NEW, 0) && errno != ENOENT)
		return -errno;
	fd = openat(dir, STATE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* Not flushed: a disk that is slow must not hold up the loop, and what a power failure
	 * leaves of it is read as damaged. */
	return io_write(fd, text, len);
}

int state_write(int dir, const struct state *state)
{
	char text[STATE_BYTES];
	int err = write_text(dir, text, put_state(text, state));

	if (!err && renameat(dir, STATE_NEW, dir, STATE_NAME))
		err = -errno;
	if (err)
		unlinkat(dir, STATE_NEW, 0);
	return err;
}

/* --- restarts --------------------------------------------------------------------------------- */

unsigned int state_start(struct state *state, int64_t now_s)
{
	unsigned int recent = 0;

	if (state->clean)
		memset(state->starts_s, 0, sizeof(state->starts_s));
	memmove(state->starts_s + 1, state->starts_s,
		(STATE_STARTS - 1) * sizeof(state->starts_s[0]));
	state->starts_s[0] = now_s;
	state->clean = false;
	for (size_t i = 0; i < STATE_STARTS; i++) {
		int64_t start_s = state->starts_s[i];

		recent += start_s > 0 && start_s <= now_s && now_s - start_s < STORM_S;
	}
	if (recent <= STORM_FREE)
		return 0;
	recent -= STORM_FREE + 1;
	return recent >= STORM_DOUBLES ? STORM_WAIT_S : 1u << recent;
}

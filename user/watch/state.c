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
#define STATE_VERSION 2
#define STATE_OLDEST  1 /* of versions that are read: without captures by itself */
#define STATE_LIKE    "like"
/* Without this last line the file was cut. */
#define STATE_LAST "end"
/* All lines with their largest numbers are below half of it. */
#define STATE_BYTES 32768
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

/* "TIME TIME ...", newest first, at most max of them. */
static int parse_times(struct piece value, int64_t *times_s, size_t max)
{
	struct piece word;
	uint64_t time;
	size_t n = 0;

	while (n < max) {
		bool last = !cut(&value, ' ', &word);

		if (parse_number(last ? &value : &word, TIME_MAX_S, &time) || !time)
			return -EINVAL;
		times_s[n++] = (int64_t)time;
		if (last)
			return 0;
	}
	return -EINVAL;
}

static int parse_verdict(const struct piece *p, enum verdict *ret_verdict)
{
	for (int v = 0; v < VERDICT_CNT; v++) {
		if (!is_word(p, verdict_id((enum verdict)v)))
			continue;
		*ret_verdict = (enum verdict)v;
		return 0;
	}
	return -EINVAL;
}

/* "HASH VERDICT TIMES TAKEN SEEN" */
static int parse_like(struct piece value, struct policy_like *like)
{
	struct piece hash, verdict, times, taken;
	uint64_t numbers[4];

	if (!cut(&value, ' ', &hash) || !cut(&value, ' ', &verdict) || !cut(&value, ' ', &times) ||
	    !cut(&value, ' ', &taken))
		return -EINVAL;
	if (parse_number(&hash, UINT64_MAX, &numbers[0]) || !numbers[0] ||
	    parse_verdict(&verdict, &like->verdict) ||
	    parse_number(&times, UINT32_MAX, &numbers[1]) ||
	    parse_number(&taken, TIME_MAX_S, &numbers[2]) ||
	    parse_number(&value, TIME_MAX_S, &numbers[3]))
		return -EINVAL;
	like->hash = numbers[0];
	like->times = (uint32_t)numbers[1];
	like->taken_s = (int64_t)numbers[2];
	like->seen_s = (int64_t)numbers[3];
	return 0;
}

/* The next free one; -EINVAL: there are too many. */
static int add_like(struct piece value, struct state *state)
{
	for (size_t i = 0; i < POLICY_LIKES; i++)
		if (!state->memory.likes[i].hash)
			return parse_like(value, &state->memory.likes[i]);
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
	KEY_AUTOMATIC,
	KEY_TAKEN,
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
	[KEY_AUTOMATIC] = {"automatic", UINT64_MAX},
	[KEY_TAKEN] = {"taken", 0},
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
	case KEY_AUTOMATIC:
		state->automatic = value;
		break;
	case KEY_TAKEN:
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
	if (is_word(&word, STATE_LIKE))
		return add_like(line, state);
	while (key < KEY_CNT && !is_word(&word, keys[key].word))
		key++;
	if (key == KEY_CNT || *seen & 1u << key)
		return -EINVAL;
	*seen |= 1u << key;
	if (key == KEY_STARTS)
		return parse_times(line, state->starts_s, STATE_STARTS);
	if (key == KEY_TAKEN)
		return parse_times(line, state->memory.taken_s, POLICY_HOUR_MAX);
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
	if (version > STATE_VERSION)
		return -EPROTO;
	return version >= STATE_OLDEST ? 0 : -EINVAL;
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

/* A line, none where there is no time. */
static size_t put_times(char *text, enum state_key key, const int64_t *times_s, size_t max)
{
	size_t at = 0;

	for (size_t i = 0; i < max && times_s[i] > 0; i++)
		at += (size_t)sprintf(text + at, "%s %" PRId64, i ? "" : keys[key].word,
				      times_s[i]);
	return at ? at + (size_t)sprintf(text + at, "\n") : 0;
}

static size_t put_likes(char *text, const struct policy_memory *memory)
{
	size_t at = 0;

	for (size_t i = 0; i < POLICY_LIKES; i++) {
		const struct policy_like *like = &memory->likes[i];

		if (like->hash)
			at += (size_t)sprintf(text + at,
					      STATE_LIKE " %" PRIu64 " %s %u %" PRId64 " %" PRId64
							 "\n",
					      like->hash, verdict_id(like->verdict), like->times,
					      like->taken_s, like->seen_s);
	}
	return at;
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
		[KEY_AUTOMATIC] = state->automatic,
	};
	size_t at = (size_t)sprintf(text, STATE_TITLE " %d\n", STATE_VERSION);

	at += put_times(text + at, KEY_STARTS, state->starts_s, STATE_STARTS);
	for (int i = KEY_CLEAN; i < KEY_TAKEN; i++)
		at += (size_t)sprintf(text + at, "%s %" PRIu64 "\n", keys[i].word, values[i]);
	at += put_times(text + at, KEY_TAKEN, state->memory.taken_s, POLICY_HOUR_MAX);
	at += put_likes(text + at, &state->memory);
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

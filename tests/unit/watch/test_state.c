/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What survives a restart: round trip, damage, what may lie there instead; restart storms. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_folder.h"
#include "watch/governor.h"
#include "watch/state.h"

#define NOW 1795000000ll

static const struct state some = {.starts_s = {NOW, NOW - 5, NOW - 86400},
				  .clean = true,
				  .triggered = 3,
				  .rotated = UINT64_MAX,
				  .failed = 1,
				  .removed = 77,
				  .trigger_s = NOW - 3,
				  .level = GOVERNOR_FEWER_CONNECTIONS,
				  .automatic = 9,
				  .memory = {.taken_s = {NOW - 7, NOW - 8},
					     .likes = {{1, NOW - 7, NOW - 6, 2, VERDICT_STARVED}}}};

static const struct state empty;

static bool same(const struct state *a, const struct state *b)
{
	return !memcmp(a->starts_s, b->starts_s, sizeof(a->starts_s)) && a->clean == b->clean &&
	       a->triggered == b->triggered && a->rotated == b->rotated && a->failed == b->failed &&
	       a->removed == b->removed && a->trigger_s == b->trigger_s && a->level == b->level &&
	       a->automatic == b->automatic && !memcmp(&a->memory, &b->memory, sizeof(a->memory));
}

static int open_dir(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert(dir >= 0);
	return dir;
}

/* What is read where that text lies; the state is to be empty but for 0. */
static int read_of(const char *text, size_t len, struct state *ret)
{
	int dir = open_dir(), err;
	FILE *f;

	unlink("state");
	f = fopen("state", "w");
	cr_assert(f);
	fwrite(text, 1, len, f);
	fclose(f);
	*ret = some;
	err = state_read(dir, ret);
	if (err)
		cr_expect(same(ret, &empty));
	close(dir);
	return err;
}

Test(state, round_trip, .init = enter_folder, .fini = leave_folder)
{
	struct state full = some, read;
	struct stat st;
	int dir = open_dir();

	for (int i = 0; i < STATE_STARTS; i++)
		full.starts_s[i] = 253402300799 - i;
	for (int i = 0; i < POLICY_HOUR_MAX; i++)
		full.memory.taken_s[i] = 253402300799 - i;
	for (int i = 0; i < POLICY_LIKES; i++)
		full.memory.likes[i] =
			(struct policy_like){UINT64_MAX - (uint64_t)i, 253402300799, 253402300799,
					     UINT32_MAX, VERDICT_HOST_OVERLOADED};
	cr_assert_eq(state_write(dir, &some), 0);
	cr_assert_eq(state_read(dir, &read), 0);
	cr_expect(same(&read, &some));
	cr_assert_eq(state_write(dir, &full), 0);
	cr_assert_eq(state_read(dir, &read), 0);
	cr_expect(same(&read, &full));
	cr_assert_eq(state_write(dir, &empty), 0);
	cr_assert_eq(state_read(dir, &read), 0);
	cr_expect(same(&read, &empty));
	cr_assert_eq(stat("state", &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	cr_expect_eq(count_files(), 1, "nothing lies beside it");
	close(dir);
}

Test(state, cut_at_every_byte_it_is_empty, .init = enter_folder, .fini = leave_folder)
{
	struct state read;
	int dir = open_dir();
	char text[4096];
	FILE *f;
	size_t len;

	cr_assert_eq(state_write(dir, &some), 0);
	close(dir);
	f = fopen("state", "r");
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	cr_assert_gt(len, 50);
	cr_assert_eq(read_of(text, len, &read), 0);
	for (size_t n = 0; n < len; n++)
		cr_expect_eq(read_of(text, n, &read), -EINVAL, "cut to %zu", n);
	/* One byte is another: never what was not written, always within bounds. */
	for (size_t n = 0; n < len; n++) {
		char was = text[n];

		for (int byte = 0; byte < 256; byte += 5) {
			text[n] = (char)byte;
			memset(&read, 0xff, sizeof(read));
			if (!state_parse(text, len, &read))
				cr_expect(read.level < GOVERNOR_LEVEL_CNT && read.trigger_s >= 0);
		}
		text[n] = was;
	}
}

struct text_case {
	const char *name, *text;
	int err;
};

#define HEAD "hotrun-state 2\n"

static const struct text_case texts[] = {
	{"least", HEAD "end\n", 0},
	{"some", HEAD "rotated 5\nclean 0\nend\n", 0},
	{"empty", "", -EINVAL},
	{"a newer version", "hotrun-state 3\nwhatever\n", -EPROTO},
	{"the version before", "hotrun-state 1\nstarts 5\nrotated 5\nend\n", 0},
	{"no such version", "hotrun-state 0\nend\n", -EINVAL},
	{"a newer version of ours", "hotrun-state 11\nend\n", -EPROTO},
	{"no version", "hotrun-state\nend\n", -EINVAL},
	{"something else", "#!/bin/sh\nend\n", -EINVAL},
	{"more behind its end", HEAD "end\nclean 1\n", -EINVAL},
	{"a line twice", HEAD "clean 1\nclean 1\nend\n", -EINVAL},
	{"an unknown line", HEAD "colour 1\nend\n", -EINVAL},
	{"no value", HEAD "rotated\nend\n", -EINVAL},
	{"an empty value", HEAD "rotated \nend\n", -EINVAL},
	{"an empty line", HEAD "\nend\n", -EINVAL},
	{"a sign", HEAD "rotated -1\nend\n", -EINVAL},
	{"a word behind", HEAD "rotated 1 2\nend\n", -EINVAL},
	{"beyond 64 bits", HEAD "rotated 18446744073709551616\nend\n", -EINVAL},
	{"a very long number", HEAD "rotated 00000000000000000000000000000000001\nend\n", -EINVAL},
	{"no such level", HEAD "level 5\nend\n", -EINVAL},
	{"no such truth", HEAD "clean 2\nend\n", -EINVAL},
	{"a time after all times", HEAD "trigger-time 253402300800\nend\n", -EINVAL},
	{"a start that is none", HEAD "starts 5 0 3\nend\n", -EINVAL},
	{"no starts", HEAD "starts \nend\n", -EINVAL},
	{"16 starts", HEAD "starts 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\nend\n", 0},
	{"17 starts", HEAD "starts 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\nend\n", -EINVAL},
	{"a like", HEAD "like 18446744073709551615 starved 3 1795000000 1795000001\nend\n", 0},
	{"two of them", HEAD "like 1 starved 1 5 6\nlike 2 inelastic 1 5 6\nend\n", 0},
	{"a like of nothing", HEAD "like 0 starved 1 5 6\nend\n", -EINVAL},
	{"no such verdict", HEAD "like 1 tired 1 5 6\nend\n", -EINVAL},
	{"too little of a like", HEAD "like 1 starved 1 5\nend\n", -EINVAL},
	{"too much of a like", HEAD "like 1 starved 1 5 6 7\nend\n", -EINVAL},
	{"captures by itself", HEAD "automatic 7\ntaken 5 4 3\nend\n", 0},
	{"a capture at no time", HEAD "taken 5 0\nend\n", -EINVAL},
	{"carriage returns", "hotrun-state 1\r\nend\r\n", -EINVAL},
};

Test(state, texts)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct state state = some;
		int err = state_parse(texts[i].text, strlen(texts[i].text), &state);

		cr_expect_eq(err, texts[i].err, "%s: %d", texts[i].name, err);
		if (err)
			cr_expect(same(&state, &some), "%s: touched on failure", texts[i].name);
	}
	cr_expect_eq(state_parse(HEAD "clean 1\0\nend\n", strlen(HEAD) + 13, &(struct state){0}),
		     -EINVAL, "a 0 byte");
}

Test(state, what_may_lie_there_instead, .init = enter_folder, .fini = leave_folder)
{
	struct state state = some;
	int dir = open_dir();

	cr_expect_eq(state_read(dir, &state), -ENOENT);
	cr_expect(same(&state, &empty));
	cr_assert_eq(mkfifo("state", 0600), 0);
	cr_expect_eq(state_read(dir, &state), -EINVAL, "a FIFO is not waited for");
	cr_assert_eq(state_write(dir, &some), 0);
	cr_expect_eq(state_read(dir, &state), 0, "and is replaced");
	unlink("state");
	put_file("elsewhere", HEAD "end\n");
	cr_assert_eq(symlink("elsewhere", "state"), 0);
	cr_expect_eq(state_read(dir, &state), -ELOOP);
	cr_assert_eq(state_write(dir, &some), 0);
	cr_expect_eq(state_read(dir, &state), 0);
	cr_assert_eq(truncate("state", 1ll << 40), 0);
	cr_expect_eq(state_read(dir, &state), -EINVAL, "huge");
	unlink("state");
	cr_assert_eq(mkdir("state", 0700), 0);
	cr_expect_eq(state_read(dir, &state), -EINVAL);
	cr_expect_lt(state_write(dir, &some), 0);
	cr_expect_eq(access(".state.new", F_OK), -1, "nothing is left of a failure");
	rmdir("state");
	if (geteuid() == 0) {
		cr_assert_eq(state_write(dir, &some), 0);
		cr_assert_eq(chown("state", 65534, 65534), 0);
		cr_expect_eq(state_read(dir, &state), -EPERM, "of somebody else");
		cr_expect(same(&state, &empty));
	}
	/* What a run that was killed in the middle of it left. */
	cr_assert_eq(symlink("elsewhere", ".state.new"), 0);
	cr_assert_eq(state_write(dir, &some), 0);
	cr_expect_eq(state_read(dir, &state), 0);
	cr_assert_eq(truncate("elsewhere", 0), 0);
	cr_expect(same(&state, &some));
	close(dir);
}

/* --- restart storms --------------------------------------------------------------------------- */

struct storm_case {
	const char *name;
	int64_t gap_s; /* between two starts */
	bool clean;    /* each run ends on purpose */
	unsigned int starts;
	unsigned int wait_s; /* of the last */
};

static const struct storm_case storms[] = {
	{"the first start", 0, false, 1, 0},
	{"the second", 1, false, 2, 0},
	{"the third", 1, false, 3, 0},
	{"the fourth", 1, false, 4, 1},
	{"the fifth", 1, false, 5, 2},
	{"the ninth", 1, false, 9, 32},
	{"the tenth", 1, false, 10, 60},
	{"the hundredth", 1, false, 100, 60},
	{"many at once", 0, false, 16, 60},
	{"on purpose, whatever how often", 1, true, 100, 0},
	{"every two minutes", 120, false, 100, 0},
	{"every 75 seconds", 75, false, 100, 1},
	{"every five minutes", 300, false, 100, 0},
};

Test(state, restart_storms)
{
	for (size_t i = 0; i < sizeof(storms) / sizeof(storms[0]); i++) {
		struct state state = {0};
		unsigned int wait_s = 99;

		for (unsigned int n = 0; n < storms[i].starts; n++) {
			wait_s = state_start(&state, NOW + n * storms[i].gap_s);
			cr_assert_not(state.clean);
			state.clean = storms[i].clean;
		}
		cr_expect_eq(wait_s, storms[i].wait_s, "%s: %u", storms[i].name, wait_s);
	}
}

Test(state, starts_in_the_future_do_not_count)
{
	struct state state = {0};

	for (int i = 0; i < 10; i++)
		state_start(&state, NOW + 86400 + i);
	cr_expect_eq(state_start(&state, NOW), 0);
	cr_expect_eq(state_start(&state, NOW + 1), 0);
	cr_expect_eq(state.starts_s[0], NOW + 1);
	cr_expect_eq(state.starts_s[1], NOW);
	/* A clock that is not set yet. */
	cr_expect_eq(state_start(&state, 0), 0);
	cr_expect_eq(state_start(&state, -1), 0);
}

Test(state, a_stop_on_purpose_ends_the_storm)
{
	struct state state = {0};

	for (int i = 0; i < 10; i++)
		state_start(&state, NOW + i);
	state.clean = true;
	cr_expect_eq(state_start(&state, NOW + 11), 0);
	cr_expect_eq(state.starts_s[1], 0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SUSPECTS_H
#define HOTRUN_WATCH_SUSPECTS_H
/*
 * Who is suspected to be in trouble, and since when: processes (or the host) that were hurt in the
 * last second, followed from second to second until that has lasted long enough to be believed.
 * Pure, over the verdicts of a second; no clock, no threads.
 *
 * A second that is not bad does not end a suspicion, SUSPECTS_GOOD_NS of them do: who staggers is
 * in trouble, too. But only bad time counts: a suspicion is confirmed by so much of it. A second
 * without evidence (a gap in the books) counts as neither.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/verdict.h"
#include "model/history.h"

/* At a time; on a host where more are hurt the first ones tell it. */
#define SUSPECTS_MAX	 32
#define SUSPECTS_GOOD_NS 2000000000ull
#define SUSPECT_NAME	 96

/* A process that was hurt in the second that has ended. */
struct suspect_row {
	uint32_t tgid; /* 0 = the host */
	uint64_t start_ns;
	uint32_t process;		 /* row of the model of that second */
	const char *name, *unit, *place; /* untrusted bytes, copied */
	uint64_t tenant;
	struct verdict_result result;
	struct verdict_input input;
	bool no_capture;
};

struct suspect {
	uint32_t tgid; /* 0 = the host */
	uint64_t start_ns;
	uint32_t process; /* row, as of the last bad second */
	/* Untrusted bytes; place: as history has it (minutes_kind()). */
	char name[SUSPECT_NAME], unit[SUSPECT_NAME], place[HISTORY_PLACE_BYTES];
	uint64_t tenant;	      /* as in struct policy_case */
	uint64_t since_ns;	      /* the first bad second begins */
	uint64_t last_ns;	      /* the last bad second ends */
	uint64_t bad_ns;	      /* bad time since then */
	struct verdict_result result; /* the most urgent since then */
	struct verdict_input input;
	bool no_capture;
	/* For who asks about it, zeroed at the start. */
	uint64_t asked_ns;
	int answer;
	bool is_answered, is_captured;
};

struct suspects {
	struct suspect rows[SUSPECTS_MAX];
	size_t cnt;
	uint64_t looked_ns; /* closely, for suspicions that came to nothing so far */
};

/* Who staggers without ever being bad for long enough would be looked at closely for ever: so long
 * at once, and one part in so many of the time. */
#define SUSPECTS_LOOK_NS   30000000000ull
#define SUSPECTS_LOOK_PART 20

/* A second has ended, in which these were hurt; known: false = it has no evidence. Forgets who has
 * been well for long enough, and who is gone with it. */
void suspects_second(struct suspects *s, const struct suspect_row *rows, size_t cnt, bool known,
		     uint64_t from_ns, uint64_t to_ns);
/* The one that is suspected for longest: "who, since when"; NULL = nobody. Borrowed until the next
 * call of suspects_second(). */
const struct suspect *suspects_first(const struct suspects *s);
/* Has been bad in the second that ended at now_ns, and for so long in all; to 1 %, since slices are
 * not exact. */
bool suspect_is_confirmed(const struct suspect *s, uint64_t confirm_ns, uint64_t now_ns);
/* Whether somebody is to be looked at closely for a while, who is neither confirmed nor answered;
 * passed_ns: since this was asked last. */
bool suspects_want_look(struct suspects *s, uint64_t passed_ns);
/* It was worth it: a capture was taken. */
void suspects_taken(struct suspects *s);
/* Those who are, the most urgent verdict first; of equal ones the host, then who is so for longest.
 * Returns their number; borrowed as above. */
size_t suspects_confirmed(struct suspects *s, uint64_t confirm_ns, uint64_t now_ns,
			  struct suspect *ret_rows[static SUSPECTS_MAX]);
/* What tells its service from others, who may have its name: name, and container, unit or user. ""
 * for the host. */
#define SUSPECT_IDENTITY (SUSPECT_NAME + HISTORY_PLACE_BYTES)
void suspect_identity(char ret_text[static SUSPECT_IDENTITY], const struct suspect *s);
/* How many people it hurts, from what was seen in the last seconds: requests that were slow, ended
 * without an answer, stand unanswered, or were refused. 0 = nobody was seen. */
double suspect_people(const struct verdict_input *input);
#endif

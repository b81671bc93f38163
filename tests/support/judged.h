/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_JUDGED_H
#define HOTRUN_TESTS_JUDGED_H
/*
 * Models made by hand (build_model.h) and the verdicts on them. Failures end or fail the criterion
 * test.
 */
#include "judge/verdicts.h"

/* A model and what verdicts are made from. */
struct judged {
	struct model *m;
	struct totals *totals;
	struct sched *sched;
	struct requests *requests;
	struct books books;
	struct verdicts *v;
};

/* Takes m, which ends with judged_free(). Of options what the model does not give. */
struct judged judged_with(struct model *m, const struct verdict_sources *options);
struct judged judged_of(struct model *m);
/* Where it was declared of all that waiting hurts them (hurt-by = waiting). */
struct judged judged_waiting(struct model *m);
void judged_free(struct judged *j);

/* NULL: it has none. */
const struct verdict_row *judged_row(const struct judged *j, uint32_t process);
/* No row is healthy. */
void judged_expect(const struct judged *j, uint32_t process, enum verdict verdict);
void judged_expect_host(const struct judged *j, enum verdict verdict);

/* A process of one thread; figures in hundredths of a second. */
uint32_t judged_add(struct model *m, uint32_t tgid, const char *name, uint64_t ran, uint64_t waited,
		    uint64_t own, uint64_t throttled);
/* Its first thread. */
uint32_t judged_thread(const struct model *m, uint32_t process);
/* cnt answers after time_ns in each of so many slices, from the first on. */
void judged_answers(struct model *m, uint32_t endpoint, uint32_t seconds, uint64_t time_ns,
		    uint64_t cnt);
/* cnt requests stand unanswered at the end of that slice. */
void judged_leaves(struct model *m, uint32_t endpoint, uint32_t slice, uint32_t cnt,
		   uint64_t oldest_ns);
#endif

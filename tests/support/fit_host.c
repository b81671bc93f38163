/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fit_host.h"

#include <criterion/criterion.h>
#include <string.h>

const struct doctor_finding *fit_find(const struct doctor_finding *findings, size_t cnt,
				      const char *id)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(findings[i].id, id))
			return &findings[i];
	cr_assert(false, "no finding %s", id);
	return NULL;
}

void fit_expect_whole(const char *name, const struct doctor_finding *findings, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct doctor_finding *f = &findings[i];

		cr_expect(strchr(f->id, '.') && *f->text && *f->purpose, "%s: %s", name, f->id);
		if (f->level == DOCTOR_WARN || f->level == DOCTOR_FAIL)
			cr_expect(*f->remedy, "%s: %s has no remedy", name, f->id);
		else
			cr_expect(!*f->remedy, "%s: %s has a remedy", name, f->id);
		cr_expect_lt(strlen(f->remedy), sizeof(f->remedy) - 1, "%s: %s is cut", name,
			     f->id);
	}
}

void fit_judge_rows(const struct host_row *rows, size_t rows_cnt)
{
	struct doctor_finding findings[DOCTOR_HOST_MAX];

	for (size_t i = 0; i < rows_cnt; i++) {
		size_t cnt = doctor_judge_host(&rows[i].facts, findings);
		const struct doctor_finding *f = fit_find(findings, cnt, rows[i].id);

		cr_expect_eq(f->level, rows[i].level, "%s: %s is %s", rows[i].name, f->id,
			     doctor_level_text(f->level));
		cr_expect(strstr(f->text, rows[i].text), "%s: '%s'", rows[i].name, f->text);
		cr_expect(strstr(f->remedy, rows[i].remedy), "%s: '%s'", rows[i].name, f->remedy);
		fit_expect_whole(rows[i].name, findings, cnt);
	}
}

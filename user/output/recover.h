/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_RECOVER_H
#define HOTRUN_OUTPUT_RECOVER_H
/*
 * What `hotrun recover` found and did, as text or JSON. Names of processes, groups and files may be
 * hostile: both escape them. Pure; no threads.
 */
#include <stdio.h>

#include "judge/recover.h"

#define RECOVER_DONE_MAX 10

/* One act, and what came of it. */
struct recover_done {
	enum recover_act act;
	uint32_t tracer; /* of RECOVER_END_TRACER */
	bool ok;	 /* it was done, and its threads ran afterwards */
	bool in_vain;	 /* it was done and waited for, and they do not run */
	char text[1200];
};

/* A process with findings, or one that was asked for. Borrowed by the report. */
struct recover_row {
	struct left_process found;
	struct recover_done done[RECOVER_DONE_MAX];
	size_t done_cnt;
	bool acted;	    /* after is how it is now */
	bool ended;	    /* it has ended meanwhile: after is not known */
	bool tracer_spared; /* --end-tracer was not given */
	struct left_process after;
};

struct recover_report {
	const char *hotrun_version;
	const char *host_name;
	int64_t time;
	const struct recover_row *const *rows;
	size_t rows_cnt;
	size_t looked_at;     /* processes */
	size_t unreadable;    /* of which a part could not be looked at for lack of rights */
	size_t hung;	      /* that did not answer in time */
	bool cut;	      /* more were found than are kept */
	size_t freeze_unseen; /* of which whether they are frozen cannot be told from here */
	bool resume;	      /* acts were asked for */
	bool interrupted;     /* the user ended it before all was done */
};

/* Processes that stand (now, where acts were done), those with something left, and acts that
 * failed. */
struct recover_counts {
	size_t stand, left, failed;
};
void recover_count(const struct recover_report *report, struct recover_counts *ret_counts);

/* Both return 0, or -EIO when out has failed. */
int recover_text_write(FILE *out, const struct recover_report *report, bool color);
int recover_json_write(FILE *out, const struct recover_report *report);
#endif

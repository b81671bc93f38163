/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_UNWIND_RUN_H
#define HOTRUN_COLLECT_UNWIND_RUN_H
/*
 * What the kernel is told of one process: its code in the order of addresses, and the table by
 * which each piece of it is walked. Tables that are missing are made. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/unwind_tables.h"
#include "kernel/unwind_maps.h"
#include "model/model.h"
#include "names/names.h"

/* Begins with zeroes: of the last process. */
struct unwind_run {
	struct unwind_mapping *run;
	size_t run_cnt, run_cap;
	uint64_t *bounds;
	size_t bounds_cnt, bounds_cap;
	struct unwind_page *code_pages;
	size_t code_pages_cnt, code_pages_cap;
	struct unwind_row *code_rows;
	size_t code_rows_cnt, code_rows_cap;
};

/* What a run is made of, and what it lacks. Begins with zeroes. */
struct unwind_made {
	bool is_pending;     /* a file of it is being read, or room is being made */
	bool is_short;	     /* there was no room for some of it */
	bool is_brief;	     /* some of it was left out before its first sample */
	uint32_t mapped;     /* mappings with a table */
	uint32_t code;	     /* names_code_generation() then */
	uint32_t code_pages; /* of its tables of code */
	uint32_t *tables;    /* rows that it uses, each once; owned */
	size_t tables_cnt, tables_cap;
};

/* Makes the run of a process. is_expected: it was not sampled yet, and others' names are not held
 * up for it. 0, or negative errno and *ret_made untouched. */
int unwind_run_make(struct unwind_run *r, struct unwind_tables *tables, struct model *m,
		    struct names *names, uint32_t process, bool is_expected,
		    struct unwind_made *ret_made);
void unwind_run_close(struct unwind_run *r);
/* It is used no more. */
void unwind_made_release(struct unwind_made *made, struct unwind_tables *tables);
/* The kernel did not take it: its tables are released, and those of the former one are its. */
void unwind_made_keep_tables(struct unwind_made *made, const struct unwind_made *former,
			     struct unwind_tables *tables);
#endif

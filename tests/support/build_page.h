/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_BUILD_PAGE_H
#define HOTRUN_TESTS_BUILD_PAGE_H
/*
 * Captures for tests of the formats that show whole stacks (folded, flame graph page).
 */
#include "model/model.h"

/* Names that a target may choose to break a line, a terminal, a page or a parser. */
extern const char *const build_hostile_names[];
extern const unsigned int build_hostile_cnt;

/*
 * Three processes: Shop.Api (pid 100, 2 threads, 600 samples: JIT, native, kernel, precompiled,
 * unnamed and truncated stacks, recursion), nginx (pid 200, 300 samples), and one (pid 300, 100
 * samples) whose name, methods and modules are hostile. Losses, tiers and a late name.
 */
struct model *build_page_capture(void);

/* 600 samples where 990 are due. */
struct model *build_page_gap(void);

/* One process of about node_cnt distinct nodes in deep and wide stacks. */
struct model *build_page_large(uint32_t node_cnt);
#endif

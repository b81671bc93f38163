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
 * samples) whose name, methods and modules are hostile. A hundred samples a second, in that order;
 * requests of the shop, slow in the third second. Losses, tiers and a late name.
 */
struct model *build_page_capture(void);

/* The same; a thread of the shop was blocked for 0.8 s of each of the first six seconds. */
struct model *build_page_blocked(void);

/* Shop.Api alone, as a version recorded it that kept neither slices nor waits nor requests. */
struct model *build_page_older(void);

/* 600 samples where 990 are due. */
struct model *build_page_gap(void);

/* One process of about node_cnt distinct nodes in deep and wide stacks. */
struct model *build_page_large(uint32_t node_cnt);

/* An hour of a big host: 32 services that share their code, so many samples of so many distinct
 * stacks in slices of a second, with requests. For measurements. */
struct model *build_page_hour(uint32_t samples, uint32_t stacks);
#endif

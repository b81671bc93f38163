/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_MEMORY_H
#define HOTRUN_BASE_MEMORY_H
/*
 * For a process whose tables grow and go for minutes or months. By itself glibc puts ever larger
 * ones onto the heap, once some were freed (mallopt(3), M_MMAP_THRESHOLD): there they leave holes
 * when they grow, and are not given back. Mapped, they grow in place, and take no memory until they
 * are written to. Costs who makes many large tables and ends soon a fifth of its time: not for
 * reports.
 */
void memory_map_tables(void);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_OPTION_VALUE_H
#define HOTRUN_COMMANDS_OPTION_VALUE_H
/*
 * Values of options that several commands take: each is parsed, or refused with what was wanted. All
 * return EXIT_OK, or EXIT_USAGE, logged; results are untouched then. No threads.
 */
#include <stdint.h>

/* Refuses a value: "-d x: not a number of seconds". */
int option_bad_value(const char *command, const char *option, const char *value, const char *want);
/* 0.1 to max_s, which is told in days from two of them on. */
int option_seconds(const char *command, const char *option, const char *value, double max_s,
		   double *ret_seconds);
/* A whole number within bounds. */
int option_number(const char *command, const char *option, const char *value, uint64_t min,
		  uint64_t max, uint64_t *ret_number);
/* Rows, columns and the like: min to a million. */
int option_count(const char *command, const char *option, const char *value, unsigned int min,
		 unsigned int *ret_count);
/* Samples a second and CPU, 1 to 10000. */
int option_frequency(const char *command, const char *value, uint32_t *ret_hz);

/* The longest duration. */
#define OPTION_MAX_SECS (30 * 86400.0)
#endif

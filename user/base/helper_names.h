/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_HELPER_NAMES_H
#define HOTRUN_BASE_HELPER_NAMES_H
/*
 * What the processes are called that hotrun forks for itself: /proc/PID/comm, at most 15 bytes. For
 * people: anybody may have such a name (model_is_own()).
 */
#define HELPER_NURSERY "hotrun-nursery" /* child of hotrun, parent of the next three */
#define HELPER_OPENER  "hotrun-file"	/* opens files of targets */
#define HELPER_PARSER  "hotrun-parse"	/* reads them, without any right */
#define HELPER_STREAM  "hotrun-stand"	/* reads where threads stand, without any right */
#define HELPER_SIGNALS "hotrun-signal"	/* child of hotrun; reads the operator's own numbers */
#endif

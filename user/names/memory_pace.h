/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_MEMORY_PACE_H
#define HOTRUN_NAMES_MEMORY_PACE_H
/*
 * How often the memory of a process is read for names: each reading costs some ms, however little
 * it is of. Pure.
 */
#include <stdint.h>

/* While fleeting bodies come and go in a process, or did so long ago. */
#define MEMORY_CHURN_NS 1000000000ull
/* What is new in a process that has been read for so long is read after a part of that, between
 * these two: the code of a service that is warm comes a method at a time. */
#define MEMORY_WARM_NS		 10000000000ull
#define MEMORY_WARM_PART	 8u
#define MEMORY_WARM_READ_NS	 2000000000ull
#define MEMORY_WARM_READ_MOST_NS 5000000000ull
/* Fleeting bodies that have been there for so long are read once more after a part of that, between
 * these two: two readings name what lies between them, however far they are apart. */
#define MEMORY_STEADY_NS	   2000000000ull
#define MEMORY_STEADY_PART	   8u
#define MEMORY_STEADY_READ_NS	   800000000ull
#define MEMORY_STEADY_READ_MOST_NS 5000000000ull

/* After the last reading of a process, how long that of an address may wait at which no body is
 * known; it was first read at begun_ns (0 = never), and bodies were met that come and go at
 * churn_ns (0 = never). */
uint64_t memory_pace_new(uint64_t now_ns, uint64_t begun_ns, uint64_t churn_ns);
/* The same of a fleeting body that has been there for so long. */
uint64_t memory_pace_fleeting(uint64_t age_ns);
#endif

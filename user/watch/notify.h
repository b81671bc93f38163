/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_NOTIFY_H
#define HOTRUN_WATCH_NOTIFY_H
/*
 * Tells the service manager how the resident recorder fares: sd_notify(3) without its library,
 * which no small image has. A datagram to the socket that NOTIFY_SOCKET names; without one,
 * nothing.
 */
#include <stdint.h>

/* "READY=1", "STATUS=...", "WATCHDOG=1", "STOPPING=1", lines separated by newlines. Never waits; 0,
 * also when nobody listens, or negative errno. */
int notify(const char *lines);
/* How often the manager wants to hear WATCHDOG=1: half of WATCHDOG_USEC, 0 = not at all. ns. */
uint64_t notify_interval_ns(void);
#endif

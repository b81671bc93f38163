/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_LOG_H
#define HOTRUN_BASE_LOG_H
/*
 * Lines on stderr, for commands/, collect/, kernel/ and the loop of watch/ only: the rooms below
 * never print. Control bytes of the finished line are escaped, since parts of it may come from
 * watched processes.
 */
enum log_level {
	LOG_LEVEL_ERROR = 0,
	LOG_LEVEL_WARN = 1,
	LOG_LEVEL_INFO = 2,  /* default: shown */
	LOG_LEVEL_DEBUG = 3, /* with -v */
};

/* Lines above this level are dropped. One of the two mutable globals of the program. */
extern enum log_level log_max_level;

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#endif

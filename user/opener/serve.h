/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_SERVE_H
#define HOTRUN_OPENER_SERVE_H
/*
 * What the opener's process does with a request: hands it to who knows its kind. Runs in the helper
 * process (opener.h) only.
 */
#include "opener/file_request.h"

/* Answers one request. give_fd and way_fd are borrowed, -1 = none; ret_fd owned. */
void serve_request(const struct file_request *request, int give_fd, int way_fd,
		   struct file_reply *ret_reply, int *ret_fd);
#endif

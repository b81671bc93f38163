/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/recorder_words.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

void recorder_silent(const char *dir, int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
	case -ENOTSOCK:
		log_error("%s: no recorder runs there; start one with `hotrun watch --dir %s`, or "
			  "name its folder with --dir",
			  dir, dir);
		return;
	case -EACCES:
	case -EPERM:
		log_error("%s: not permitted: be root, or the user who runs the recorder", dir);
		return;
	case -ETIMEDOUT:
		log_error("%s: the recorder does not answer; is it stopped, or short of CPU?", dir);
		return;
	case -EINTR:
		log_error("interrupted");
		return;
	case -EBADMSG:
		log_error("%s: the recorder's answer is not understood; are both of the same "
			  "version?",
			  dir);
		return;
	case 0:
		log_error("%s: the recorder has ended", dir);
		return;
	default:
		log_error("%s: %s", dir, strerror(-err));
	}
}

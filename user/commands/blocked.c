/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/blocked.h"

#include <string.h>

#include "base/log.h"
#include "commands/command.h"
#include "judge/blocked.h"

int blocked_check(const struct model *m)
{
	if (!(model_off(m) & OFF_STANDS))
		return EXIT_OK;
	log_error("blocked time n/a: %s", model_off_text(m, OFF_STANDS));
	return EXIT_FAILED;
}

int blocked_take(struct model *m, bool idle)
{
	int err = blocked_check(m);

	if (err)
		return err;
	err = blocked_as_samples(m, idle);
	if (err) {
		log_error("%s", strerror(-err));
		return EXIT_FAILED;
	}
	if (!m->samples_cnt)
		log_info("no thread was found in a wait%s: nothing to write",
			 idle ? "" : " that is not idle (--idle shows all)");
	return EXIT_OK;
}

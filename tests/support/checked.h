/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CHECKED_H
#define CHECKED_H
/* For makers of models: what fails there is a fault of the test. */
#include <stdlib.h>

#include "model/model.h"

static inline uint32_t checked(uint32_t row)
{
	if (row == MODEL_NONE)
		abort();
	return row;
}

static inline void checked_err(int err)
{
	if (err)
		abort();
}
#endif

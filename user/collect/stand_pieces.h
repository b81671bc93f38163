/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_STAND_PIECES_H
#define HOTRUN_COLLECT_STAND_PIECES_H
/* Records of where threads stand, out of pieces that end anywhere in them, as
 * isolate/stream_reader.h hands them over. Pure; no threads. */
#include <stddef.h>

#include "isolate/stream_reader.h"
#include "kernel/session.h"

#define STAND_PIECES_BYTES (2 * STREAM_PIECE_BYTES)

struct stand_pieces {
	size_t have; /* of a record that is not whole yet; 0 to begin with */
	_Alignas(8) char bytes[STAND_PIECES_BYTES];
};

/* Hands take each record that is whole by now. 0, or -EPROTO. */
int stand_pieces_take(struct stand_pieces *p, const char *bytes, size_t len, stands_take_fn take,
		      void *ctx);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/stand_pieces.h"

#include <errno.h>
#include <string.h>

_Static_assert(STAND_PIECES_BYTES >=
		       STREAM_PIECE_BYTES + sizeof(struct event_stand) + STAND_STACK_BYTES,
	       "a piece, and part of a record");

int stand_pieces_take(struct stand_pieces *p, const char *bytes, size_t len, stands_take_fn take,
		      void *ctx)
{
	ssize_t done;

	if (len > sizeof(p->bytes) - p->have)
		return -EPROTO;
	memcpy(p->bytes + p->have, bytes, len);
	p->have += len;
	done = session_take_stands(p->bytes, p->have, take, ctx);
	if (done < 0)
		return (int)done;
	p->have -= (size_t)done;
	memmove(p->bytes, p->bytes + done, p->have);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_CLEANUP_H
#define HOTRUN_BASE_CLEANUP_H
/*
 * Scope-bound release of locals, so that a function has one way out.
 *
 *	_cleanup_free_ char *path = NULL;
 *	_cleanup_close_ int fd = -1;
 *	return take_ptr(&path);		(hands ownership to the caller)
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

static inline void cleanup_free(void *pp)
{
	free(*(void **)pp);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_free_	 _cleanup_(cleanup_free)
#define _cleanup_close_	 _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

/* Returns *fd and leaves -1 behind: the scope no longer closes it. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Returns *pp and leaves NULL behind: the scope no longer frees it. */
#define take_ptr(pp)                              \
	({                                        \
		__typeof__(*(pp)) taken_ = *(pp); \
		*(pp) = NULL;                     \
		taken_;                           \
	})
#endif

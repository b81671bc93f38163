/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links of call chains that are known to the last frame. Each is a function of its own, whatever
 * the optimizer thinks of it, and does something after the call, so that the call is no jump. Their
 * frames are laid out in all the ways that compilers know.
 */
#ifndef LINKS_H
#define LINKS_H
#include <stdint.h>

#define LINK __attribute__((noipa)) uint64_t

/* Nothing but the call. */
#define PLAIN(name, next)               \
	LINK name(uint64_t x)           \
	{                               \
		return next(x + 1) + 1; \
	}

/* Every register that a callee keeps, the frame pointer for a variable among them. */
#define SAVING(name, next)                                                                  \
	LINK name(uint64_t x)                                                               \
	{                                                                                   \
		uint64_t a = x * 3, b = x ^ 5, c = x + 7, d = x << 1, e = x - 9, f = x | 1; \
                                                                                            \
		x = next(a ^ b ^ c ^ d ^ e ^ f);                                            \
		return ((x + a) * b ^ c) * d + (e ^ f);                                     \
	}

/* Many variables. */
#define LARGE(name, next)                          \
	LINK name(uint64_t x)                      \
	{                                          \
		volatile char room[600];           \
                                                   \
		room[x % sizeof(room)] = 1;        \
		x = next(x);                       \
		return x + room[x % sizeof(room)]; \
	}

/* A frame whose size is known when it runs. */
#define VARIABLE(name, next)                                         \
	LINK name(uint64_t x)                                        \
	{                                                            \
		volatile char *room = __builtin_alloca(16 + x % 64); \
                                                                     \
		room[x % 16] = 1;                                    \
		x = next(x);                                         \
		return x + room[x % 16];                             \
	}

/* A frame at an address that is a multiple of 64: where the caller's begins is a variable. */
#define ALIGNED(name, next)                             \
	LINK name(uint64_t x)                           \
	{                                               \
		_Alignas(64) volatile uint64_t room[8]; \
                                                        \
		room[x & 7] = x;                        \
		x = next(x);                            \
		return x + room[x & 7];                 \
	}

/* Arguments that are pushed: the callee takes the first. */
#define PUSHING(name, next)                                                             \
	LINK name(uint64_t x)                                                           \
	{                                                                               \
		uint64_t (*call)(uint64_t, int, int, int, int, int, uint64_t, uint64_t, \
				 uint64_t) = (void *)next;                              \
                                                                                        \
		return call(x, 2, 3, 4, 5, 6, x * 7, x ^ 8, x + 9) + 1;                 \
	}

/* Six of them. */
#define LINKS(a, b, c, d, e, f, next) \
	PLAIN(f, next) SAVING(e, f) LARGE(d, e) VARIABLE(c, d) ALIGNED(b, c) PUSHING(a, b)
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_READER_H
#define PERFMAP_MEMORY_READER_H
/*
 * Bounded reads of the memory of a process that runs on meanwhile: by pages that are kept for a
 * while, and counted. A read that cannot be done gives zeros and is remembered, so that who follows
 * pointers checks once, at the end. What a name rests on is noted: perfmap_memory_still() looks
 * whether it is there unchanged when the name is made. Not for use outside perfmap/. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "perfmap/memory/memory.h"
#include "perfmap/work.h"

#define PERFMAP_MEMORY_PAGE  4096u
#define PERFMAP_MEMORY_PAGES 64u /* that are kept */
/* Notes of a name, and of as many as are looked at together. */
#define PERFMAP_MEMORY_NOTES	      256u
#define PERFMAP_MEMORY_NOTE_BYTES     16384u
#define PERFMAP_MEMORY_NOTES_ALL      2048u
#define PERFMAP_MEMORY_NOTE_BYTES_ALL 131072u

/* Work (work.h) of a page that is read; a byte that is copied counts as one. */
#define PERFMAP_MEMORY_PAGE_WORK 4096u

/* Apart from its bytes: to forget all pages is not to touch them. */
struct perfmap_memory_page {
	uint64_t address; /* 1 = none */
	uint32_t len;	  /* of it that could be read */
};

struct perfmap_memory_note {
	uint64_t address;
	uint32_t at, len; /* in note_bytes */
};

struct perfmap_memory_reader {
	perfmap_memory_read read;
	void *source;
	struct perfmap_work work;
	bool failed; /* since perfmap_memory_begin() */
	bool notes;  /* what is read now is noted */
	struct perfmap_memory_page pages[PERFMAP_MEMORY_PAGES];
	uint8_t bytes[PERFMAP_MEMORY_PAGES][PERFMAP_MEMORY_PAGE];
	struct perfmap_memory_note note[PERFMAP_MEMORY_NOTES_ALL];
	uint32_t note_cnt, note_len;
	uint32_t own_cnt, own_len; /* of names before this one */
	uint8_t note_bytes[PERFMAP_MEMORY_NOTE_BYTES_ALL];
};

/* It may do so much work. */
void perfmap_memory_reader_init(struct perfmap_memory_reader *r, perfmap_memory_read read,
				void *source, uint64_t work);
/* Another name begins: nothing failed, nothing is noted. */
void perfmap_memory_begin(struct perfmap_memory_reader *r);
/* The same, but what is noted of names before it stays. False: there is no room for one more. */
bool perfmap_memory_next(struct perfmap_memory_reader *r);
/* That it began is taken back. */
void perfmap_memory_undo(struct perfmap_memory_reader *r);
/* Forgets the pages: what is read from now on is what is there now. */
void perfmap_memory_drop(struct perfmap_memory_reader *r);

/* Zeros where it cannot be read whole; then failed is set. */
void perfmap_memory_get(struct perfmap_memory_reader *r, uint64_t address, void *buf, size_t len);
uint64_t perfmap_memory_u64(struct perfmap_memory_reader *r, uint64_t address);
uint32_t perfmap_memory_u32(struct perfmap_memory_reader *r, uint64_t address);
uint32_t perfmap_memory_u16(struct perfmap_memory_reader *r, uint64_t address);
uint32_t perfmap_memory_u8(struct perfmap_memory_reader *r, uint64_t address);
/* A text with its NUL, cut at cap - 1 bytes. Its length. */
size_t perfmap_memory_text(struct perfmap_memory_reader *r, uint64_t address, char *buf,
			   size_t cap);
/* Reads past the pages, which are as they were: for much. False where it cannot be read whole. */
bool perfmap_memory_direct(struct perfmap_memory_reader *r, uint64_t address, void *buf,
			   size_t len);

/* Whether nothing failed, and all that was noted is there still. Forgets the pages. */
bool perfmap_memory_still(struct perfmap_memory_reader *r);
/* Whether some of the notes are there, by the pages. */
bool perfmap_memory_noted(struct perfmap_memory_reader *r, uint32_t from, uint32_t until);
#endif

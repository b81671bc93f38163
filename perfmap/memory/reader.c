/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/reader.h"

#include <string.h>

#include "perfmap/bytes.h"

#define NO_PAGE 1u

void perfmap_memory_reader_init(struct perfmap_memory_reader *r, perfmap_memory_read read,
				void *source, uint64_t work)
{
	r->read = read;
	r->source = source;
	r->work = (struct perfmap_work){.limit = work};
	r->notes = false;
	perfmap_memory_begin(r);
	perfmap_memory_drop(r);
}

void perfmap_memory_begin(struct perfmap_memory_reader *r)
{
	r->failed = false;
	r->note_cnt = r->note_len = r->own_cnt = r->own_len = 0;
}

bool perfmap_memory_next(struct perfmap_memory_reader *r)
{
	if (PERFMAP_MEMORY_NOTES_ALL - r->note_cnt < PERFMAP_MEMORY_NOTES ||
	    PERFMAP_MEMORY_NOTE_BYTES_ALL - r->note_len < PERFMAP_MEMORY_NOTE_BYTES)
		return false;
	r->failed = false;
	r->own_cnt = r->note_cnt;
	r->own_len = r->note_len;
	return true;
}

void perfmap_memory_undo(struct perfmap_memory_reader *r)
{
	r->failed = false;
	r->note_cnt = r->own_cnt;
	r->note_len = r->own_len;
}

void perfmap_memory_drop(struct perfmap_memory_reader *r)
{
	for (size_t i = 0; i < PERFMAP_MEMORY_PAGES; i++)
		r->pages[i].address = NO_PAGE;
}

bool perfmap_memory_direct(struct perfmap_memory_reader *r, uint64_t address, void *buf, size_t len)
{
	/* Addresses of user code lie far below, and offsets of files are signed. */
	if (address > INT64_MAX - len ||
	    !perfmap_work_add(&r->work, PERFMAP_MEMORY_PAGE_WORK + len))
		return false;
	return r->read(r->source, buf, len, address) == (ssize_t)len;
}

/* The bytes of the page of an address; *ret_len is how many could be read. NULL: no work is
 * left. */
static const uint8_t *page_of(struct perfmap_memory_reader *r, uint64_t address, uint32_t *ret_len)
{
	uint64_t start = address & ~(uint64_t)(PERFMAP_MEMORY_PAGE - 1);
	size_t at = start / PERFMAP_MEMORY_PAGE % PERFMAP_MEMORY_PAGES;
	struct perfmap_memory_page *page = &r->pages[at];
	ssize_t len;

	if (page->address != start) {
		if (start > INT64_MAX - PERFMAP_MEMORY_PAGE ||
		    !perfmap_work_add(&r->work, PERFMAP_MEMORY_PAGE_WORK))
			return NULL;
		len = r->read(r->source, r->bytes[at], sizeof(r->bytes[at]), start);
		/* What failed now may be had for the next name. */
		page->address = len > 0 ? start : NO_PAGE;
		page->len = len < 0 ? 0 : (uint32_t)len;
	}
	*ret_len = page->len;
	return r->bytes[at];
}

static bool get(struct perfmap_memory_reader *r, uint64_t address, uint8_t *to, size_t len)
{
	if (!perfmap_work_add(&r->work, len) || address > UINT64_MAX - len)
		return false;
	while (len) {
		uint32_t at = (uint32_t)(address % PERFMAP_MEMORY_PAGE);
		size_t n = PERFMAP_MEMORY_PAGE - at < len ? PERFMAP_MEMORY_PAGE - at : len;
		uint32_t page_len;
		const uint8_t *page = page_of(r, address, &page_len);

		if (!page || at + n > page_len)
			return false;
		memcpy(to, page + at, n);
		address += n;
		to += n;
		len -= n;
	}
	return true;
}

static void note(struct perfmap_memory_reader *r, uint64_t address, const void *bytes, size_t len)
{
	if (r->note_cnt - r->own_cnt == PERFMAP_MEMORY_NOTES ||
	    len > PERFMAP_MEMORY_NOTE_BYTES - (r->note_len - r->own_len)) {
		r->failed = true;
		return;
	}
	r->note[r->note_cnt++] = (struct perfmap_memory_note){address, r->note_len, (uint32_t)len};
	memcpy(r->note_bytes + r->note_len, bytes, len);
	r->note_len += (uint32_t)len;
}

void perfmap_memory_get(struct perfmap_memory_reader *r, uint64_t address, void *buf, size_t len)
{
	if (!get(r, address, buf, len)) {
		memset(buf, 0, len);
		r->failed = true;
	} else if (r->notes) {
		note(r, address, buf, len);
	}
}

uint64_t perfmap_memory_u64(struct perfmap_memory_reader *r, uint64_t address)
{
	uint8_t bytes[8];

	perfmap_memory_get(r, address, bytes, sizeof(bytes));
	return perfmap_u64_at(bytes);
}

uint32_t perfmap_memory_u32(struct perfmap_memory_reader *r, uint64_t address)
{
	uint8_t bytes[4];

	perfmap_memory_get(r, address, bytes, sizeof(bytes));
	return perfmap_u32_at(bytes);
}

uint32_t perfmap_memory_u16(struct perfmap_memory_reader *r, uint64_t address)
{
	uint8_t bytes[2];

	perfmap_memory_get(r, address, bytes, sizeof(bytes));
	return perfmap_u16_at(bytes);
}

uint32_t perfmap_memory_u8(struct perfmap_memory_reader *r, uint64_t address)
{
	uint8_t byte;

	perfmap_memory_get(r, address, &byte, 1);
	return byte;
}

size_t perfmap_memory_text(struct perfmap_memory_reader *r, uint64_t address, char *buf, size_t cap)
{
	size_t len = 0;

	/* Page by page: nothing need be mapped behind it. */
	while (len < cap - 1) {
		size_t n = PERFMAP_MEMORY_PAGE - (address + len) % PERFMAP_MEMORY_PAGE, end;

		n = n < cap - 1 - len ? n : cap - 1 - len;
		if (address > UINT64_MAX - cap || !get(r, address + len, (uint8_t *)buf + len, n)) {
			r->failed = true;
			break;
		}
		end = strnlen(buf + len, n);
		len += end;
		if (end < n)
			break;
	}
	buf[len] = '\0';
	if (r->notes)
		note(r, address, buf, len + 1 < cap ? len + 1 : len);
	return len;
}

bool perfmap_memory_noted(struct perfmap_memory_reader *r, uint32_t from, uint32_t until)
{
	uint8_t now[PERFMAP_MEMORY_PAGE];

	for (uint32_t i = from; i < until; i++) {
		const struct perfmap_memory_note *n = &r->note[i];

		for (uint32_t at = 0; at < n->len; at += sizeof(now)) {
			size_t len = n->len - at < sizeof(now) ? n->len - at : sizeof(now);

			if (!get(r, n->address + at, now, len) ||
			    memcmp(now, r->note_bytes + n->at + at, len))
				return false;
		}
	}
	return !perfmap_work_exceeded(&r->work);
}

bool perfmap_memory_still(struct perfmap_memory_reader *r)
{
	if (r->failed || perfmap_work_exceeded(&r->work))
		return false;
	perfmap_memory_drop(r);
	return perfmap_memory_noted(r, 0, r->note_cnt);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large files from few bytes. The first byte chooses what is made: a sound file with some room
 * behind it. Then come orders of 16 bytes, which write a row of numbers again and again, each
 * larger by a step: tables with millions of entries that point at one place, or each at another.
 * What is checked is the work: it keeps to a constant for each byte of the file.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_bundle.h"
#include "fake_names.h"
#include "held_bytes.h"
#include "names_support.h"
#include "parse/elf.h"
#include "perfmap/images/bundle.h"
#include "perfmap/images/image.h"
#include "perfmap/maps/line.h"
#include "perfmap/maps/map.h"
#include "perfmap/names/name.h"

#define FILE_BYTES (2u << 20)
#define BASE_BYTES 0x4000u /* of the sound file; the room follows */
#define ORDER	   16u
#define ROWS_MAX   400000u /* that orders write, all together */

static void must(bool condition)
{
	if (!condition)
		abort();
}

/*
 * An order: where (3 bytes, in the file), how often (3), bytes of a row (1: 1 to 32), which of them
 * are the number (1: low nibble the offset, high nibble 1 to 8 bytes less one), the first number
 * (4), the step (4). The rest of a row stays as it is.
 */
static void follow(uint8_t *file, const uint8_t *order, size_t *rows_left)
{
	size_t at = (order[0] | order[1] << 8 | order[2] << 16) % FILE_BYTES;
	size_t times = (order[3] | order[4] << 8 | order[5] << 16);
	size_t row = 1 + order[6] % 32, offset = order[7] & 15, bytes = 1 + (order[7] >> 4) % 8;
	uint32_t number, step;
	uint64_t value;

	memcpy(&number, order + 8, 4);
	memcpy(&step, order + 12, 4);
	for (value = number; times-- && *rows_left; value += step, at += row, --*rows_left) {
		if (at + offset + bytes > FILE_BYTES)
			return;
		memcpy(file + at + offset, &value, bytes);
	}
}

static void make_elf(uint8_t *file)
{
	static const struct fake_symbol symbols[] = {
		{"a", 0x1000, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}};
	static const uint64_t functions[][2] = {{0x1000, 0x100}, {0x1500, 0x80}};
	struct fake_elf elf = {.symbols = symbols,
			       .symbols_cnt = 1,
			       .functions = functions,
			       .functions_cnt = 2,
			       .build_id = 1};

	fake_elf(&elf, file);
}

static void check_elf(const uint8_t *file)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf_identity identity;
	struct elf_table *t;

	must(fd >= 0 && write(fd, file, FILE_BYTES) == FILE_BYTES);
	if (!elf_identify(fd, &identity) && !elf_load(fd, &identity, &t)) {
		must(t->work.done <= ELF_WORK_BASE + ELF_WORK_PER_BYTE * FILE_BYTES);
		must(t->names_len <= 4 * FILE_BYTES);
		elf_free(t);
	}
	close(fd);
}

static void make_image(uint8_t *file)
{
	struct fake_names at;

	fake_names(FAKE_IMAGE_X64, file, &at);
	fake_image_put(file, FAKE_IMAGE_SECTION(2) + 16, FILE_BYTES - FAKE_NAMES_OFFSET, 4);
}

static void check_image(const uint8_t *file)
{
	struct held_bytes in = {.data = file, .len = FILE_BYTES};
	struct perfmap_image *image;
	char raw[4096];

	if (perfmap_image_load(held_bytes_read, &in, &image))
		return;
	must(perfmap_image_work(image) <=
	     PERFMAP_IMAGE_WORK_BASE + (PERFMAP_IMAGE_WORK_PER_BYTE + 2) * FILE_BYTES);
	for (uint32_t i = 0; i < 8; i++) {
		struct perfmap_work work = {.limit = PERFMAP_NAME_WORK_MAX};
		uint32_t component;
		size_t len;

		perfmap_image_name_counted(image, i, raw, sizeof(raw), &work, &len, &component);
		must(work.done <= PERFMAP_NAME_WORK_MAX + 2048);
	}
	perfmap_image_free(image);
}

static void check_bundle(const uint8_t *file)
{
	struct held_bytes in = {.data = file, .len = FILE_BYTES};
	struct perfmap_bundle *bundle;

	if (perfmap_bundle_load(held_bytes_read, &in, &bundle))
		return;
	must(perfmap_bundle_work(bundle) <= (PERFMAP_BUNDLE_SEGMENTS_MAX + 8) * FILE_BYTES);
	perfmap_bundle_named(bundle, "B.dll");
	perfmap_bundle_free(bundle);
}

static void make_map(uint8_t *file)
{
	static const char line[] = "0x7f0000001000 20 void [a] B`1[System.Int32]::C()[Tier]\n";

	memset(file, ' ', FILE_BYTES);
	for (size_t at = 0; at + sizeof(line) < FILE_BYTES; at += sizeof(line) - 1)
		memcpy(file + at, line, sizeof(line) - 1);
}

static void check_map(const uint8_t *file)
{
	const char *text = (const char *)file, *end = text + FILE_BYTES;
	struct perfmap *map = perfmap_new();
	char buf[PERFMAP_NAME_BYTES];
	struct perfmap_name name;
	struct perfmap_hit hit;

	must(map && !perfmap_feed(map, text, FILE_BYTES, 0, 1));
	must(perfmap_memory_bytes(map) <= (1 << 20) + 16ull * FILE_BYTES);
	perfmap_find(map, 0x7f0000001008, 1, &hit);
	perfmap_free(map);
	perfmap_name_parse(text, PERFMAP_RAW_BYTES_MAX, buf, sizeof(buf), &name);
	for (const char *p = text; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((newline ? newline : end) - p);
		struct perfmap_work work = {.limit = UINT64_MAX};
		struct perfmap_line line;

		perfmap_line_parse_counted(p, len, &work, &line);
		must(work.done <= PERFMAP_LINE_WORK_PER_BYTE * len);
		p += len + 1;
	}
}

static const struct {
	void (*make)(uint8_t *file);
	void (*check)(const uint8_t *file);
} kinds[] = {
	{make_elf, check_elf},
	{make_image, check_image},
	{fake_bundle, check_bundle},
	{make_map, check_map},
};

_Static_assert(FAKE_ELF_BYTES <= BASE_BYTES && FAKE_NAMES_IMAGE <= BASE_BYTES, "room");

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file;
	size_t kind, rows_left = ROWS_MAX;

	if (!size--)
		return 0;
	file = calloc(1, FILE_BYTES);
	must(file != NULL);
	kind = *data++ % (sizeof(kinds) / sizeof(kinds[0]));
	kinds[kind].make(file);
	for (int orders = 0; size >= ORDER && orders < 32; orders++, size -= ORDER, data += ORDER)
		follow(file, data, &rows_left);
	kinds[kind].check(file);
	free(file);
	return 0;
}

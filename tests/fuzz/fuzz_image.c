/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile .dll: loaded, then asked for every place in it and for every name; as a component,
 * too. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "held_bytes.h"
#include "perfmap/images/image.h"
#include "perfmap/names/name.h"

static void must(int condition)
{
	if (!condition)
		abort();
}

/* A composite image that asks for metadata gets its own. */
static int name_of(struct perfmap_image *image, struct held_bytes *in, uint32_t function, char *raw,
		   size_t cap, size_t *ret_len)
{
	struct perfmap_component *component;
	uint32_t number, asked = 0;
	char file[256];
	int err;

	for (;;) {
		struct perfmap_work work = {.limit = PERFMAP_NAME_WORK_MAX};

		err = perfmap_image_name_counted(image, function, raw, cap, &work, ret_len,
						 &number);
		/* No step is much larger than a name. */
		must(work.done <= PERFMAP_NAME_WORK_MAX + 2048);
		must(work.done <= 8 * cap + 32768 || err);
		if (err != -EAGAIN)
			break;
		must(asked++ < 2048);
		perfmap_image_component(image, number, file, sizeof(file));
		component = NULL;
		perfmap_component_load(held_bytes_read, in, &component);
		perfmap_image_give_component(image, number, component);
	}
	return err;
}

static void ask_names(struct perfmap_image *image, struct held_bytes *in)
{
	size_t functions = perfmap_image_functions(image), len;
	char raw[1024], buf[PERFMAP_NAME_BYTES];
	struct perfmap_name name;

	for (size_t i = 0; i < functions && i < 512; i++) {
		int err = name_of(image, in, (uint32_t)i, raw, sizeof(raw), &len);

		if (err)
			continue;
		must(len < sizeof(raw) && strlen(raw) == len);
		perfmap_name_parse(raw, len, buf, sizeof(buf), &name);
		must(*name.display);
	}
	/* Nothing read: bounded by what the file holds. */
	must(perfmap_image_memory_bytes(image) < (1u << 20) + 64 * in->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct held_bytes in = {.data = data, .len = size};
	struct perfmap_image_place place, start;
	struct perfmap_image *image;
	size_t functions;
	int err = perfmap_image_load(held_bytes_read, &in, &image);

	must(err == 0 || err == -ENOEXEC || err == -ENODATA || err == -EBADMSG || err == -E2BIG);
	if (err)
		return 0;
	/* The last step past the limit may have been to read all of the file. */
	must(perfmap_image_work(image) <=
	     PERFMAP_IMAGE_WORK_BASE + (PERFMAP_IMAGE_WORK_PER_BYTE + 2) * size);
	functions = perfmap_image_functions(image);
	must(functions && functions <= size / 8);
	for (uint64_t offset = 0; offset < size + 64; offset++) {
		if (perfmap_image_find(image, offset, &place))
			continue;
		must(place.function < functions && place.start <= offset);
		/* A start is its own, unless sections that overlap say something else. */
		if (!perfmap_image_find(image, place.start, &start))
			must(start.start <= place.start);
	}
	must(perfmap_image_find(image, UINT64_MAX, &place) == -ENOENT);
	ask_names(image, &in);
	perfmap_image_free(image);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile .dll: loaded, then asked for every place in it. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/image.h"

struct input {
	const uint8_t *data;
	size_t size;
};

static ssize_t read_input(void *source, void *buf, size_t len, uint64_t offset)
{
	const struct input *in = source;

	if (offset >= in->size)
		return 0;
	if (len > in->size - offset)
		len = in->size - offset;
	memcpy(buf, in->data + offset, len);
	return (ssize_t)len;
}

static void must(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct perfmap_image_place place, start;
	struct perfmap_image *image;
	size_t functions;
	int err = perfmap_image_load(read_input, &in, &image);

	must(err == 0 || err == -ENOEXEC || err == -ENODATA || err == -EBADMSG || err == -E2BIG);
	if (err)
		return 0;
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
	perfmap_image_free(image);
	return 0;
}

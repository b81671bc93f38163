/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile single-file program: its list is read, then asked for places and names. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "held_bytes.h"
#include "perfmap/images/bundle.h"

static void must(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct perfmap_bundle_entry *e;
	struct held_bytes in = {.data = data, .len = size};
	struct perfmap_bundle *bundle;
	int err = perfmap_bundle_load(held_bytes_read, &in, &bundle);

	must(err == 0 || err == -ENOENT || err == -EBADMSG || err == -E2BIG);
	if (err)
		return 0;
	for (uint64_t offset = 0; offset < size + 64; offset++) {
		e = perfmap_bundle_find(bundle, offset);
		must(!e || (offset >= e->offset && offset - e->offset < e->bytes &&
			    !e->compressed_bytes && strlen(e->path) < size));
	}
	e = perfmap_bundle_named(bundle, "A.dll");
	must(!e || !strcmp(e->path, "A.dll"));
	must(perfmap_bundle_compressed(bundle) <= size);
	must(perfmap_bundle_memory_bytes(bundle) <= 4096 + 4 * size);
	/* Each segment may be the whole file. */
	must(perfmap_bundle_work(bundle) <= (PERFMAP_BUNDLE_SEGMENTS_MAX + 8) * size);
	perfmap_bundle_free(bundle);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies at a diagnostics socket, in one piece and as they come in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/socket/diagnostics.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check(enum diagnostics_request request, const uint8_t *data, size_t size)
{
	struct diagnostics_reply whole = {0}, part = {0};
	size_t wanted = 0, len = 0;
	int err = diagnostics_decode(request, data, size, &wanted, &whole), again;

	must(err == 0 || err == -EAGAIN || err == -EPROTO);
	if (err == -EAGAIN)
		must(wanted > size && wanted <= DIAGNOSTICS_REPLY_BYTES_MAX);
	if (!err)
		must(whole.ok == !whole.hresult || !whole.ok);
	must(memchr(whole.version, '\0', sizeof(whole.version)) != NULL);
	/* As a reader does it: never more than is wanted. */
	while ((again = diagnostics_decode(request, data, len, &wanted, &part)) == -EAGAIN &&
	       len < size) {
		must(wanted > len);
		len = wanted < size ? wanted : size;
	}
	must(again == err);
	must(err || !memcmp(&whole, &part, sizeof(whole)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(DIAGNOSTICS_PROCESS_INFO, data, size);
	check(DIAGNOSTICS_ENABLE_PERF_MAP, data, size);
	return 0;
}

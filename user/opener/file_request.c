/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/file_request.h"

#include <stddef.h>

bool file_request_is_by_build_id(enum file_debug_place place)
{
	return place == FILE_DEBUG_BUILD_ID || place == FILE_DEBUG_BUILD_ID_HOST;
}

const struct map_use *file_request_map_use(const struct file_request *request)
{
	switch (request->kind) {
	case FILE_REQUEST_MAP:
		return &request->map.use;
	case FILE_REQUEST_KEPT_MAP:
		return &request->kept_map.use;
	case FILE_REQUEST_SAME_MAP:
		return &request->same_map.use;
	case FILE_REQUEST_SYMBOL_MAP:
		return &request->symbol_map.use;
	default:
		return NULL;
	}
}

bool file_request_delivers(const struct file_request *request)
{
	const struct map_use *use = file_request_map_use(request);

	switch (request->kind) {
	case FILE_REQUEST_MAPPED:
		return !request->mapped.identity_only;
	case FILE_REQUEST_SYMBOLS:
		return !request->symbols.identity_only;
	case FILE_REQUEST_DEBUG:
	case FILE_REQUEST_ENVIRON:
	case FILE_REQUEST_PROGRAM:
	case FILE_REQUEST_TARGET:
	case FILE_REQUEST_NODE:
		return true;
	default:
		return use && use->to_worker;
	}
}

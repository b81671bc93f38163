/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/serve.h"

#include "opener/dotnet_look.h"
#include "opener/dotnet_map.h"
#include "opener/dotnet_socket.h"
#include "opener/file_look.h"
#include "opener/map_look.h"
#include "opener/node_look.h"
#include "opener/symbol_look.h"

void serve_request(const struct file_request *request, int give_fd, int way_fd,
		   struct file_reply *ret_reply, int *ret_fd)
{
	*ret_fd = -1;
	switch (request->kind) {
	case FILE_REQUEST_MAPPED:
		ret_reply->reason = file_look_mapped(request, give_fd, way_fd, ret_reply);
		break;
	case FILE_REQUEST_DEBUG:
		ret_reply->reason = file_look_debug(request, give_fd, way_fd);
		break;
	case FILE_REQUEST_MAP:
	case FILE_REQUEST_KEPT_MAP:
	case FILE_REQUEST_SAME_MAP:
	case FILE_REQUEST_SYMBOL_MAP:
		ret_reply->error = map_look(request, give_fd, way_fd, ret_reply, ret_fd);
		break;
	case FILE_REQUEST_ENVIRON:
	case FILE_REQUEST_PROGRAM:
		ret_reply->error = file_look_own(request, way_fd);
		break;
	case FILE_REQUEST_TARGET:
		ret_reply->error = file_look_target(request, way_fd);
		break;
	case FILE_REQUEST_DIRECTORY:
		ret_reply->error = map_look_directory(request, ret_reply, ret_fd);
		break;
	case FILE_REQUEST_DOTNET:
		ret_reply->error = dotnet_look_serve(request, ret_fd);
		break;
	case FILE_REQUEST_CONNECT:
		ret_reply->error = dotnet_connect_serve(request, ret_fd);
		break;
	case FILE_REQUEST_LISTEN:
		ret_reply->error = dotnet_listen_serve(request, ret_fd);
		break;
	case FILE_REQUEST_UNLISTEN:
		ret_reply->error = dotnet_unlisten_serve(request);
		break;
	case FILE_REQUEST_RESERVE:
	case FILE_REQUEST_RELEASE:
		ret_reply->error = dotnet_place_serve(request);
		break;
	case FILE_REQUEST_LIST:
		ret_reply->error = symbol_list_serve(request, ret_reply, ret_fd);
		break;
	case FILE_REQUEST_SYMBOLS:
		ret_reply->error = symbol_files_serve(request, way_fd, ret_reply);
		break;
	case FILE_REQUEST_NODE:
		ret_reply->error = node_look_serve(request, way_fd, ret_reply);
		break;
	}
}

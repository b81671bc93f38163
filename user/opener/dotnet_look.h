/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_DOTNET_LOOK_H
#define HOTRUN_OPENER_DOTNET_LOOK_H
/*
 * The opener's side of process/dotnet.h: what lies where in the files of a .NET process, any of
 * which may hang. Looks at it and reads none: that is a worker's (parse/parse_fact.h). Runs in the
 * helper process (opener.h) only.
 */
#include "model/dotnet_process.h"
#include "opener/file_request.h"

/* Crosses from the helper in a file in memory. */
struct dotnet_look {
	bool is_dotnet;		       /* as known before, or by its socket */
	bool denied;		       /* its root may not be looked at */
	struct dotnet_process process; /* its ids, its socket and its map */
};

/* FILE_REQUEST_DOTNET: 0 and ret_fd, a memfd with a struct dotnet_look, owned; or -errno. */
int dotnet_look_serve(const struct file_request *request, int *ret_fd);
#endif

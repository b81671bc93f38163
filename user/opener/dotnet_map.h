/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_DOTNET_MAP_H
#define HOTRUN_OPENER_DOTNET_MAP_H
/*
 * The perf map of a .NET process: what is there, whether it is written, where it may be. Runs in
 * the helper process (opener.h) only.
 */
#include "model/dotnet_process.h"
#include "opener/dotnet_door.h"
#include "opener/file_request.h"

/* Fills the map fields, but for the counts of what is in it. */
void dotnet_map_look(const struct dotnet_door *door, struct dotnet_process *p);

/*
 * FILE_REQUEST_RESERVE: where nothing lies at the map's path, makes an empty file that belongs to
 * the process. The runtime follows links, and in a directory that others write to one could be
 * planted between the look at the path and its open; in a sticky one nobody can put anything else
 * in place of that file. 0; -EEXIST (something lies there); or another errno, then with nothing
 * made. FILE_REQUEST_RELEASE: removes it if it is the process's own, and empty. 0 or -errno.
 */
int dotnet_place_serve(const struct file_request *request);
#endif

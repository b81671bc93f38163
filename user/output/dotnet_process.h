/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_DOTNET_PROCESS_H
#define HOTRUN_OUTPUT_DOTNET_PROCESS_H
/*
 * Figures of a .NET process (model/dotnet_process.h), of subject.dotnet: those that tables show,
 * and all of them as JSON, with the same keys wherever such a process is told of. Names and paths
 * are hostile and made safe here. Pure; no threads.
 */
#include "model/dotnet_process.h"
#include "output/json.h"
#include "output/table.h"

extern const struct figure figure_dotnet_pid, figure_dotnet_name, figure_dotnet_version,
	figure_dotnet_found, figure_dotnet_place, figure_dotnet_map, figure_dotnet_entries,
	figure_dotnet_size;

/* Whether its map lies where it was looked for: then its bytes and entries are known. */
bool dotnet_process_has_file(const struct dotnet_process *p);
/* Its container, else its unit; "" none. */
const char *dotnet_process_place(const struct dotnet_process *p);

/* Its keys, into the object that is open. */
void dotnet_process_json(struct json *j, const struct dotnet_process *p);
#endif

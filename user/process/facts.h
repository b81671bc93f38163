/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_FACTS_H
#define HOTRUN_PROCESS_FACTS_H
/*
 * Writes what /proc tells of a process into the model; see names_process(). One thread.
 */
#include "model/model.h"
#include "opener/file_requests.h"

/* Returns true where they were read now. */
bool facts_read(struct file_requests *requests, struct model *m, uint32_t process);
/* After an exec: executable, name and cgroup anew. The same. */
bool facts_read_exec(struct file_requests *requests, struct model *m, uint32_t process);

/* When what a process had mapped was replaced last, e.g. by an exec: what is mapped now does not
 * name addresses of before. Monotonic, 0 = never. */
uint64_t facts_replaced_ns(const struct model_process *p);

/* The process maps the runtime: from now on it is a .NET process. */
void facts_note_runtime(struct model *m, uint32_t process);
/* Whether a mapping of that name and kind (enum model_mapping_kind) is the runtime's. */
bool facts_is_runtime(const char *path, size_t path_len, uint8_t kind);

/* Code of this mapping was sampled: a process that runs CoreCLR's is a .NET process from now on,
 * also when the runtime was mapped after its facts were read. */
void facts_note_mapping(struct model *m, uint32_t process, const struct model_mapping *mapping);
#endif

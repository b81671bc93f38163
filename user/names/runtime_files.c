/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/runtime_files.h"

#include <string.h>

#include "names/symbol.h"

struct list {
	struct parse_code_file *files;
	uint32_t modules[PARSE_RUNTIMES_MAX];
	uint32_t cnt;
};

static bool is_near(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash : path, "coreclr") != NULL;
}

/* Of each file what lies first in it: what is bundled behind a program is mapped from it, too. */
static void add(struct list *l, const struct model_mapping *map)
{
	uint32_t i = 0;

	while (i < l->cnt && l->modules[i] != map->module)
		i++;
	if (i == PARSE_RUNTIMES_MAX || (i < l->cnt && l->files[i].file_offset <= map->file_offset))
		return;
	l->cnt += i == l->cnt;
	l->files[i] = (struct parse_code_file){map->start, map->file_offset};
	l->modules[i] = map->module;
}

uint32_t runtime_files(const struct model *m, uint32_t process,
		       struct parse_code_file ret_files[PARSE_RUNTIMES_MAX])
{
	const struct model_process *p = &m->processes[process];
	struct list l = {.files = ret_files};

	for (int near = 1; near >= 0; near--)
		for (size_t i = 0; i < p->mapping_cnt; i++) {
			const struct model_mapping *map = &p->mappings[i];
			const char *path = m->modules[map->module].path;

			if (map->kind == MAPPING_FILE && !map->to_ns && !symbol_is_image(path) &&
			    is_near(path) == near)
				add(&l, map);
		}
	return l.cnt;
}

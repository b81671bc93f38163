/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names_host.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <linux/types.h>

#include "bpf/events.h"

#define GLOBAL_FUNC ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)

const struct fake_symbol names_host_symbols[NAMES_HOST_SYMBOLS] = {
	{"_ZN3foo3BarIiE3bazEv", 0x1000, 0x100, GLOBAL_FUNC},
	{"send", 0x1200, 0x40, GLOBAL_FUNC},
	{"_start", 0x1300, 0x20, GLOBAL_FUNC},
};
static const uint64_t lib_functions[][2] = {{0x1500, 0x80}};

static void host_start(struct host *h, uint64_t deadline_ns)
{
	struct names_options options = {.proc_path = h->proc.path, .deadline_ns = deadline_ns};

	h->n = names_new(&options);
	h->m = model_new();
	h->next_stack = 1;
	cr_assert(h->n && h->m);
	h->process = model_process_get(h->m, 100, START_TICKS * TICK_NS + 7);
	h->m->processes[h->process].start_exact = true;
	h->m->processes[h->process].comm = model_str(h->m, "short-comm");
}

void host_end(struct host *h)
{
	names_free(h->n);
	model_free(h->m);
	fake_proc_remove(&h->proc);
}

void host_make(struct host *h, const char *maps, const char *exe)
{
	host_make_of(h, maps, exe, NULL);
}

void host_make_of(struct host *h, const char *maps, const char *exe, const char *uid)
{
	struct fake_process p = {.tgid = 100,
				 .uid = uid,
				 .start_ticks = START_TICKS,
				 .comm = "short-comm",
				 .exe = exe,
				 .maps = maps,
				 .cgroup = "0::/system.slice/shop.service\n"};

	fake_proc_make(&h->proc);
	fake_process(&h->proc, &p);
	fake_text(&h->proc, "kallsyms",
		  "ffffffff81000000 T _text\nffffffff81000100 T do_work\n"
		  "ffffffff81000200 T _etext\n");
	host_start(h, 10000000000ull);
}

void put_library(struct host *h, const char *path, uint8_t build_id, size_t symbols)
{
	struct fake_elf elf = {.symbols = names_host_symbols,
			       .symbols_cnt = symbols,
			       .functions = lib_functions,
			       .functions_cnt = 1,
			       .build_id = build_id};
	static uint8_t image[FAKE_ELF_BYTES];

	fake_elf(&elf, image);
	fake_file(&h->proc, path, image, sizeof(image));
}

uint32_t add_stack(struct host *h, uint16_t flags, const uint64_t *frames, uint16_t cnt)
{
	struct model_stack s = {.id = h->next_stack++,
				.process = flags & STACK_KERNEL ? MODEL_NONE : h->process,
				.flags = flags,
				.frame_cnt = cnt,
				.broken_module = MODEL_NONE};

	return model_stack_add(h->m, &s, frames);
}

const struct model_location *location_at(struct host *h, uint64_t address, uint64_t time_ns)
{
	uint32_t row = model_location_find(h->m, h->process, address, time_ns);

	return row == MODEL_NONE ? NULL : &h->m->locations[row];
}

const struct model_symbol *name_at(struct host *h, uint64_t address, uint64_t time_ns)
{
	const struct model_location *l;

	names_stack(h->n, h->m, add_stack(h, 0, &address, 1), time_ns);
	l = location_at(h, address, time_ns);
	return l ? &h->m->symbols[l->symbol] : NULL;
}

void host_add(struct host *h, const struct fake_process *what)
{
	fake_process(&h->proc, what);
	h->process = model_process_get(h->m, what->tgid, what->start_ticks * TICK_NS + 7);
	h->m->processes[h->process].start_exact = true;
	names_process(h->n, h->m, h->process);
}

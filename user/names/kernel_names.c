/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/kernel_names.h"

#include <limits.h>
#include <stdio.h>

/* Modules and BPF programs come and go: an unknown kernel address makes kallsyms be read again, at
 * growing intervals, since a reading costs 70 ms. */
#define KALLSYMS_AGAIN_NS 10000000000ull

void kernel_names_close(struct kernel_names *k)
{
	kallsyms_free(k->kallsyms);
}

static void read_kallsyms(struct kernel_names *k)
{
	char path[PATH_MAX];
	struct kallsyms *read;

	snprintf(path, sizeof(path), "%s/kallsyms", k->proc_path);
	k->is_read = true;
	read = kallsyms_read(path);
	if (!read)
		return;
	kallsyms_free(k->kallsyms);
	k->kallsyms = read;
}

uint64_t kernel_names_text(struct kernel_names *k)
{
	if (!k->is_read)
		read_kallsyms(k);
	return k->kallsyms ? kallsyms_text(k->kallsyms) : 0;
}

static bool find_kernel(struct kernel_names *k, uint64_t address, uint64_t time_ns,
			struct kallsyms_place *place)
{
	if (!k->kallsyms)
		return false;
	if (kallsyms_find(k->kallsyms, address, place))
		return true;
	if (time_ns < k->again_ns)
		return false;
	k->interval_ns = k->interval_ns ? k->interval_ns * 2 : KALLSYMS_AGAIN_NS;
	k->again_ns = time_ns + k->interval_ns;
	read_kallsyms(k);
	return kallsyms_find(k->kallsyms, address, place);
}

void kernel_names_add(struct kernel_names *k, struct model *m, uint64_t address, uint64_t time_ns)
{
	struct model_symbol symbol = {
		.name = "[kernel]", .module = "[kernel]", .kind = KIND_KERNEL};
	struct model_location location = {
		.process = MODEL_NONE, .address = address, .older = MODEL_NONE, .tier = ""};
	struct kallsyms_place place;

	kernel_names_text(k);
	if (!m->kernel_text || !k->kallsyms) {
		symbol.reason = REASON_KALLSYMS_HIDDEN;
	} else if (find_kernel(k, address + m->kernel_text, time_ns, &place)) {
		symbol.name = place.name;
		symbol.module = place.module;
	} else {
		symbol.reason = REASON_KERNEL_NO_SYMBOL;
	}
	symbol.raw = symbol.name;
	location.symbol = model_symbol_get(m, &symbol);
	if (location.symbol != MODEL_NONE)
		model_location_add(m, &location);
}

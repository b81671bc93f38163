/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/about.h"

#include <stdio.h>
#include <string.h>

#include "export/sampled.h"
#include "model/harm.h"

void about_of(struct export_about *ret_about, const struct model *m)
{
	const struct model_host *h = &m->host;

	*ret_about = (struct export_about){
		.start_ns = h->start_ns,
		.length_ns = h->end_ns > h->start_ns ? h->end_ns - h->start_ns : 0,
	};
	snprintf(ret_about->text, sizeof(ret_about->text),
		 "hotrun %.32s on %.64s, Linux %.64s, %u CPUs, %u Hz", h->version, h->name,
		 h->kernel, h->cpus_online, h->sample_hz);
	if (m->slices_cnt &&
	    __builtin_add_overflow((int64_t)h->start_ns, m->slices[0].wall_offset_ns,
				   &ret_about->wall_start_ns))
		ret_about->wall_start_ns = 0;
}

unsigned int about_known(const struct model *m, const struct export_options *options,
			 bool ret_known[static EXPORT_WEIGHTS])
{
	struct harm sum = harm_sum_of(m, options->wanted);
	unsigned int wanted = 0;

	ret_known[EXPORT_SAMPLES] = true;
	ret_known[EXPORT_WAITERS] = !sum.samples || sum.unknown < sum.samples;
	ret_known[EXPORT_BLOCKED] = !(model_off(m) & OFF_STANDS);
	for (int i = 0; i < EXPORT_WEIGHTS; i++)
		wanted |= ret_known[i] ? SAMPLED_WEIGHT(i) : 0;
	return wanted;
}

const char *about_subject(const struct model *m, const struct export_options *options)
{
	return options->subject ? options->subject : m->host.name;
}

void about_role(char ret_role[static ROLE_LABEL_BYTES], const struct model *m, uint32_t thread)
{
	const struct model_thread *t = &m->threads[thread];
	enum role role = role_of(t->comm, t->tid == m->processes[t->process].tgid);

	if (role == ROLE_OWN)
		role_fold_digits(ret_role, ROLE_LABEL_BYTES, t->comm);
	else
		snprintf(ret_role, ROLE_LABEL_BYTES, "%s", role_text(role));
}

void about_build_id(char ret_hex[static ABOUT_BUILD_ID_BYTES], const struct model_module *module)
{
	const uint8_t *id = module->build_id_len ? module->build_id : module->learnt_id;
	size_t len = module->build_id_len ? module->build_id_len : module->learnt_id_len;

	*ret_hex = 0;
	for (size_t i = 0; i < len && i < BUILD_ID_MAX; i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", id[i]);
}

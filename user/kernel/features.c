/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/features.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/events.h"

#include "hotrun.skel.h"

#include "kernel/bpf_start.h"

/* Leaves out programs and maps of features that are not on. Maps of variables are always there. */
static void leave_out(const struct feature_set *set, struct bpf_object *object)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program(
		program, object) if (!feature_uses_program(set, bpf_program__name(program)))
		bpf_program__set_autoload(program, false);
	bpf_object__for_each_map(map, object) if (!bpf_map__is_internal(map) &&
						  !feature_uses_map(set, bpf_map__name(map)))
		bpf_map__set_autocreate(map, false);
}

/* Whether err can be for one program or map alone, and not for want of rights or memory. */
static bool is_of_one(const struct bpf_refusal *refusal, int err)
{
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM || bpf_start_has_few_files())
		return false;
	return refusal->program[0] || refusal->map[0];
}

/* Switches off the row that owns what was refused. False: there is none. */
static bool switch_off_refused(struct feature_set *set, const struct bpf_refusal *refusal, int err)
{
	const char *kind = refusal->program[0] ? "program" : "map";
	const char *name = refusal->program[0] ? refusal->program : refusal->map;
	enum feature f =
		refusal->program[0] ? feature_of_program(set, name) : feature_of_map(set, name);
	const char *error = strerrorname_np(-err);

	if (f == FEATURE_CNT)
		return false;
	feature_switch_off(set, f, FEATURE_REFUSED, "the kernel refused BPF %s %s (%s%s%s)", kind,
			   name, error ?: "unknown error", refusal->detail[0] ? ": " : "",
			   refusal->detail);
	return true;
}

int features_load(struct feature_set *set, features_configure_fn configure, void *ctx, char *why,
		  size_t why_bytes, struct hotrun_bpf **ret_bpf)
{
	struct bpf_refusal refusal;
	struct hotrun_bpf *bpf;
	int err;

	for (;;) {
		bpf = hotrun_bpf__open();
		if (!bpf)
			return explain_load(-errno, why, why_bytes);
		err = configure(ctx, bpf);
		if (err) {
			hotrun_bpf__destroy(bpf);
			return explain(err, "preparing the BPF programs", why, why_bytes);
		}
		leave_out(set, bpf->obj);
		bpf_start_watch(&refusal);
		err = hotrun_bpf__load(bpf);
		bpf_start_watch(NULL);
		if (!err)
			break;
		hotrun_bpf__destroy(bpf);
		if (!is_of_one(&refusal, err) || !switch_off_refused(set, &refusal, err))
			return explain_load(err, why, why_bytes);
	}
	*ret_bpf = bpf;
	return 0;
}

bool features_attach(struct feature_set *set, enum feature f, struct bpf_program *program,
		     struct bpf_link **link)
{
	if (*link || !bpf_program__autoload(program))
		return *link;
	*link = bpf_program__attach(program);
	if (!*link)
		feature_switch_off(set, f, FEATURE_REFUSED,
				   "BPF program %s cannot be attached (%s)",
				   bpf_program__name(program), strerrorname_np(errno) ?: "?");
	return *link;
}

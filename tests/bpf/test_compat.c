/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels that lack what ours has: the programs load against a description of the kernel (BTF) in
 * which fields go by another name. Loaded only: what is missing may switch off a figure, never the
 * recording.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drive.h"
#include "hotrun.skel.h"

/* Renames a field of a structure; -ENOENT where it has none of that name. */
static int hide(struct btf *btf, const char *structure, const char *field)
{
	int id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT), other;
	const struct btf_type *type;
	struct btf_member *member;

	other = btf__add_str(btf, "hidden_by_a_test");
	type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	if (!type || other < 0)
		return -ENOENT;
	member = btf_members(type);
	for (int i = 0; i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, member[i].name_off), field)) {
			member[i].name_off = (uint32_t)other;
			return 0;
		}
	return -ENOENT;
}

static void save(const struct btf *btf, char *path)
{
	const void *data;
	uint32_t bytes;
	int fd = mkstemp(path);

	data = btf__raw_data(btf, &bytes);
	cr_assert(fd >= 0 && data);
	cr_assert_eq(write(fd, data, bytes), (ssize_t)bytes);
	close(fd);
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

Test(compat, the_programs_load_where_the_kernel_lacks_fields)
{
	static const struct {
		const char *name;
		struct {
			const char *structure, *field;
		} lacks[3];
	} rows[] = {
		{"nothing", {{NULL, NULL}}},
		{"no group scheduling for fair tasks",
		 {{"sched_entity", "cfs_rq"}, {"task_group", "cfs_rq"}}},
		{"no task groups at all",
		 {{"sched_entity", "cfs_rq"}, {"task_struct", "sched_task_group"}}},
		{"no group bandwidth",
		 {{"cfs_rq", "throttle_count"}, {"cfs_rq", "throttled_clock_pelt_time"}}},
		{"no list of the queue's tasks", {{"rq", "cfs_tasks"}}},
		{"no delayed dequeue", {{"cfs_rq", "h_nr_queued"}, {"cfs_rq", "h_nr_runnable"}}},
	};
	struct drive d;

	drive_open(&d, NULL); /* skips where nothing loads */
	drive_close(&d);
	libbpf_set_print(quiet);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[] = "/tmp/hotrun-test-btf-XXXXXX";
		LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
		struct btf *btf = btf__load_vmlinux_btf();
		struct hotrun_bpf *bpf;
		int err;

		cr_assert(btf);
		for (int k = 0; k < 3 && rows[i].lacks[k].field; k++)
			hide(btf, rows[i].lacks[k].structure, rows[i].lacks[k].field);
		save(btf, path);
		btf__free(btf);
		bpf = hotrun_bpf__open_opts(&options);
		cr_assert(bpf, "%s", rows[i].name);
		bpf_map__set_max_entries(bpf->maps.cpus, d.host.cpus_possible);
		/* The session takes the one or the other; this one is for kernels before 6.3. */
		bpf_program__set_autoload(bpf->progs.on_send_older, false);
		err = hotrun_bpf__load(bpf);
		cr_expect_eq(err, 0, "%s: %s", rows[i].name, strerror(-err));
		hotrun_bpf__destroy(bpf);
		unlink(path);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel tells of processes and cgroups, which choose names, arguments and limits in it:
 * files of /proc and of the cpu controller, records of the side-band. The first byte chooses what
 * the rest is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/cgroup_tree.h"
#include "kernel/sideband_record.h"
#include "perfmap/maps/locate.h"
#include "process/left_behind.h"
#include "process/proc.h"
#include "process/unix_sockets.h"

static char folder[64];

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void leave(void)
{
	static const char *const names[] = {"status",	"environ",	    "cpu.max",
					    "cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

static void put_file(const char *name, const void *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void check_stat(const char *text, size_t size)
{
	struct proc_stat stat;

	memset(stat.comm, 0xa5, sizeof(stat.comm));
	if (!proc_stat_parse(text, size, &stat))
		must(memchr(stat.comm, 0, sizeof(stat.comm)) != NULL);
	proc_parse_ns_pid(text);
}

/* What `recover` reads of threads and of sockets. */
static void check_left(const char *text, size_t size)
{
	struct unix_path path = {.path = "/tmp/x"};
	struct left_status status;

	memset(status.name, 0xa5, sizeof(status.name));
	if (!left_status_parse(text, &status))
		must(memchr(status.name, 0, sizeof(status.name)) != NULL);
	unix_sockets_take_line(text, size, &path, 1);
	must(path.listening_cnt <= 1 && path.connected_cnt <= 1);
}

/* status, then environ, with a byte 0xff between. */
static void check_target(const char *text, size_t size)
{
	const char *cut = memchr(text, 0xff, size);
	size_t first = cut ? (size_t)(cut - text) : size;
	struct perfmap_target target;
	int fd;

	put_file("status", text, first);
	fd = open(folder, O_PATH | O_DIRECTORY);
	perfmap_target_read(fd, &target);
	close(fd);
	/* What stands behind the text is a NUL. */
	perfmap_environment_parse(cut ? cut + 1 : text + size, cut ? size - first - 1 : 0,
				  &target.env);
	must(memchr(target.env.dump_dir, 0, sizeof(target.env.dump_dir)) != NULL);
	must(memchr(target.env.temp_dir, 0, sizeof(target.env.temp_dir)) != NULL);
}

static void check_cgroup(const char *text, size_t size, bool v1)
{
	static const uint64_t max_ns = 30 * 86400ull * 1000000000;
	struct cgroup_mounts mounts = {.v1 = v1};
	struct cgroup_limit limit;
	struct cgroup_stat stat;
	int err;

	strcpy(mounts.cpu, folder);
	put_file("cpu.max", text, size);
	put_file("cpu.cfs_quota_us", text, size);
	put_file("cpu.cfs_period_us", text, size);
	put_file("cpu.stat", text, size);
	err = cgroup_tree_limit(&mounts, "", &limit);
	must(err == 0 || err == -EBADMSG);
	must(err || (limit.period_ns && limit.period_ns <= max_ns && limit.quota_ns <= max_ns));
	err = cgroup_tree_stat(&mounts, "", &stat);
	must(err == 0 || err == -EBADMSG || err == -ENOENT);
}

/* Where the record lies that is handed out. */
struct record {
	const char *bytes;
	size_t len;
};

static void must_hold(const struct record *r, const void *at, size_t len)
{
	must((const char *)at >= r->bytes && (const char *)at + len <= r->bytes + r->len);
}

static void take_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent, uint64_t time_ns)
{
	(void)ctx, (void)tgid, (void)tid, (void)parent, (void)time_ns;
}

static void take_exit(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	(void)ctx, (void)tgid, (void)tid, (void)time_ns;
}

static void take_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, size_t len,
		      bool exec, uint64_t time_ns)
{
	(void)tgid, (void)tid, (void)exec, (void)time_ns;
	must_hold(ctx, comm, len);
}

static void take_mapping(void *ctx, const struct sideband_mapping *map)
{
	must_hold(ctx, map->path, map->path_len);
	must(map->start < map->end && map->build_id_len <= 20);
	if (map->build_id)
		must_hold(ctx, map->build_id, 20);
}

static void take_lost(void *ctx, uint64_t records)
{
	(void)ctx, (void)records;
}

/* Records one after another, each in memory of its own. */
static void check_records(const char *data, size_t size)
{
	while (size >= SIDEBAND_RECORD_MIN) {
		struct perf_event_header header;
		struct record record;
		struct sideband_ops ops = {.ctx = &record,
					   .fork = take_fork,
					   .exit = take_exit,
					   .comm = take_comm,
					   .mapping = take_mapping,
					   .lost = take_lost};
		char *bytes;

		memcpy(&header, data, sizeof(header));
		if (header.size < SIDEBAND_RECORD_MIN || header.size > size)
			return;
		bytes = malloc(header.size);
		memcpy(bytes, data, header.size);
		record = (struct record){bytes, header.size};
		sideband_take((const void *)bytes, 1, &ops);
		free(bytes);
		data += header.size;
		size -= header.size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!folder[0]) {
		strcpy(folder, "/dev/shm/hotrun-fuzz-XXXXXX");
		must(mkdtemp(folder) && !atexit(leave));
	}
	if (!size--)
		return 0;
	/* Files are read into a buffer and terminated. */
	text = malloc(size + 1);
	memcpy(text, data + 1, size);
	text[size] = 0;
	switch (data[0] % 5) {
	case 0:
		check_stat(text, size);
		check_left(text, size);
		break;
	case 1:
		check_target(text, size);
		break;
	case 2:
	case 3:
		check_cgroup(text, size, data[0] % 5 == 3);
		break;
	case 4:
		check_records(text, size);
		break;
	}
	free(text);
	return 0;
}

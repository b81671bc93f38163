/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system whose files can be found and opened, but whose reads are never answered.
 * usage: hang_fuse FOLDER      mounts itself there, runs until it is killed
 * Every name that begins with "perf-" is a file. Protocol: include/uapi/linux/fuse.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NODE   2
#define VALID_S	    100
#define MTIME_S	    4000000000u /* after any start */
#define BUFFER_SIZE (1 << 20)

static int device;

static void answer(uint64_t unique, int error, const void *body, size_t len)
{
	char message[4096];
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + len), .error = -error, .unique = unique};

	memcpy(message, &head, sizeof(head));
	memcpy(message + sizeof(head), body, len);
	if (write(device, message, head.len) < 0 && errno != ENOENT)
		perror("hang_fuse: write");
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr attr = {.ino = node, .nlink = 1, .mtime = MTIME_S, .blksize = 4096};

	attr.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
	attr.size = node == FUSE_ROOT_ID ? 0 : BUFFER_SIZE;
	return attr;
}

static void look_up(uint64_t unique, const char *name)
{
	struct fuse_entry_out out = {
		.nodeid = FILE_NODE, .entry_valid = VALID_S, .attr_valid = VALID_S};

	out.attr = attr_of(FILE_NODE);
	if (strncmp(name, "perf-", 5))
		answer(unique, ENOENT, "", 0);
	else
		answer(unique, 0, &out, sizeof(out));
}

static void serve(const struct fuse_in_header *in, const void *body)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536};
	struct fuse_attr_out attr = {.attr_valid = VALID_S, .attr = attr_of(in->nodeid)};
	struct fuse_open_out opened = {.fh = 1};

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		look_up(in->unique, body);
		break;
	case FUSE_GETATTR:
		answer(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		puts("a read hangs");
		fflush(stdout);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in->unique, ENOSYS, "", 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char buffer[BUFFER_SIZE];
	char options[64];
	ssize_t n;

	if (argc != 2)
		return 2;
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	if (device < 0 || mount("hang", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("hang_fuse");
		return 1;
	}
	puts("mounted");
	fflush(stdout);
	for (;;) {
		n = read(device, buffer, sizeof(buffer));
		if (n < 0 && errno != EINTR && errno != ENOENT)
			return 0;
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			serve((const struct fuse_in_header *)buffer,
			      buffer + sizeof(struct fuse_in_header));
	}
}

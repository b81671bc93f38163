/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_control.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int on_trigger(void *ctx, uint64_t before_ns, uint64_t after_ns,
		      char ret_name[static FOLDER_NAME_BYTES], char *why, size_t why_bytes)
{
	struct fake_control *f = ctx;

	f->triggers++;
	f->before_ns = before_ns;
	f->after_ns = after_ns;
	if (f->err)
		snprintf(why, why_bytes, "%s", f->why ? f->why : "");
	else
		snprintf(ret_name, FOLDER_NAME_BYTES, FAKE_CONTROL_NAME);
	return f->err;
}

static void on_status(void *ctx, char *text, size_t bytes)
{
	(void)ctx;
	snprintf(text, bytes, "level all\ncaptures 3\n");
}

struct control *fake_control_serve(int dir, struct fake_control *f)
{
	const struct control_ops ops = {.ctx = f, .trigger = on_trigger, .status = on_status};
	struct control *c = NULL;
	int err = control_new(dir, &ops, &c);

	cr_assert_eq(err, 0, "%s", strerror(-err));
	return c;
}

int fake_control_dir(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert(dir >= 0);
	return dir;
}

int fake_control_call(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = CONTROL_NAME};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -errno;
	}
	return fd;
}

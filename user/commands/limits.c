/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/io.h"
#include "base/log.h"
#include "commands/command.h"

int limits_take(void *at, const struct command_option *option, const char *value)
{
	struct limits *l = at;

	if (GROW(l->settings, l->settings_cnt, l->settings_cap)) {
		log_error("--%s: %s", option->name, strerror(ENOMEM));
		return EXIT_FAILED;
	}
	l->settings[l->settings_cnt++] = value;
	return EXIT_OK;
}

const struct command_option limits_options[2] = {
	OPTION(0, "limit", "NAME=VALUE", "a threshold of the verdicts, see below; repeatable",
	       limits_take),
	OPTION(0, "config", "FILE",
	       "thresholds of all and, in sections like [Shop.Push] or [port 8443], of some; "
	       "default " LIMITS_FILE,
	       option_text, .complete = COMPLETE_FILE, OPTION_IN(struct limits, config)),
};

int limits_read_text(const char *path, char **ret_text, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t len;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	text = malloc(LIMITS_MAX_BYTES + 1);
	if (!text)
		return -ENOMEM;
	len = io_read(fd, text, LIMITS_MAX_BYTES + 1);
	if (len < 0)
		return (int)len;
	if (len > LIMITS_MAX_BYTES)
		return -EFBIG;
	*ret_len = (size_t)len;
	*ret_text = take_ptr(&text);
	return 0;
}

const char *limits_error_text(int err)
{
	return err == -EINVAL ? "not a regular file" : strerror(-err);
}

static int read_file(struct limits *l)
{
	const char *path = l->config ? l->config : LIMITS_FILE;
	_cleanup_free_ char *text = NULL;
	char error[LIMITS_ERROR_BYTES];
	unsigned int line = 0;
	size_t len = 0;
	int err = limits_read_text(path, &text, &len);

	if (err == -ENOENT && !l->config)
		return EXIT_OK;
	/* Who may not read the host's own file judges by the defaults, and is told. */
	if (err == -EACCES && !l->config) {
		log_warn("%s: %s; its thresholds are not used", path, strerror(-err));
		return EXIT_OK;
	}
	if (err) {
		log_error("%s: %s", path, limits_error_text(err));
		return EXIT_FAILED;
	}
	err = limits_parse(&l->policy, text, len, &line, error);
	if (err == -EINVAL)
		log_error("%s:%u: %s", path, line, error);
	else if (err)
		log_error("%s: %s", path, strerror(-err));
	return err ? EXIT_FAILED : EXIT_OK;
}

int limits_read(struct limits *l, const char *command)
{
	char error[LIMITS_ERROR_BYTES];
	int rc;

	verdict_limits_default(&l->policy.limits);
	rc = read_file(l);
	for (size_t i = 0; !rc && i < l->settings_cnt; i++) {
		if (!limits_set(&l->policy, l->settings[i], error))
			continue;
		log_error("--limit %s", error);
		rc = command_usage(command);
	}
	return rc;
}

void limits_forget(struct limits *l)
{
	free(l->settings);
	limits_clear(&l->policy);
	*l = (struct limits){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf_start.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kernel/host.h"

/* libbpf's own lines, one level lower than it thinks; shown with -v only. The verifier's reasons
 * come as one text of many lines. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;

	if (level == LIBBPF_DEBUG || log_max_level < LOG_LEVEL_DEBUG ||
	    vasprintf(&text, format, args) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_debug("%s", line);
	return 0;
}

int explain(int err, const char *what, char *why, size_t why_bytes)
{
	char cause[512];

	if (err == -EPERM || err == -EACCES) {
		host_explain_eperm(cause, sizeof(cause));
		snprintf(why, why_bytes, "%s: not permitted: %s", what, cause);
		return -EPERM;
	}
	if (err == -EMFILE || err == -ENFILE)
		snprintf(why, why_bytes, "%s: too many open files; raise the limit (ulimit -n)",
			 what);
	else
		snprintf(why, why_bytes, "%s: %s", what, strerror(-err));
	return err;
}

/* A program whose map or types got no descriptor is refused like one that is wrong. */
static bool has_few_files(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < BPF_START_FILES;
}

/* Under lockdown the verifier does not know the functions that read kernel memory. Containers have
 * no securityfs to look it up in. */
int explain_load(int err, char *why, size_t why_bytes)
{
	if (err == -EINVAL && has_few_files())
		err = -EMFILE;
	if (err != -EINVAL)
		return explain(err, "loading the BPF programs", why, why_bytes);
	snprintf(
		why, why_bytes, "the kernel refuses the BPF programs (-v shows its reasons)%s",
		access("/sys/kernel/security/lockdown", R_OK)
			? "; perhaps kernel lockdown in confidentiality mode, which cannot be told "
			  "here: /sys/kernel/security is not mounted"
			: "");
	return err;
}

static void raise_limits(void)
{
	struct rlimit limit;

	/* Before 5.11 BPF memory counts against RLIMIT_MEMLOCK; later kernels use the cgroup. The
	 * hard limit cannot always be raised (no CAP_SYS_RESOURCE): go on all the same. */
	limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		log_debug("memlock limit not raised: %s", strerror(errno));
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void bpf_start_prepare(void)
{
	libbpf_set_print(print_libbpf);
	raise_limits();
}

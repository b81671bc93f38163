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

/* libbpf's callback has no context of its own. */
static _Thread_local struct bpf_refusal *watching;

void bpf_start_watch(struct bpf_refusal *refusal)
{
	if (refusal)
		*refusal = (struct bpf_refusal){0};
	watching = refusal;
}

/* "...prog 'NAME': REST": the name into ret_name; returns the rest, or NULL. */
static const char *named(const char *line, const char *kind, char ret_name[64])
{
	const char *begin = strstr(line, kind), *end = begin ? strstr(begin, "': ") : NULL;

	if (!end)
		return NULL;
	begin += strlen(kind);
	snprintf(ret_name, 64, "%.*s", (int)(end - begin), begin);
	return end + strlen("': ");
}

/* Lines that say no more than that a load failed, or frame the verifier's. */
static bool says_little(const char *line)
{
	static const char *const begins[] = {"BPF program load failed",
					     "failed to load",
					     "-- ",
					     "processed ",
					     "libbpf: ",
					     "max_states",
					     "verification time",
					     "stack depth",
					     "failed to create",
					     "permission error"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(line, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* The last line that says something is the reason. */
static void watch_line(struct bpf_refusal *r, const char *line)
{
	struct bpf_refusal now = {0};
	const char *rest = named(line, "prog '", now.program);

	if (!rest && !r->program[0])
		rest = named(line, "map '", now.map);
	if (rest && (strcmp(now.program, r->program) || strcmp(now.map, r->map)))
		*r = now;
	rest = rest ?: line;
	if (says_little(rest))
		return;
	snprintf(r->detail, sizeof(r->detail), "%s", rest);
	for (char *c = r->detail; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* libbpf's own lines, one level lower than it thinks; shown with -v only. The verifier's reasons
 * come as one text of many lines. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;

	if (level == LIBBPF_DEBUG || (log_max_level < LOG_LEVEL_DEBUG && !watching) ||
	    vasprintf(&text, format, args) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (watching && level == LIBBPF_WARN)
			watch_line(watching, line);
		log_debug("%s", line);
	}
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
bool bpf_start_has_few_files(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < BPF_START_FILES;
}

/* Containers have no securityfs to look it up in. */
const char *bpf_start_suspects_lockdown(void)
{
	return access("/sys/kernel/security/lockdown", R_OK)
		       ? "; perhaps kernel lockdown in confidentiality mode, which cannot be told "
			 "here: /sys/kernel/security is not mounted"
		       : "";
}

int explain_load(int err, char *why, size_t why_bytes)
{
	if (err == -EINVAL && bpf_start_has_few_files())
		err = -EMFILE;
	if (err != -EINVAL)
		return explain(err, "loading the BPF programs", why, why_bytes);
	snprintf(why, why_bytes, "the kernel refuses the BPF programs (-v shows its reasons)%s",
		 bpf_start_suspects_lockdown());
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

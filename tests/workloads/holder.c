/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tracer that does not let go, as a debugger or profiler that hangs.
 *
 *   holder PID HOW
 *
 * HOW: holds    all threads of PID stand in a trace stop
 *      deaf     the same, and SIGTERM does not end it
 *      exitkill the same, and its end kills PID (PTRACE_O_EXITKILL)
 *      attach   by PTRACE_ATTACH, whose SIGSTOP nobody takes notice of: killed, it leaves them
 *               stopped
 *      follows  they run, traced
 * Prints "holds" when it does.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int hold(pid_t tid, const char *how)
{
	long options = strcmp(how, "exitkill") ? 0 : PTRACE_O_EXITKILL;
	int status;

	if (!strcmp(how, "attach"))
		return ptrace(PTRACE_ATTACH, tid, NULL, NULL) ? -errno : 0;
	if (ptrace(PTRACE_SEIZE, tid, NULL, options))
		return -errno;
	if (!strcmp(how, "follows"))
		return 0;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, &status, __WALL) != tid)
		return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	if (argc != 3)
		return 2;
	snprintf(path, sizeof(path), "/proc/%d/task", atoi(argv[1]));
	dir = opendir(path);
	if (!dir)
		return 1;
	if (!strcmp(argv[2], "deaf"))
		signal(SIGTERM, SIG_IGN);
	while ((entry = readdir(dir))) {
		int err = *entry->d_name == '.' ? 0 : hold(atoi(entry->d_name), argv[2]);

		if (err) {
			fprintf(stderr, "%s: %s\n", entry->d_name, strerror(-err));
			return 1;
		}
	}
	closedir(dir);
	puts("holds");
	fflush(stdout);
	for (;;)
		pause();
}

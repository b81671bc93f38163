/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

unsigned int terminal_columns(unsigned int least)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 0;
	return size.ws_col < least ? least : size.ws_col;
}

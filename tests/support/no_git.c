/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * criterion starts libgit2, for coloured differences that no test here asks for, and that reads all
 * certificates of the host: in each test's process anew, half of the time of most tests. These
 * stand before the library's.
 */
int git_libgit2_init(void);
int git_libgit2_shutdown(void);

int git_libgit2_init(void)
{
	return 1;
}

int git_libgit2_shutdown(void)
{
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts and ends at once. */
int main(void)
{
	return 0;
}

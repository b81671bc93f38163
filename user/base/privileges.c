/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's sets have 64 bits; those above CAP_LAST_CAP of this header may mean something to
 * it. */
#define CAPABILITIES_MAX 64

struct sets {
	struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];
};

static struct __user_cap_header_struct own_header(void)
{
	return (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3};
}

static int read_sets(struct sets *ret_sets)
{
	struct __user_cap_header_struct header = own_header();

	return syscall(SYS_capget, &header, ret_sets->half) ? -errno : 0;
}

uint64_t privileges_held(void)
{
	struct sets sets;

	if (read_sets(&sets))
		return 0;
	return (uint64_t)sets.half[1].permitted << 32 | sets.half[0].permitted;
}

int privileges_use(uint64_t mask)
{
	struct __user_cap_header_struct header = own_header();
	struct sets sets;
	int err = read_sets(&sets);

	if (err)
		return err;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets.half[i].effective = sets.half[i].permitted & (uint32_t)(mask >> (32 * i));
	return syscall(SYS_capset, &header, sets.half) ? -errno : 0;
}

/* While CAP_SETPCAP is there; numbers that the kernel does not know are refused, and are
 * nothing. */
static void empty_bounding_set(void)
{
	for (unsigned long i = 0; i < CAPABILITIES_MAX; i++)
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) && errno == EPERM)
			return;
}

int privileges_keep(uint64_t mask)
{
	struct __user_cap_header_struct header = own_header();
	struct sets sets;
	int err = read_sets(&sets);

	if (err)
		return err;
	/* Kernels before 4.3 have no ambient set. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	empty_bounding_set();
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t kept = (uint32_t)(mask >> (32 * i));

		sets.half[i].permitted &= kept;
		sets.half[i].effective &= kept;
		sets.half[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, sets.half) ? -errno : 0;
}

int privileges_lock(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* A second lock, only for who has CAP_SETPCAP: uid 0 means nothing any more. */
	prctl(PR_SET_SECUREBITS,
	      SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
	      0, 0, 0);
	return 0;
}

int privileges_drop_all(void)
{
	int err = privileges_lock();

	return err ?: privileges_keep(0);
}

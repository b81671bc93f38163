/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "refuse_bpf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

unsigned int refuse_bpf_refused, refuse_bpf_objects;

/* name: as the kernel gets it, cut to BPF_OBJ_NAME_LEN - 1 characters. */
static bool is_refused(const char *name)
{
	const char *list = getenv("REFUSE_BPF") ?: "";

	while (*list) {
		size_t len = strcspn(list, ","), most = BPF_OBJ_NAME_LEN - 1;

		if (len && strlen(name) == (len < most ? len : most) &&
		    !strncmp(name, list, strlen(name)))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* Each load of an object makes one map of its constants. */
static bool refuses(long command, const union bpf_attr *attr)
{
	if (command == BPF_MAP_CREATE && strstr(attr->map_name, ".rodata"))
		refuse_bpf_objects++;
	if (command != BPF_PROG_LOAD || !is_refused(attr->prog_name))
		return false;
	refuse_bpf_refused++;
	return true;
}

static long call_kernel(long number, const long a[6])
{
#if defined(__x86_64__)
	register long a3 __asm__("r10") = a[3];
	register long a4 __asm__("r8") = a[4];
	register long a5 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(a3), "r"(a4), "r"(a5)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a[0];
	register long x1 __asm__("x1") = a[1];
	register long x2 __asm__("x2") = a[2];
	register long x3 __asm__("x3") = a[3];
	register long x4 __asm__("x4") = a[4];
	register long x5 __asm__("x5") = a[5];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "no way into the kernel is known here"
#endif
}

long syscall(long number, ...)
{
	long a[6], result;
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && refuses(a[0], (const union bpf_attr *)a[1])) {
		errno = EPERM;
		return -1;
	}
	result = call_kernel(number, a);
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An address means what lay there at the time: memory of dynamic methods that is used again, a file
# mapped where another one was.
# beside others, 12 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Reuse

# Two libraries with one function each, mapped one after the other at one address. Each begins with
# that function, so no relocation is needed to run it.
cat >"$T/part.c" <<'C'
__attribute__((section(".text.0"))) unsigned long NAME(unsigned long x)
{
	for (volatile unsigned i = 0; i < 1000000; i++)
		x = x * 6364136223846793005u + 1;
	return x;
}
C
cat >"$T/turns.c" <<'C'
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	for (int turn = 0; turn < 4; turn++) {
		const char *path = argv[1 + turn % 2];
		unsigned char *file = mmap(0, 1 << 16, PROT_READ, MAP_PRIVATE, open(path, O_RDONLY), 0);
		Elf64_Ehdr *header = (Elf64_Ehdr *)file;
		Elf64_Phdr *ph = (Elf64_Phdr *)(file + header->e_phoff);
		long end_ns = now_ns() + 1000000000;
		unsigned long offset = 0, entry = 0;

		for (int i = 0; i < header->e_phnum; i++)
			if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X)
				offset = ph[i].p_offset & -4096ul, entry = header->e_entry - ph[i].p_vaddr + ph[i].p_offset;
		void *code = mmap((void *)0x500000000000, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
				  open(path, O_RDONLY), offset);
		unsigned long (*run)(unsigned long) = (void *)((char *)code + (entry - offset));
		printf("%ld %s\n", now_ns(), turn % 2 ? "second" : "first");
		fflush(stdout);
		while (now_ns() < end_ns)
			sum += run(sum);
	}
	printf("%ld end\n", now_ns());
	return argc == 1 && sum;
}
C
check "a program that maps two files in turns" sh -c "gcc -O1 -fno-omit-frame-pointer -o $T/turns $T/turns.c &&
	for n in first second; do gcc -O1 -fno-omit-frame-pointer -shared -nostdlib -Wl,--build-id -Wl,-e,\${n}_1 \
		-DNAME=\${n}_1 -o $T/\$n.so $T/part.c || exit 1; done"

start "$HOTRUN" record -d 10 -F 499 -o "$T/times.hotrun"
recorder=$started
until_true 10 grep -qs 'recording at' "$T/$recorder.out" || fail "no recording: $(cat "$T/$recorder.out")"
dotnet_start "$BUILD/dotnet/Reuse/Reuse.dll" 1.5 "$T/truth"
reuse=$started
start "$T/turns" "$T/first.so" "$T/second.so"
turns=$started
wait "$recorder"
capture=$T/times.hotrun

set -- $(facts phases "$capture" "$reuse" "$T/truth")
within "samples of dynamic methods by the name of their time" "$1" 200 100000
within "by that of another time" "$2" 0 0
within "addresses that had several names" "$3" 10 1000
set -- $(facts phases "$capture" "$turns" "$T/$turns.out")
within "samples of functions by the file of their time" "$1" 100 100000
within "by that of another" "$2" 0 0
within "addresses that had names of both files" "$3" 1 1000
stop "$reuse"
stop "$turns"

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that burns CPU in code outside of every file and tells lies about itself.
 *
 *   hostile SECONDS WHAT
 *
 * WHAT: comm   a process name with ESC, newline, `;`, `<script>` and bytes that are not UTF-8
 *       anon   nothing but the anonymous code
 *       map    a perf map for it, /tmp/perf-PID.map, with the same in its names
 * Prints "ready" when it burns.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const char evil_comm[] = "\033[31m;<b>\n\xff\xc3 x";
static const char evil_name[] = "ev\033[2J;il\r\x07<script>alert(1)</script>\xff\xfe\xe2\x80\xae"
				"\xc2\x9b!";

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Counts its argument down; three instructions that need no relocation. */
static void *make_code(size_t *ret_bytes)
{
#if defined(__x86_64__)
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
				       0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#elif defined(__aarch64__)
	static const uint32_t code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#else
#error "no code for this machine"
#endif
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, (char *)at + sizeof(code));
	*ret_bytes = sizeof(code);
	return mprotect(at, 4096, PROT_READ | PROT_EXEC) ? NULL : at;
}

static int write_map(const void *code, size_t bytes)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "wx");
	if (!file)
		return -1;
	fputs("no line of a perf map\n\n0x\n0xzz 10 x\n0xffffffffffffffff ffffffffffffffff all\n",
	      file);
	fprintf(file, "0x%llx ", (unsigned long long)(uintptr_t)code);
	for (int i = 0; i < 100000; i++) /* a size that never ends */
		fputc('f', file);
	fputc('\n', file);
	fwrite("\0\0\0\0\n", 1, 5, file);
	fprintf(file, "0x%llx %zx %s\n", (unsigned long long)(uintptr_t)code, bytes, evil_name);
	fprintf(file, "0x%llx", (unsigned long long)(uintptr_t)code); /* torn */
	return fclose(file);
}

int main(int argc, char **argv)
{
	void (*burn)(uint64_t rounds);
	size_t bytes = 0;
	double end_s;
	void *code;

	if (argc != 3) {
		fprintf(stderr, "usage: hostile SECONDS comm|anon|map\n");
		return 2;
	}
	code = make_code(&bytes);
	if (!code)
		return 1;
	if (!strcmp(argv[2], "comm"))
		prctl(PR_SET_NAME, evil_comm);
	if (!strcmp(argv[2], "map") && write_map(code, bytes))
		return 1;
	memcpy(&burn, &code, sizeof(burn));
	printf("ready\n");
	fflush(stdout);
	end_s = now_s() + atof(argv[1]);
	while (now_s() < end_s)
		burn(2000000);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executables and libraries of processes that claim to run .NET. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parse/dotnet_version.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void must_be_version(const char *version)
{
	must(strspn(version, "0123456789.") == strlen(version) && strlen(version) < 24);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char version[DOTNET_VERSION_BYTES] = "";
	struct dotnet_executable executable;
	int fd = memfd_create("fuzz", 0);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	dotnet_version_executable(fd, &executable);
	must_be_version(executable.version);
	must(executable.has_runtime || !*executable.version);
	dotnet_version_library(fd, version);
	must_be_version(version);
	close(fd);
	return 0;
}

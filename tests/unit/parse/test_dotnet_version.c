/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Versions of .NET runtimes from paths and files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_runtime.h"
#include "names_support.h"
#include "parse/dotnet_version.h"

Test(dotnet_version, of_a_path)
{
	static const struct {
		const char *path, *version;
	} cases[] = {
		{"/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so", "10.0.12"},
		{"/d/Microsoft.NETCore.App/11.0.0-preview.1.2/libcoreclr.so", "11.0.0-preview.1.2"},
		{"/Microsoft.NETCore.App/1.0/Microsoft.NETCore.App/8.0.1/libcoreclr.so", "8.0.1"},
		{"/app/libcoreclr.so", NULL},
		{"/Microsoft.NETCore.App/libcoreclr.so", NULL},
		{"/Microsoft.NETCore.App//libcoreclr.so", NULL},
		{"/Microsoft.NETCore.App/8.0\x1b[1m/libcoreclr.so", NULL},
		{"/Microsoft.NETCore.App/"
		 "8000000000000000000000000000000000000000000000000000000000000000/x",
		 NULL},
		{"/Microsoft.NETCore.App/8.0.1", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char version[DOTNET_VERSION_BYTES] = "";
		bool found = dotnet_version_path(cases[i].path, version);

		cr_expect_eq(found, cases[i].version != NULL, "%s", cases[i].path);
		if (found)
			cr_expect_str_eq(version, cases[i].version);
	}
}

static void expect_library(const char *name, const char *bytes, size_t len, const char *wanted)
{
	char version[DOTNET_VERSION_BYTES] = "";
	int fd = fake_fd(bytes, len);

	cr_expect_eq(dotnet_version_library(fd, version), wanted != NULL, "%s", name);
	cr_expect_str_eq(version, wanted ? wanted : "", "%s", name);
	close(fd);
}

Test(dotnet_version, of_a_library)
{
	static const struct {
		const char *text, *version;
	} cases[] = {
		{"..@(#)Version 8.0.3126.42015 @Commit: 1219a", "8.0.31"},
		{"@(#)Version 10.0.1226.42308 @Commit: x", "10.0.12"},
		{"@(#)Version 8.0.23.53103 @Commit: 5535", "8.0.0"},
		{"@(#)Version  @(#)Version 9.0.2026.1 @Commit", "9.0.20"},
		{"@(#)Version 8.0", NULL},
		{"@(#)Version -8.0.1", NULL},
		{"@(#)Version 99999.0.1", NULL},
		{"@(#)Version", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_library(cases[i].text, cases[i].text, strlen(cases[i].text),
			       cases[i].version);
}

/* It is read in pieces of 1 MiB. */
Test(dotnet_version, of_a_library_whose_text_lies_across_two_pieces)
{
	static const char text[] = "@(#)Version 9.0.2026.41315 @Commit: 3879";
	size_t len = 3u << 20;
	char *bytes = calloc(1, len);

	for (size_t at = (1u << 20) - sizeof(text) - 2; at < (1u << 20) + 2; at++) {
		memset(bytes, 0, len);
		memcpy(bytes + at, text, sizeof(text) - 1);
		expect_library("across", bytes, len, "9.0.20");
	}
	free(bytes);
}

Test(dotnet_version, of_an_executable)
{
	static const struct {
		const char *name;
		struct fake_runtime runtime;
		bool has_runtime, native_aot;
		const char *version;
	} cases[] = {
		{"single file",
		 {"DotNetRuntimeInfo", ".data", 2, {8, 0, 3126, 42015}},
		 true,
		 false,
		 "8.0.31"},
		{"without its numbers",
		 {"DotNetRuntimeInfo", ".data", 1, {8, 0, 3126, 42015}},
		 true,
		 false,
		 ""},
		{"numbers of nothing",
		 {"DotNetRuntimeInfo", ".data", 2, {-1, 0, 0, 0}},
		 true,
		 false,
		 ""},
		{"NativeAOT", {"main", "__managedcode", 0, {0}}, false, true, ""},
		{"any program", {"main", ".data", 2, {8, 0, 3126, 42015}}, false, false, ""},
	};
	uint8_t image[FAKE_RUNTIME_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dotnet_executable e;
		int fd;

		fake_runtime(&cases[i].runtime, image);
		fd = fake_fd(image, sizeof(image));
		dotnet_version_executable(fd, &e);
		cr_expect_eq(e.has_runtime, cases[i].has_runtime, "%s", cases[i].name);
		cr_expect_eq(e.native_aot, cases[i].native_aot, "%s", cases[i].name);
		cr_expect_str_eq(e.version, cases[i].version, "%s", cases[i].name);
		cr_expect_not(e.is_32bit);
		close(fd);
	}
}

Test(dotnet_version, a_library_that_can_be_a_profiler_is_known_by_what_it_exports)
{
	static const struct {
		const char *symbol;
		bool class_object;
	} cases[] = {{"DllGetClassObject", true}, {"DllGetClassObject2", false}, {"main", false}};
	uint8_t image[FAKE_RUNTIME_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fake_runtime library = {cases[i].symbol, ".data", 0, {0}};
		struct dotnet_executable e;
		int fd;

		fake_runtime(&library, image);
		fd = fake_fd(image, sizeof(image));
		dotnet_version_executable(fd, &e);
		cr_expect_eq(e.class_object, cases[i].class_object, "%s", cases[i].symbol);
		cr_expect_not(e.has_runtime);
		close(fd);
	}
}

Test(dotnet_version, damaged_executables_tell_what_they_can)
{
	struct fake_runtime runtime = {"DotNetRuntimeInfo", "__managedcode", 2, {10, 0, 1226, 1}};
	uint8_t image[FAKE_RUNTIME_BYTES];
	struct dotnet_executable e;
	int fd;

	fake_runtime(&runtime, image);
	for (size_t len = 0; len < sizeof(image); len++) {
		fd = fake_fd(image, len);
		dotnet_version_executable(fd, &e);
		cr_expect(!*e.version || !strcmp(e.version, "10.0.12"), "%zu: %s", len, e.version);
		close(fd);
	}
	/* Each byte of the headers, all ways of being wrong that matter. */
	for (size_t at = 0; at < sizeof(image); at++) {
		static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
		uint8_t was = image[at];

		for (size_t k = 0; k < sizeof(values); k++) {
			image[at] = values[k];
			fd = fake_fd(image, sizeof(image));
			dotnet_version_executable(fd, &e);
			close(fd);
		}
		image[at] = was;
	}
}

Test(dotnet_version, thirty_two_bits_are_noticed)
{
	static const uint8_t bytes[64] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
	struct dotnet_executable e;
	int fd = fake_fd(bytes, sizeof(bytes));

	dotnet_version_executable(fd, &e);
	cr_expect(e.is_32bit);
	cr_expect_not(e.has_runtime);
	close(fd);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pure readers of /proc: maps, cgroup, entry assemblies, stat, demangling. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "parse/demangle.h"
#include "process/cgroup.h"
#include "process/entry.h"
#include "process/maps.h"
#include "process/proc.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ID	      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

Test(maps, a_line_is_taken_apart)
{
	const char *line = "7f0000001000-7f0000003000 r-xp 00002000 fd:01 4711                 "
			   "    /usr/lib/a b.so";
	struct maps_line l;

	cr_assert_eq(maps_parse(line, strlen(line), &l), 0);
	cr_assert_eq(l.start, 0x7f0000001000);
	cr_assert_eq(l.end, 0x7f0000003000);
	cr_assert_eq(l.file_offset, 0x2000);
	cr_assert_eq(l.dev, makedev(0xfd, 1));
	cr_assert_eq(l.inode, 4711);
	cr_assert(l.executable);
	cr_assert_eq(l.path_len, strlen("/usr/lib/a b.so"));
	cr_assert(!memcmp(l.path, "/usr/lib/a b.so", l.path_len));
}

Test(maps, odd_lines)
{
	static const struct {
		const char *name, *line;
		int ret;
		bool executable;
		size_t path_len;
	} rows[] = {
		{"anonymous", "1000-2000 rwxp 00000000 00:00 0 ", 0, true, 0},
		{"anonymous without the blank", "1000-2000 rwxp 00000000 00:00 0", 0, true, 0},
		{"data", "1000-2000 r--p 00000000 00:00 0 /a", 0, false, 2},
		{"empty", "", -22, false, 0},
		{"end before start", "2000-1000 r-xp 0 00:00 0", -22, false, 0},
		{"address of 17 digits", "10000000000000000-2 r-xp 0 00:00 0", -22, false, 0},
		{"cut in the rights", "1000-2000 r-x", -22, false, 0},
		{"no number", "x-2000 r-xp 0 00:00 0", -22, false, 0},
		{"inode missing", "1000-2000 r-xp 0 00:00 ", -22, false, 0},
		{"inode too large", "1000-2000 r-xp 0 00:00 99999999999999999999999", -22, false,
		 0},
		{"device too large", "1000-2000 r-xp 0 fffffffff:00 0", -22, false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct maps_line l;
		int ret = maps_parse(rows[i].line, strlen(rows[i].line), &l);

		cr_expect_eq(ret, rows[i].ret, "%s: %d", rows[i].name, ret);
		if (!ret) {
			cr_expect_eq(l.executable, rows[i].executable, "%s", rows[i].name);
			cr_expect_eq(l.path_len, rows[i].path_len, "%s", rows[i].name);
		}
	}
}

Test(maps, paths_lose_escapes_and_marks)
{
	char buf[32], small[4];
	size_t len;

	cr_assert_eq(maps_unescape("/a\\012b\\0", 10, buf, sizeof(buf)), 7);
	cr_assert_str_eq(buf, "/a\nb\\0");
	cr_assert_eq(maps_unescape("/abcdef", 7, small, sizeof(small)), 3);
	cr_assert_str_eq(small, "/ab");
	cr_assert(maps_deleted("/a (deleted)", 12, &len));
	cr_assert_eq(len, 2);
	cr_assert(!maps_deleted(" (deleted)", 10, &len));
	cr_assert_eq(len, 10);
}

Test(cgroup, units_and_containers)
{
	static const struct {
		const char *name, *text, *path, *unit, *container;
	} rows[] = {
		{"service", "0::/system.slice/nginx.service\n", "/system.slice/nginx.service",
		 "nginx.service", ""},
		{"template with an escape",
		 "0::/system.slice/system-getty.slice/getty\\x2dx@tty1.service\n",
		 "/system.slice/system-getty.slice/getty\\x2dx@tty1.service",
		 "getty-x@tty1.service", ""},
		{"deepest unit of a user",
		 "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.scope\n",
		 "/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.scope",
		 "app-a.scope", ""},
		{"no newline at the end", "0::/system.slice/a.service", "/system.slice/a.service",
		 "a.service", ""},
		{"docker by cgroupfs", "0::/docker/" ID "\n", "/docker/" ID, "", "0123456789ab"},
		{"docker by systemd", "0::/system.slice/docker-" ID ".scope\n",
		 "/system.slice/docker-" ID ".scope", "", "0123456789ab"},
		{"docker in docker: the inner one", "0::/docker/" ID "/docker/f" ID "\n",
		 "/docker/" ID "/docker/f" ID, "", "0123456789ab"},
		{"containerd under systemd",
		 "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
		 "pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-" ID ".scope\n",
		 "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
		 "pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-" ID ".scope",
		 "", "0123456789ab"},
		{"pod without a container id",
		 "0::/kubepods/besteffort/pod01234567-89ab-cdef-0123-456789abcdef\n",
		 "/kubepods/besteffort/pod01234567-89ab-cdef-0123-456789abcdef", "",
		 "pod 01234567-89ab-cdef-0123-456789abcdef"},
		{"CRI path with colons",
		 "0::/system.slice/containerd.service/kubepods-pod:cri-containerd:" ID "\n",
		 "/system.slice/containerd.service/kubepods-pod:cri-containerd:" ID, "",
		 "0123456789ab"},
		{"podman", "0::/machine.slice/libpod-" ID ".scope/container\n",
		 "/machine.slice/libpod-" ID ".scope/container", "", "0123456789ab"},
		{"lxc", "0::/lxc.payload.web1/x.service\n", "/lxc.payload.web1/x.service",
		 "x.service", "web1"},
		{"hybrid: path of cpu, unit of systemd",
		 "4:memory:/a\n2:cpuacct,cpu:/b\n1:name=systemd:/s/y.service\n0::/s/z.service\n",
		 "/b", "y.service", ""},
		{"63 digits are no id",
		 "0::/docker/123456789abcdef0123456789abcdef0123456789abcdef"
		 "0123456789abcdef\n",
		 "/docker/123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "", ""},
		{"pod uid of wrong shape", "0::/kubepods/pod01234567-89zz-cdef-0123-456789abcdef\n",
		 "/kubepods/pod01234567-89zz-cdef-0123-456789abcdef", "", ""},
		{"empty", "", "", "", ""},
		{"no colons", "hello\nworld", "", "", ""},
		{"cut escape", "0::/a\\x2.service\n", "/a\\x2.service", "a\\x2.service", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_facts f;

		cgroup_parse(rows[i].text, strlen(rows[i].text), &f);
		cr_expect_str_eq(f.path, rows[i].path, "%s: %s", rows[i].name, f.path);
		cr_expect_str_eq(f.unit, rows[i].unit, "%s: %s", rows[i].name, f.unit);
		cr_expect_str_eq(f.container.text, rows[i].container, "%s: %s", rows[i].name,
				 f.container.text);
	}
}

#define UID	 "01234567-89ab-cdef-0123-456789abcdef"
#define UID_	 "01234567_89ab_cdef_0123_456789abcdef"
#define STATIC	 "0123456789abcdef0123456789abcdef"
#define INNER	 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define V1(path) "12:cpu,cpuacct:" path "\n11:memory:" path "\n1:name=systemd:" path "\n"
#define V2(path) "0::" path "\n"
#define SLICE	 "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/"
#define FOLDER	 "/kubepods/burstable/pod" UID "/"

/* Runtimes by driver and version, as their groups are named on real nodes. */
Test(cgroup, runtimes_pods_and_classes)
{
	static const struct {
		const char *name, *text, *id, *runtime, *pod_uid, *qos;
	} rows[] = {
		{"docker cgroupfs v1", V1("/docker/" ID), ID, "docker", "", ""},
		{"docker cgroupfs v2", V2("/docker/" ID), ID, "docker", "", ""},
		{"docker systemd v2", V2("/system.slice/docker-" ID ".scope"), ID, "docker", "",
		 ""},
		{"docker rootless",
		 V2("/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope"),
		 ID, "docker", "", ""},
		{"podman cgroupfs v1", V1("/libpod_parent/libpod-" ID), ID, "podman", "", ""},
		{"podman systemd v2, crun", V2("/machine.slice/libpod-" ID ".scope/container"), ID,
		 "podman", "", ""},
		{"podman in a pod of its own",
		 V2("/machine.slice/machine-libpod_pod_" INNER ".slice/libpod-" ID ".scope"), ID,
		 "podman", "", ""},
		{"podman in its unit", V2("/system.slice/shop.service/libpod-payload-" ID), ID,
		 "podman", "", ""},
		{"podman rootless",
		 V2("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		    ".scope/container"),
		 ID, "podman", "", ""},
		{"podman's conmon is outside", V2("/machine.slice/libpod-conmon-" ID ".scope"), "",
		 "", "", ""},
		{"containerd systemd v2", V2(SLICE "cri-containerd-" ID ".scope"), ID, "containerd",
		 UID, "burstable"},
		{"containerd systemd v1", V1(SLICE "cri-containerd-" ID ".scope"), ID, "containerd",
		 UID, "burstable"},
		{"containerd cgroupfs v1", V1(FOLDER ID), ID, "", UID, "burstable"},
		{"containerd systemd, colons",
		 V1("/system.slice/containerd.service/kubepods-besteffort-pod" UID_
		    ".slice:cri-containerd:" ID),
		 ID, "containerd", UID, "besteffort"},
		{"guaranteed, systemd",
		 V2("/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope"), ID,
		 "containerd", UID, "guaranteed"},
		{"guaranteed, cgroupfs", V2("/kubepods/pod" UID "/" ID), ID, "", UID, "guaranteed"},
		{"besteffort, cgroupfs", V2("/kubepods/besteffort/pod" UID "/" ID), ID, "", UID,
		 "besteffort"},
		{"static pod",
		 V2("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
		    ".slice/cri-containerd-" ID ".scope"),
		 ID, "containerd", STATIC, "burstable"},
		{"static pod, cgroupfs", V1("/kubepods/burstable/pod" STATIC "/" ID), ID, "",
		 STATIC, "burstable"},
		{"cri-o systemd", V2(SLICE "crio-" ID ".scope"), ID, "cri-o", UID, "burstable"},
		{"cri-o with crun", V2(SLICE "crio-" ID ".scope/container"), ID, "cri-o", UID,
		 "burstable"},
		{"cri-o cgroupfs", V1(FOLDER "crio-" ID), ID, "cri-o", UID, "burstable"},
		{"cri-o's conmon is the pod's", V2(SLICE "crio-conmon-" ID ".scope"), "", "", UID,
		 "burstable"},
		{"cri-dockerd", V2(SLICE "docker-" ID ".scope"), ID, "docker", UID, "burstable"},
		{"a unit in a container", V2(SLICE "crio-" ID ".scope/system.slice/x.service"), ID,
		 "cri-o", UID, "burstable"},
		{"nerdctl", V2("/system.slice/nerdctl-" ID ".scope"), ID, "containerd", "", ""},
		{"k3s", V2("/kubepods/burstable/pod" UID "/" ID), ID, "", UID, "burstable"},
		{"k3s in docker", V2("/docker/" INNER "/kubepods/besteffort/pod" UID "/" ID), ID,
		 "", UID, "besteffort"},
		{"kind",
		 V2("/system.slice/docker-" INNER ".scope/kubelet.slice/kubelet-kubepods.slice/"
		    "kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" UID_
		    ".slice/cri-containerd-" ID ".scope"),
		 ID, "containerd", UID, "burstable"},
		{"kind, guaranteed",
		 V2("/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
		    ".slice/cri-containerd-" ID ".scope"),
		 ID, "containerd", UID, "guaranteed"},
		{"kind, the node's own processes",
		 V2("/docker/" ID "/system.slice/containerd.service"), ID, "docker", "", ""},
		{"docker in docker", V2("/docker/" INNER "/docker/" ID), ID, "docker", "", ""},
		{"docker in a pod: the pod's container", V2(FOLDER ID "/docker/" INNER), ID, "",
		 UID, "burstable"},
		{"hybrid, v2 knows nothing",
		 "12:cpu,cpuacct:/kubepods/burstable/pod" UID "/" ID
		 "\n1:name=systemd:/kubepods/burstable/pod" UID "/" ID "\n0::/\n",
		 ID, "", UID, "burstable"},
		{"hybrid, only systemd's line knows",
		 "5:cpu,cpuacct:/\n1:name=systemd:" SLICE "crio-" ID
		 ".scope\n0::/system.slice/a.service\n",
		 ID, "cri-o", UID, "burstable"},
		{"hybrid, one line knows the pod, another the id",
		 "5:cpu,cpuacct:" SLICE "\n1:name=systemd:" SLICE "crio-" ID ".scope\n", ID,
		 "cri-o", UID, "burstable"},
		/* As hotrun sees them from a container with a cgroup namespace. */
		{"a pod of the same class",
		 V2("/../../kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope"), ID,
		 "containerd", UID, "burstable"},
		{"a pod of another class",
		 V2("/../../../kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		    ".slice/crio-" ID ".scope"),
		 ID, "cri-o", UID, "besteffort"},
		{"a guaranteed pod",
		 V2("/../../../kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope"), ID,
		 "containerd", UID, "guaranteed"},
		{"a container of the same pod", V2("/../cri-containerd-" ID ".scope"), ID,
		 "containerd", "", ""},
		{"cgroupfs: the class is above what is told", V1("/../../pod" UID "/" ID), ID, "",
		 UID, ""},
		{"cgroupfs: another class", V1("/../../../besteffort/pod" UID "/" ID), ID, "", UID,
		 "besteffort"},
		{"a container of the same docker", V2("/../" ID), ID, "", "", ""},
		{"a service of the host", V2("/../../../../system.slice/kubelet.service"), "", "",
		 "", ""},
		{"hotrun itself", V2("/"), "", "", "", ""},
		{"lxc", V2("/lxc.payload.web1"), "", "lxc", "", ""},
		/* Strangers' names. */
		{"65 digits", V2("/docker/0" ID), ID, "", "", ""},
		{"capitals are no digits", V2("/docker/0123456789ABCDEF" STATIC "0123456789abcdef"),
		 "", "", "", ""},
		{"a pod's uid with a letter",
		 V2("/kubepods/pod0123456x-89ab-cdef-0123-456789abcdef/" ID), ID, "", "", ""},
		{"dashes elsewhere", V2("/kubepods/pod0123456-789ab-cdef-0123-456789abcdef/" ID),
		 ID, "", "", ""},
		{"a word before pod", V2("/kubepods/burstable/xpod" UID), "", "", "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_facts f;

		cgroup_parse(rows[i].text, strlen(rows[i].text), &f);
		cr_expect_str_eq(f.container.id, rows[i].id, "%s: %s", rows[i].name,
				 f.container.id);
		cr_expect_str_eq(f.container.runtime, rows[i].runtime, "%s: %s", rows[i].name,
				 f.container.runtime);
		cr_expect_str_eq(f.container.pod_uid, rows[i].pod_uid, "%s: %s", rows[i].name,
				 f.container.pod_uid);
		cr_expect_str_eq(f.container.qos, rows[i].qos, "%s: %s", rows[i].name,
				 f.container.qos);
		/* Cut anywhere: read from memory of just that size, so that ASan sees a byte too
		 * far. */
		for (size_t len = 0; len < strlen(rows[i].text); len++) {
			char *cut = memcpy(malloc(len + !len), rows[i].text, len);

			cgroup_parse(cut, len, &f);
			free(cut);
		}
	}
}

Test(cgroup, a_container_of_a_unit_keeps_the_unit)
{
	static const char text[] = V2("/system.slice/shop.service/libpod-payload-" ID);
	struct cgroup_facts f;

	cgroup_parse(text, sizeof(text) - 1, &f);
	cr_expect_str_eq(f.unit, "shop.service");
}

Test(cgroup, overlong_parts_are_cut)
{
	static char text[3 * CGROUP_PATH_BYTES];
	struct cgroup_facts f;
	size_t len = sizeof(text) - 1;

	memset(text, 'a', len);
	memcpy(text, "0::/", 4);
	memcpy(text + len - 9, ".service\n", 9);
	cgroup_parse(text, len, &f);
	cr_assert_eq(strlen(f.path), CGROUP_PATH_BYTES - 1);
	cr_assert_eq(strlen(f.unit), CGROUP_UNIT_BYTES - 1);
}

Test(entry, command_lines)
{
	static const struct {
		const char *name, *exe, *cmdline;
		size_t len;
		const char *entry;
	} rows[] = {
#define ARGS(s) s, sizeof(s)
		{"assembly", "/usr/bin/dotnet", ARGS("dotnet\0Shop.Api.dll\0--urls\0http://x"),
		 "Shop.Api"},
		{"with a path", "/usr/share/dotnet/dotnet", ARGS("dotnet\0/app/Shop.Api.DLL"),
		 "Shop.Api"},
		{"exec with options", "/d/dotnet",
		 ARGS("dotnet\0exec\0--runtimeconfig\0a.json\0--depsfile\0b.json\0X.dll"), "X"},
		{"option without value", "/d/dotnet", ARGS("dotnet\0--diagnostics\0X.dll"), "X"},
		{"command", "/d/dotnet", ARGS("dotnet\0build\0/x.sln"), "dotnet build"},
		{"msbuild node", "/d/dotnet", ARGS("dotnet\0/sdk/10.0/MSBuild.dll\0/nodemode:1"),
		 "MSBuild"},
		{"nothing", "/d/dotnet", ARGS("dotnet"), "dotnet"},
		{"empty command line", "/d/dotnet", "", 0, "dotnet"},
		{"odd command is not shown", "/d/dotnet", ARGS("dotnet\0\033[2Jx"), "dotnet"},
		{"value missing", "/d/dotnet", ARGS("dotnet\0--fx-version"), "dotnet"},
		{"only an extension", "/d/dotnet", ARGS("dotnet\0/a/.dll"), "dotnet"},
		{"not the host", "/app/Shop.Api", ARGS("x\0X.dll"), ""},
		{"unknown exe", "", ARGS("dotnet\0X.dll"), ""},
		{"run by the loader", "/lib/ld-linux-x86-64.so.2",
		 ARGS("ld.so\0--library-path\0/x:/y\0/opt/bin/node\0server.js"), "node"},
		{"of musl", "/lib/ld-musl-x86_64.so.1", ARGS("x\0python3.11"), "python3.11"},
		{"of old", "/lib/ld-2.31.so", ARGS("x\0--list"), "ld-2.31.so"},
		{"and the host by it", "/lib/ld-linux-aarch64.so.1",
		 ARGS("x\0--argv0\0y\0/usr/share/dotnet/dotnet\0exec\0/app/Renamer.dll"),
		 "Renamer"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[ENTRY_BYTES];

		entry_name(rows[i].exe, rows[i].cmdline, rows[i].len, name);
		cr_expect_str_eq(name, rows[i].entry, "%s: %s", rows[i].name, name);
	}
}

Test(entry, a_cut_command_line_is_read_by_length)
{
	char cmdline[600], name[ENTRY_BYTES];

	memset(cmdline, 'a', sizeof(cmdline));
	memcpy(cmdline, "dotnet", 7);
	memcpy(cmdline + sizeof(cmdline) - 4, ".dll", 4); /* no NUL follows */
	entry_name("dotnet", cmdline, sizeof(cmdline), name);
	cr_assert_eq(strlen(name), ENTRY_BYTES - 1);
}

Test(proc, stat_with_a_hostile_comm)
{
	const char *text = "42 (a) R 1 (b) S 7 1 1 0 -1 2097152 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2\n";
	struct proc_stat f;

	cr_assert_eq(proc_stat_parse(text, strlen(text), &f), 0);
	cr_assert_str_eq(f.comm, "a) R 1 (b");
	cr_assert_eq(f.state, 'S');
	cr_assert_eq(f.parent_tgid, 7);
	cr_assert_eq(f.start_ticks, 777);
	cr_assert_eq(f.session, 1);
	cr_assert_not(f.has_terminal);
	cr_assert(f.kernel);
	cr_assert_eq(proc_stat_parse("42 (a", 5, &f), -22);
	cr_assert_eq(proc_stat_parse("42 (a) S 1", 10, &f), -22);
}

Test(proc, innermost_pid)
{
	static const struct {
		const char *text;
		uint32_t pid;
	} rows[] = {
		{"Name:\tx\nNStgid:\t100\t12\t3\nNSpgid:\t9\n", 3},
		{"Name:\tx\nNStgid:\t100\n", 100},
		{"Name:\tx\nNStgid:\n", 0},
		{"Name:\tNStgid:\t5\n", 0},
		{"", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(proc_parse_ns_pid(rows[i].text), rows[i].pid, "row %zu", i);
}

Test(demangle, languages)
{
	static const struct {
		const char *name, *mangled, *readable; /* NULL = not mangled */
	} rows[] = {
		{"C++", "_ZN3foo3BarIiE3bazEv", "foo::Bar<int>::baz"},
		{"C++ clone", "_ZN3foo3barEv.cold", "foo::bar"},
		{"Rust legacy", "_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
		 "core::ptr::drop_in_place"},
		{"Rust v0", "_RNvC6_123foo3bar", "123foo::bar"},
		{"C", "memcpy", NULL},
		{"like C++", "_Zebra", NULL},
		{"empty", "", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char buf[DEMANGLE_OUTPUT_MAX];
		bool ok = demangle_name(rows[i].mangled, buf);

		cr_expect_eq(ok, !!rows[i].readable, "%s", rows[i].name);
		if (ok && rows[i].readable)
			cr_expect_str_eq(buf, rows[i].readable, "%s: %s", rows[i].name, buf);
	}
}

Test(demangle, a_name_that_explodes_is_left_as_it_is)
{
	/* Each template argument is a pair of the one before: 2^26 copies in the end. */
	char mangled[512] = "_Z1fI1A1BIS0_S0_E", buf[DEMANGLE_OUTPUT_MAX];
	const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = strlen(mangled);

	for (int i = 2; i < 28; i++)
		n += (size_t)sprintf(mangled + n, "S1_IS%c_S%c_E", digits[i], digits[i]);
	strcpy(mangled + n, "Evv");
	cr_assert(!demangle_name(mangled, buf));
	strcpy(mangled + strlen("_Z1fI1A1BIS0_S0_ES1_IS2_S2_E"), "Evv");
	cr_assert(demangle_name(mangled, buf));
	cr_assert_str_eq(buf, "f<A, B<A, A>, B<B<A, A>, B<A, A> > >");
	memset(mangled, 'N', sizeof(mangled));
	memcpy(mangled, "_Z", 2);
	mangled[sizeof(mangled) - 1] = '\0';
	cr_assert(!demangle_name(mangled, buf));
}

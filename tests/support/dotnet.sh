#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the C# loads: tests/workloads/NAME/ into $BUILD/dotnet/NAME/. Those that are newer than
# their sources are left alone. They use no packages, so nothing is downloaded; but NAME@net8.0 is built
# self-contained for that framework, NAME@net8.0-single as a single file, and both bring the runtime
# of that version through the package manager.
# usage: dotnet.sh [NAME[@FRAMEWORK[-single]]]...     without names, all, for .NET 10
#        dotnet.sh others                              those with a framework that the live tests name
set -eu
cd "$(dirname "$0")/../.."
BUILD=$(realpath -m "${BUILD:-build}")
command -v dotnet >/dev/null || {
	echo "dotnet: not found; install a .NET 10 SDK (Debian users: Microsoft's package dotnet-sdk-10.0)" >&2
	exit 1
}
export DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1
export DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE=1 DOTNET_ADD_GLOBAL_TOOLS_TO_PATH=0
# The perf map of the compiler itself would be in the way of those that the tests look at.
unset DOTNET_PerfMapEnabled
if [ -z "${HOME:-}" ] || [ ! -w "$HOME" ]; then
	export DOTNET_CLI_HOME=$BUILD/dotnet/home
fi

# build NAME OUT OBJ FRAMEWORK FORM: one of them
build() {
	local name=$1 out=$2 obj=$3 framework=$4 form=$5
	# No servers stay behind; what is made in between lies in the build folder, not beside the sources.
	local common=("tests/workloads/$name/$name.csproj" -c Release -o "$out" -v quiet -nologo --disable-build-servers
		-nodeReuse:false -p:UseSharedCompilation=false -p:BaseIntermediateOutputPath="$obj/"
		-p:MSBuildProjectExtensionsPath="$obj/")

	case $form in
	'') dotnet build "${common[@]}" ;;
	*)
		dotnet publish "${common[@]}" -p:LoadFramework="$framework" -r linux-"$(rid)" --self-contained \
			-p:UseAppHost=true -p:PublishSingleFile="$([ "$form" = single ] && echo true || echo false)"
		;;
	esac
}

rid() { case $(uname -m) in aarch64) echo arm64 ;; *) echo x64 ;; esac; }

[ $# -gt 0 ] || set -- $(cd tests/workloads && ls -d */*.csproj | cut -d/ -f1)
[ "$1" != others ] || set -- $(sed -n 's/^need_dotnet //p' tests/live/test_*.sh | tr ' ' '\n' | grep @ | sort -u)
for load in "$@"; do
	name=${load%%@*} framework='' form=''
	case $load in
	*@*-single) framework=${load#*@} framework=${framework%-single} form=single ;;
	*@*) framework=${load#*@} form=folder ;;
	esac
	out=$BUILD/dotnet/$load
	stamp=$out/.built
	if [ -e "$stamp" ] && [ -z "$(find "tests/workloads/$name" tests/workloads/shared \
		tests/workloads/Directory.Build.props -type f -newer "$stamp" -print -quit)" ]; then
		continue
	fi
	mkdir -p "$out"
	printf '  %-8s %s\n' DOTNET "tests/workloads/$name${framework:+ for $framework${form:+, $form}}"
	if ! log=$(build "$name" "$out" "$BUILD/dotnet/obj/$load" "$framework" "$form" </dev/null 2>&1); then
		printf '%s\n' "$log" >&2
		exit 1
	fi
	touch "$stamp"
done

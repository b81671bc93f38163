#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the C# loads: tests/workloads/NAME/ into $BUILD/dotnet/NAME/, all in one process of MSBuild, which takes longer
# to come into its stride than to build one of them. Those that are newer than their sources are left alone. They use no packages, so nothing is downloaded; but NAME@net8.0 is built
# self-contained for that framework, NAME@net8.0-single as a single file, and both bring the runtime
# of that version through the package manager. Other forms, for the bench: -compressed (single file), -trimmed (single
# file), -composite (all images in one, with the framework), -musl, -aot (with symbols) and -stripped (the same without).
# usage: dotnet.sh [NAME[@FRAMEWORK[-FORM]]]...       without names, all, for .NET 10
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

# project LOAD NAME FRAMEWORK FORM: its lines in the list of all; what is made in between lies in the build folder,
# not beside the sources
project() {
	local load=$1 name=$2 framework=$3 form=$4 out=$BUILD/dotnet/$1/ obj=$BUILD/dotnet/obj/$1/ what single=false libc='' more=''

	# A framework that the SDK does not know yet: its runtime, and what is compiled for the newest one that it does.
	if [ "${framework#net}" = 11.0 ] && [ "$(dotnet --version | cut -d. -f1)" -lt 11 ]; then
		framework=net10.0 more=";RuntimeFrameworkVersion=11.0.0"
	fi

	what="Configuration=Release;BaseIntermediateOutputPath=$obj;MSBuildProjectExtensionsPath=$obj"
	case $form in
	'') what+=";OutputPath=$out" ;;
	*)
		case $form in
		single) single=true ;;
		compressed) single=true more+=";EnableCompressionInSingleFile=true" ;;
		trimmed)
			single=true more+=";PublishTrimmed=true;TrimMode=partial;SuppressTrimAnalysisWarnings=true"
			more+=";JsonSerializerIsReflectionEnabledByDefault=true"
			;;
		composite) more+=";PublishReadyToRun=true;PublishReadyToRunComposite=true" ;;
		musl) libc=musl- ;;
		aot | stripped)
			more+=";PublishAot=true;SuppressTrimAnalysisWarnings=true;SuppressAotAnalysisWarnings=true"
			more+=";StripSymbols=$([ "$form" = aot ] && echo false || echo true)"
			;;
		esac
		what+=";LoadFramework=$framework;RuntimeIdentifier=linux-$libc$(rid);SelfContained=true;UseAppHost=true"
		what+=";PublishSingleFile=$single;OutputPath=${obj}bin/;PublishDir=$out;_IsPublishing=true$more"
		;;
	esac
	printf '    <Load Include="%s" Make="%s"><AdditionalProperties>%s</AdditionalProperties></Load>\n' \
		"$PWD/tests/workloads/$name/$name.csproj" "${form:+Publish}" "$what"
}

# build LIST: the loads whose lines are in it. No servers stay behind.
build() {
	local all=$BUILD/dotnet/obj/loads.$$.proj rc

	# Restored under another set of properties than built: a project is read once for each set, and its restore
	# writes what the build has to read.
	{
		echo '<Project><ItemGroup>'
		cat "$1"
		cat <<-'X'
			</ItemGroup><Target Name="Build">
			    <MSBuild Projects="@(Load)" Targets="Restore" Properties="ReadFor=restore" />
			    <MSBuild Projects="@(Load)" Condition="'%(Load.Make)' == ''" />
			    <MSBuild Projects="@(Load)" Condition="'%(Load.Make)' != ''" Targets="%(Load.Make)" />
			</Target></Project>
		X
	} >"$all"
	dotnet build "$all" -v quiet -nologo --disable-build-servers -nodeReuse:false -p:UseSharedCompilation=false
	rc=$?
	rm -f "$all"
	return $rc
}

rid() { case $(uname -m) in aarch64) echo arm64 ;; *) echo x64 ;; esac; }

[ $# -gt 0 ] || set -- $(cd tests/workloads && ls -d */*.csproj | cut -d/ -f1)
[ "$1" != others ] || set -- $(sed -n 's/^need_dotnet //p' tests/live/test_*.sh | tr ' ' '\n' | grep @ | sort -u)
mkdir -p "$BUILD/dotnet/obj"
stale=()
list=$BUILD/dotnet/obj/loads.$$
trap 'rm -f "$list"' EXIT
for load in "$@"; do
	name=${load%%@*} framework='' form=''
	case $load in
	*@*-*) framework=${load#*@} form=${framework#*-} framework=${framework%%-*} ;;
	*@*) framework=${load#*@} form=folder ;;
	esac
	stamp=$BUILD/dotnet/$load/.built
	if [ -e "$stamp" ] && [ -z "$(find "tests/workloads/$name" tests/workloads/shared \
		tests/workloads/Directory.Build.props -type f -newer "$stamp" -print -quit)" ]; then
		continue
	fi
	mkdir -p "$BUILD/dotnet/$load"
	printf '  %-8s %s\n' DOTNET "tests/workloads/$name${framework:+ for $framework${form:+, $form}}"
	project "$load" "$name" "$framework" "$form" >>"$list"
	stale+=("$BUILD/dotnet/$load/.built")
done
[ ${#stale[@]} -gt 0 ] || exit 0
# What is written while it builds is newer.
began=$(mktemp -p "$BUILD/dotnet/obj")
trap 'rm -f "$list" "$began"' EXIT
if ! log=$(build "$list" </dev/null 2>&1); then
	printf '%s\n' "$log" >&2
	exit 1
fi
touch -r "$began" "${stale[@]}"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Readers that the tests of the export formats open files with, into $BUILD/readers: the npm packages named,
# NAME@VERSION, with no script of theirs run; and, where there is a .NET SDK, a program around PerfView's parser.
set -eu
cd "$(dirname "$0")/../.."
folder=$(realpath -m "${BUILD:-build}")/readers
mkdir -p "$folder"

npm_packages() {
	[ "$(cat "$folder/.npm" 2>/dev/null)" = "$*" ] && return
	command -v npm >/dev/null || tests/support/install.sh npm
	echo "installing: $*"
	echo '{"private": true}' >"$folder/package.json"
	npm install --prefix "$folder" --silent --ignore-scripts --no-audit --no-fund --no-package-lock --no-save "$@" \
		>"$folder/npm.log" 2>&1 || {
		cat "$folder/npm.log" >&2
		return 1
	}
	echo "$*" >"$folder/.npm"
}

perf_script_reader() {
	local source=tests/live/perf_script_reader out=$folder/perf_script

	command -v dotnet >/dev/null || return 0
	[ -z "$(find $source -newer "$out/.built" 2>&1)" ] && return
	echo "building: $source"
	if [ -z "${HOME:-}" ] || [ ! -w "$HOME" ]; then
		export DOTNET_CLI_HOME=$folder/home
	fi
	DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 dotnet build $source -c Release -v quiet -nologo \
		--disable-build-servers -p:UseSharedCompilation=false -p:OutputPath="$out/" \
		-p:BaseIntermediateOutputPath="$folder/obj/" -p:MSBuildProjectExtensionsPath="$folder/obj/" \
		>"$folder/dotnet.log" 2>&1 </dev/null || {
		cat "$folder/dotnet.log" >&2
		return 1
	}
	touch "$out/.built"
}

perf_script_reader &
npm_packages "$@"
wait $!

# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests of the resident recorder share; sourced after live.sh. Its folder is $dir, it listens at $http.
answers() { [ "$(curl -s -m 5 -o "$T/answer" -w '%{http_code}' "http://127.0.0.1:$http/$1")" = "$2" ]; }

# metric NAME: the value of the first line that begins so
metric() { curl -s -m 5 "http://127.0.0.1:$http/metrics" | awk -v n="$1" 'index($0, n) == 1 { print $NF; exit }'; }

at_least() { awk -v v="$(metric "$1")" -v w="$2" 'BEGIN { exit !(v != "" && v + 0 >= w) }'; }

# watch_start OPTION...: pid in $watcher, messages in $T/$watcher.out. As under sudo, whose user must not get
# the captures: they would not be the folder's owner's. None by itself, unless $itself is set: others make this host
# busy.
watch_start() {
	start env SUDO_UID="$(id -u nobody)" SUDO_GID="$(id -g nobody)" "$HOTRUN" watch --dir "$dir" --listen "127.0.0.1:$http" \
		${itself---capture-on off} "$@"
	watcher=$started
}

watch_end() {
	kill -TERM "$watcher"
	until_true 20 gone "$watcher" || fail "it does not end after SIGTERM"
	{ wait "$watcher"; } 2>/dev/null
}

captures() { ls "$dir" | grep -c "$1"; }

http=$(free_port)
dir=$T/watch

# SPDX-License-Identifier: GPL-2.0-or-later
# Groups with a CPU limit, removed with the test; sourced after live.sh.
GROUPS_MADE=()

# group_make NAME QUOTA_US: a group that gets so much CPU of each 100 ms; "${in_group[@]}" COMMAND... runs in it.
# With cgroups v1 below the test's own, with v2, where only leaves may hold processes, at the top.
group_make() {
	local root=/sys/fs/cgroup own folder

	if grep -qsw cpu $root/cgroup.controllers; then
		echo +cpu >$root/cgroup.subtree_control
		folder=$root/hotrun-live-$$-$1
		mkdir "$folder"
		echo "$2 100000" >"$folder/cpu.max"
	else
		root=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,cpu,/ { print $2; exit }' /proc/self/mounts)
		own=$(awk -F: '("," $2 ",") ~ /,cpu,/ { print $3 }' /proc/self/cgroup)
		folder=$root/$own/hotrun-live-$$-$1
		mkdir "$folder"
		echo 100000 >"$folder/cpu.cfs_period_us"
		echo "$2" >"$folder/cpu.cfs_quota_us"
	fi
	GROUPS_MADE+=("$folder")
	in_group=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$folder")
}

# group_unified NAME: a group of version 2, by which connections know who listens; "${in_group[@]}" COMMAND... runs in
# it. 1 where there are none.
group_unified() {
	local root

	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$root" ] || return 1
	mkdir "$root/hotrun-live-$$-$1"
	GROUPS_MADE+=("$root/hotrun-live-$$-$1")
	in_group=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$root/hotrun-live-$$-$1")
}

# group_first: those in the group that was made last go before others, up to its quota: so it is used up on a busy
# machine, too
group_first() {
	local folder=${GROUPS_MADE[-1]}

	if [ -e "$folder/cpu.weight" ]; then
		echo 10000 >"$folder/cpu.weight"
	else
		echo 262144 >"$folder/cpu.shares"
	fi
}

groups_remove() {
	local folder

	for folder in "${GROUPS_MADE[@]}"; do
		until_true 3 rmdir "$folder" 2>/dev/null || echo "FAIL - $folder stays"
	done
	GROUPS_MADE=()
}
trap 'finish; groups_remove' EXIT

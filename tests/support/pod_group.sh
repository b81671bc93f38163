# SPDX-License-Identifier: GPL-2.0-or-later
# The group of the pod that test_deploy.sh makes, named as a kubelet names one; to be sourced.
KUBELET=/kubepods/burstable/pod0b5b5c1e-1111-2222-3333-444444444444

# remove_pod_group: it and the groups above it, of every hierarchy; fails where processes are in it. A run that
# was killed leaves it behind: to the next it looks like a node of Kubernetes, and no CPU is taken off line there.
remove_pod_group() {
	local group

	for group in /sys/fs/cgroup/*"$KUBELET" /sys/fs/cgroup"$KUBELET"; do
		[ -d "$group" ] || continue
		find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
		rmdir "${group%/*}" "${group%/*/*}" 2>/dev/null
		[ ! -d "$group" ] || return 1
	done
}

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who a process is: a real container of podman, and groups as the kubelet makes them with its links to the
# containers' logs; seen from the host and from a cgroup namespace of hotrun's own.
# beside others, 24 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool sqlite3 sqlite3
. "$(dirname "$0")/../support/podman.sh"
tree=$(awk '$9 == "cgroup2" || $8 == "cgroup2" || $10 == "cgroup2" { print $5; exit }' /proc/self/mountinfo)
[ -n "$tree" ] || skip "needs a cgroup v2 tree"
SLICE=$tree/kubepods.slice
[ -e "$SLICE" ] && skip "needs a host that is no node of Kubernetes ($SLICE is there)"
BURST=$SLICE/kubepods-burstable.slice
id_of() { printf '%x%060x' "$1" 0; } # of a number of four digits
# uid N: a pod's, as in files
uid() { printf '%08x-1111-2222-3333-444444444444' "$1"; }
# group N: the group of pod N's container N
group() { echo "$BURST/kubepods-burstable-pod$(uid "$1" | tr - _).slice/cri-containerd-$(id_of "$1").scope"; }
leave() {
	local pid

	for pid in "${PIDS[@]}"; do stop "$pid"; done
	until_true 20 remove_groups "$SLICE"
	leave_podman
}
trap leave EXIT

# burn N: a program in pod N; its pid in $started
burn() {
	mkdir -p "$(group "$1")"
	start "$LOADS/native" 120
	echo "$started" >"$(group "$1")/cgroup.procs" || fail "no way into $(group "$1")"
}
# of NAME PID COLUMNS: what a capture says of a process
of() { sqlite3 -batch -noheader -separator ' ' "file:$T/$1.hotrun?mode=ro" "SELECT $3 FROM process WHERE tgid = $2"; }
# link N POD: the kubelet's link to a log
link() { ln -s "/var/log/pods/nowhere/0.log" "$NODE/var/log/containers/$2_prod_api-$(id_of "$1").log"; }

# --- a real container ---------------------------------------------------------------------------------
image burner "$LOADS/native"
pod run -d --name shop-burner --network none localhost/burner:test 120 >/dev/null ||
	fail "podman run: $(tail -2 "$T/podman.err")"
real=$(pod inspect -f '{{.State.Pid}}' shop-burner)
real_id=$(pod inspect -f '{{.Id}}' shop-burner)

# --- pods ---------------------------------------------------------------------------------------------
mkdir -p "$NODE/var/log/containers" "$NODE/var/log/pods"
burn 0xabc1
first=$started
link 0xabc1 shop-7d9c6b5f4d-x2x9k
burn 0xabc2
second=$started
link 0xabc2 shop-7d9c6b5f4d-zk4tr
burn 0xabc3
nameless=$started
mkdir "$NODE/var/log/pods/prod_$(printf 'evil\033[31m')_$(uid 0xabc5)"
burn 0xabc5
evil=$started
burn 0xabc6
late=$started
# Those selected have rows of the report on a busy host, too.
"$HOTRUN" record -o "$T/node.hotrun" -d 6 --node-root "$NODE" \
	$(printf -- '-p %s ' "$real" "$first" "$second" "$nameless" "$evil" "$late") >"$T/node.sum" 2>"$T/node.err" &
recorder=$!
PIDS+=("$recorder")
until_true 20 test -s "$T/node.hotrun" || fail "the recording does not begin: $(cat "$T/node.err")"
seen() { [ "$(of node "$late" "count(*)" 2>/dev/null)" = 1 ]; }
until_true 20 seen || fail "it has no row in the capture"
link 0xabc6 late-0
wait "$recorder"
is "the recording ends well" $? 0
columns="container_id, container_name, pod, pod_uid, namespace, qos, runtime"
is "podman's container" "$(of node "$real" "container_id, container_name, runtime, pod")" "$real_id shop-burner podman "
is "a pod" "$(of node "$first" "$columns")" \
	"$(id_of 0xabc1) api shop-7d9c6b5f4d-x2x9k $(uid 0xabc1) prod burstable containerd"
is "a pod that nothing names" "$(of node "$nameless" "$columns")" "$(id_of 0xabc3)   $(uid 0xabc3)  burstable containerd"
is "a pod whose link came later" "$(of node "$late" "container_name, pod, namespace")" "api late-0 prod"
"$HOTRUN" report --all --width 160 "$T/node.hotrun" >"$T/report" 2>"$T/err"
says "the report names the pod" "$T/report" "prod/shop-7d9c6b5f4d-x2x9k/api"
says "and podman's container" "$T/report" "native (shop-burner)"
says "and the id of what has no name" "$T/report" "native ($(id_of 0xabc3 | cut -c1-12))"
says "a hostile name is made safe" "$T/report" 'evil\x1b[31m'
is "and no escape comes through" "$(grep -c "$(printf '\033')" "$T/report")" 0
"$HOTRUN" report --by workload --summary --width 160 "$T/node.hotrun" >"$T/workloads" 2>"$T/err"
says "replicas are one row" "$T/workloads" "2 x prod/shop/api"
"$HOTRUN" flame -o "$T/page.html" "$T/node.hotrun" >/dev/null 2>&1
tests/support/page_block.py "$T/page.html" >"$T/page.json"
says "the page names the pod" "$T/page.json" "prod/shop-7d9c6b5f4d-x2x9k/api"

# --- hotrun in a pod of its own -------------------------------------------------------------------------
burn 0xabc4
other=$started
link 0xabc4 other-0
mkdir -p "$(group 0xabcf)"
cat >"$T/inside" <<'S'
echo $$ >"$1/cgroup.procs"
shift
exec unshare -C sh -c 'cat "/proc/$0/cgroup" >"$1"; shift; exec "$@"' "$@"
S
sh "$T/inside" "$(group 0xabcf)" "$other" "$T/seen" "$HOTRUN" record -o "$T/inside.hotrun" -d 2 --node-root "$NODE" >"$T/in.sum" 2>"$T/in.err"
is "recording in a cgroup namespace" $? 0
says "paths are relative there" "$T/seen" "0::/../../kubepods-burstable-pod"
is "the pod is known all the same" "$(of inside "$other" "$columns")" \
	"$(id_of 0xabc4) api other-0 $(uid 0xabc4) prod burstable containerd"

"$HOTRUN" record --node-root here >"$T/out" 2>"$T/err"
is "a relative root is refused" $? 2
says "and it is said why" "$T/err" "--node-root here: not an absolute path"

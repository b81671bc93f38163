#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What deploy/ ships. The image is run by podman as the DaemonSet's pod template says, beside a service in
# another container: ready, its metrics, a capture out of it that names the service and its pod. Each right
# is taken away once, and what is missing is said. The systemd unit, and hotrun in its sandbox.
# beside others, 120 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool curl curl
need_tool nsenter util-linux
need_tool systemd-analyze systemd
python3 -c 'import yaml' 2>/dev/null || skip "needs python3-yaml"
. "$(dirname "$0")/../support/podman.sh"
need_dotnet Web@net10.0-single
YAML=deploy/kubernetes/hotrun.yaml
PROFILE=$PWD/deploy/kubernetes/seccomp.json
KUBELET_PROFILE=/var/lib/kubelet/seccomp/hotrun.json
. "$(dirname "$0")/../support/pod_group.sh"
remove_pod_group
ls -d /sys/fs/cgroup/*/kubepods >/dev/null 2>&1 && skip "needs a host that is no node of Kubernetes"
leave() {
	pod rm -f -t 0 -a >/dev/null
	until_true 20 remove_pod_group
	leave_podman
}
trap leave EXIT

# --- the manifests ---------------------------------------------------------------------------------
if [ ! -x "$BUILD/kubectl/usr/bin/kubectl" ]; then
	mkdir -p "$BUILD/kubectl"
	(cd "$BUILD/kubectl" &&
		{ apt-get download -qq kubernetes-client || { apt-get update -qq && apt-get download -qq kubernetes-client; }; } &&
		dpkg-deb -x kubernetes-client_*.deb . && rm kubernetes-client_*.deb) >"$T/apt" 2>&1 ||
		skip "needs kubectl (Debian package kubernetes-client): $(tail -1 "$T/apt")"
fi
# No server is asked: --local.
decode() { "$BUILD/kubectl/usr/bin/kubectl" set image --local -f - hotrun=other -o yaml; }
python3 tests/support/pod.py daemonset "$YAML" | decode >"$T/decoded" 2>"$T/err" ||
	fail "kubectl refuses the DaemonSet: $(cat "$T/err")"
python3 tests/support/pod.py check "$YAML" "$T/decoded"
python3 tests/support/pod.py daemonset "$YAML" | sed 's/hostPID: true/hostPid: true/' | decode >"$T/wrong" 2>&1
is "a field that is mistyped would be found" "$(grep -ci hostpid "$T/wrong")" 0
python3 tests/support/pod.py daemonset "$YAML" | sed 's/hostPID: true/hostPID: "yes"/' | decode >"$T/wrong" 2>&1
is "and so would a wrong type" $? 1
check "the seccomp profile is JSON" python3 -m json.tool "$PROFILE"

# --- the image ---------------------------------------------------------------------------------------
check "make image" make -s image BUILD="$BUILD" IMAGE=localhost/hotrun:test CONTAINER="${PODMAN[*]}"
pod image exists localhost/hotrun:test || exit 1
size=$(pod image inspect -f '{{.Size}}' localhost/hotrun:test)
within "its size, MB" "$(awk -v s="$size" 'BEGIN { print s / 1e6 }')" 2 9
is "it starts the recorder" "$(pod image inspect -f '{{.Config.Entrypoint}} {{.Config.Cmd}}' localhost/hotrun:test)" \
	"[/hotrun] [watch]"
is "its label tells the version" "$("$HOTRUN" --version)" \
	"hotrun $(pod image inspect -f '{{index .Labels "org.opencontainers.image.version"}}' localhost/hotrun:test)"

# die WHY: what follows would fail for the same reason
die() {
	fail "$@"
	exit 1
}
# options CHOICES FOLDER: podman's options of the pod template in $flags, its arguments in $arguments.
# CHOICES as pod.py has them, "" = none.
options() {
	local all cut

	mapfile -t all < <(python3 tests/support/pod.py flags "$YAML" "$2" $1)
	for cut in "${!all[@]}"; do [ "${all[$cut]}" = -- ] && break; done
	flags=("${all[@]:0:cut}")
	arguments=("${all[@]:cut+1}")
}
# template CHOICES FOLDER: the same, after the container that comes before has run on the node FOLDER. There is
# no other filter to be had: without its file the next container does not start.
template() {
	if [ ! -e "$2$KUBELET_PROFILE" ]; then
		options "container=seccomp-profile" "$2"
		"${PODMAN[@]}" run --rm --pull never --network none "${flags[@]}" localhost/hotrun:test "${arguments[@]}" \
			>"$T/first" 2>&1 || die "the first container: $(tail -2 "$T/first")"
	fi
	options "$@"
}
# node NAME CHOICES [OPTION]...: the pod, as a container of that name; it has a network of its own
node() {
	local name=$1

	template "$2" "$T/of-$name"
	shift 2
	pod run -d --pull never --name "$name" --network none "${flags[@]}" "$@" localhost/hotrun:test "${arguments[@]}" \
		>/dev/null || die "podman run: $(tail -2 "$T/podman.err")"
	inside=$(pod inspect -f '{{.State.Pid}}' "$name")
}
# once CHOICES ARGUMENT...: another command in such a pod; what it says in $T/said
once() {
	template "$1" "$T/once"
	shift
	"${PODMAN[@]}" run --rm --pull never --network none "${flags[@]}" localhost/hotrun:test "$@" >"$T/said" 2>&1
}
# answers PATH CODE: asked from inside of the network of the last node(); body in $T/answer
answers() {
	[ "$(nsenter -t "$inside" -n curl -s -m 5 -o "$T/answer" -w '%{http_code}' "http://127.0.0.1:9911/$1")" = "$2" ]
}
metric() { answers metrics 200 && awk -v n="$1" 'index($0, n) == 1 { print $NF; exit }' "$T/answer"; }
has_past() { awk -v v="$(metric hotrun_ring_seconds)" -v w="$1" 'BEGIN { exit !(v + 0 >= w) }'; }

# --- a service in a pod, watched by the DaemonSet's pod ------------------------------------------------
image shop "$BUILD/dotnet/Web@net10.0-single/Shop.Web"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# A fifth of a CPU, as a limit of 200m is.
pod run -d --name shop --network host --cgroup-parent "$KUBELET" --cpus 0.2 --user 1000:1000 --read-only --tmpfs /tmp:mode=1777 \
	--env DOTNET_BUNDLE_EXTRACT_BASE_DIR=/tmp --env DOTNET_PerfMapEnabled=3 localhost/shop:test "$port" 120 /dev/null >/dev/null
web=$(pod inspect -f '{{.State.Pid}}' shop)
mkdir -p "$NODE/var/log/containers"
ln -s /var/log/pods/nowhere/0.log "$NODE/var/log/containers/shop-6d5f_prod_web-$(pod inspect -f '{{.Id}}' shop).log"
shop_is_ready() { pod logs shop 2>&1 | grep -q ready; }
until_true 60 shop_is_ready || fail "the service does not start: $(pod logs shop 2>&1 | head -3)"
start sh -c "while :; do curl -s -m 5 -o /dev/null http://127.0.0.1:$port/price http://127.0.0.1:$port/orders; done"
asker=$started

# Process 1 of some virtual machines may not be looked into, by nobody: then the node's files come by a mount.
node hotrun "" --volume "$NODE/var/log:/var/log:ro"
is "the seccomp profile of its node is the one that is shipped" "$(cmp "$T/of-hotrun$KUBELET_PROFILE" "$PROFILE" 2>&1)" ""
until_true 30 answers readyz 200 && ok "the pod becomes ready" || die "not ready: $(cat "$T/answer") $(pod logs hotrun 2>&1 | tail -3)"
answers healthz 200 && ok "and is healthy" || fail "healthz: $(cat "$T/answer")"
is "one metric says so" "$(metric hotrun_ready)" 1
until_true 20 has_past 5 || fail "it has $(metric hotrun_ring_seconds) s of the past"
pod exec hotrun hotrun trigger --before 4s --after 3s >"$T/out" 2>"$T/err"
is "trigger, by kubectl exec" $? 0
[ -s "$T/out" ] || die "no capture: $(cat "$T/err")"
is "it is behind that filter, gains nothing, and holds what its pod gives" \
	"$(awk '/^(NoNewPrivs|Seccomp|CapPrm|CapEff):/ { printf "%s ", $2 }' "/proc/$inside/status")" \
	"000001c400080004 000001c400080004 1 2 "
is "the threads that serve metrics and write the history hold nothing" "$(grep -l '^CapPrm:.0*$' /proc/"$inside"/task/*/status | wc -l)" 2
pod exec hotrun hotrun record -d 1 -q -o /tmp/second.hotrun >"$T/second" 2>&1
is "a recording beside it, by kubectl exec" "$? $(grep -ci 'warn\|not permitted' "$T/second")" "0 0"
name=$(basename "$(tail -1 "$T/out")")
is "the capture is called after the node" "${name%%-2*}" node-of-the-test
pod exec hotrun hotrun captures >"$T/list"
pod exec hotrun hotrun watch --status >"$T/status" 2>&1
is "its liveness probe: exit code" $? 0
says "and it is ready" "$T/status" "ready 1"
says "captures lists it" "$T/list" "$name"
pod exec hotrun hotrun captures get "$name" -o - >"$T/deploy.hotrun"
is "captures get hands it out, without tar" "$(sql "$T/deploy.hotrun" 'SELECT complete FROM host')" 1
is "the folder is as the kubelet made it, the capture nobody else's" \
	"$(stat -c %a "$T/of-hotrun/var/lib/hotrun" "$T/of-hotrun/var/lib/hotrun/$name" | tr '\n' ' ')" "755 600 "
facts managed "$T/deploy.hotrun" "$web" "$T/root/app/Shop.Web" | tee "$T/managed" | sed -n '2,$s/^/# no name: /p'
set -- $(head -1 "$T/managed")
within "managed frames of the other container with a name, of $2, per cent" \
	"$(awk -v n="$1" -v t="$2" 'BEGIN { print (t > 50 ? 100 * n / t : 0) }')" 95 100 # few, at 19 Hz
within "its requests are, though it listened before in a network of its own" \
	"$(sql "$T/deploy.hotrun" "SELECT sum(answered) FROM process_request WHERE tgid = $web" 2>&1)" 1 100000
is "its pod is known" "$(sql "$T/deploy.hotrun" "SELECT namespace, pod, container_name, qos FROM process WHERE tgid = $web")" \
	"prod shop-6d5f web burstable"
set -- $(facts books "$T/deploy.hotrun")
within "nothing is lost beside a service at a fifth of a CPU: the books balance, per cent" \
	"$(awk -v c="$1" -v a="$3" 'BEGIN { print 100 * a / c }')" 98 102
is "and no sample is dropped" "$(sql "$T/deploy.hotrun" "SELECT coalesce(sum(count), 0) FROM loss JOIN loss_cause c ON c.id = cause WHERE word LIKE '%ring-full'")" 0
is "hotrun writes nowhere else" "$(pod diff hotrun | grep -vE ' /(dev|proc|sys|run|etc|tmp|var)(/|$)')" ""
within "memory with that, MiB" "$(awk '/^VmHWM/ { print $2 / 1024 }' "/proc/$inside/status")" 5 200
stop "$asker"
start_s=$SECONDS
pod stop -t 30 hotrun >/dev/null
is "it ends when told" "$(pod inspect -f '{{.State.ExitCode}}' hotrun)" 0
within "soon, s" $((SECONDS - start_s)) 0 12

# --- what is lost without each right: the table of deploy/README.md ------------------------------------
# Lines "CAPABILITY WORDS": what hotrun says without it, the last column.
sed -n '/^| capability |/,/^$/s/^| `\([A-Z_]*\)` |.*| `\([^|]*\)` |$/\1 \2/p' deploy/README.md >"$T/rights"
is "the table has every capability of the pod" "$(cut -d' ' -f1 "$T/rights" | sort | tr '\n' ' ')" \
	"$(sed -n 's/^ *- \([A-Z_]*\) # .*/\1/p' "$YAML" | sort | tr '\n' ' ')"
while read -r capability words <&3; do
	once "without=$capability" doctor
	says "without $capability" "$T/said" "$words"
done 3<"$T/rights"
once "without=SYS_PTRACE,DAC_READ_SEARCH,SYSLOG" record -q -d 0.1 -o /tmp/x.hotrun
says "the log says of two what they cost" "$T/said" \
	"names of other users' processes are off: missing capabilities: SYS_PTRACE DAC_READ_SEARCH"
says "and of the third" "$T/said" "kernel names are off: kallsyms is hidden"
says "and of what no right of the pod gives" "$T/said" "connections that waited to be accepted before are not seen"
once "" doctor
is "with all of them nothing fails" "$(grep -c '^  ok  ' "$T/said" | awk '{ print ($1 > 20) }')$(grep -E '^  fail' "$T/said")" 1
says "what is not given is told, too" "$T/said" '`perfmap enable` reaches runtimes of the own user only'

node blind without=BPF
until_true 20 answers healthz 200 && ok "a node that cannot be observed: the pod stays up" || fail "blind: $(pod logs blind 2>&1 | tail -3)"
until_true 10 eval 'answers readyz 503 && grep -q "missing: BPF" "$T/answer"' && ok "it is not ready, and says why" ||
	fail "readyz: $(cat "$T/answer")"
is "one metric says so" "$(metric hotrun_ready)" 0
says "and one why" "$T/answer" 'hotrun_not_ready{reason="recording needs root, or the capabilities BPF and PERFMON (missing: BPF)"} 1'
pod exec blind hotrun trigger >"$T/out" 2>&1
is "trigger there fails" $? 1
pod rm -f -t 0 blind >/dev/null

# --- groups of others, as a pod finds them: pid 1 sees all, hotrun its own alone -------------------------
cpu=$(awk '$NF ~ /(^|,)cpu(,|$)/ && / - cgroup / { print $5; exit }' /proc/self/mountinfo)
mkdir "$cpu/hotrun-pod" "$cpu/hotrun-other" "$T/own"
unshare -p -f -m --mount-proc sh -c 'unshare -m sh -c "
	mount --bind $0/hotrun-pod $1/own && umount -R -l /sys/fs/cgroup && ! [ -e $0/hotrun-other ] &&
	$2 record -q -d 0.1 --cgroup /hotrun-other -o $1/other.hotrun"; exit $?' "$cpu" "$T" "$HOTRUN" >"$T/out" 2>&1
is "groups of others are found through pid 1" $? 0
rmdir "$cpu/hotrun-pod" "$cpu/hotrun-other"

# --- seccomp -----------------------------------------------------------------------------------------
once "" doctor
is "the shipped profile refuses nothing" "$(grep -E '^  fail' "$T/said")" ""
says "and it is in force" "$T/said" "a filter that lets bpf and perf_event_open pass"

# --- a tenth of a CPU, behind the shipped profile -------------------------------------------------------
start nice -n 5 "$LOADS/spinners" "$(nproc)" 60
spinner=$started
node slow "" --cpus 0.1 --volume "$NODE/var/log:/var/log:ro"
until_true 60 answers readyz 200 && ok "at a tenth of a CPU, on a full host, it becomes ready" ||
	fail "not ready: $(pod logs slow 2>&1 | tail -3)"
until_true 30 has_past 5 && ok "it goes on" || fail "it has $(metric hotrun_ring_seconds) s of the past"
pod exec slow hotrun trigger --before 4s --after 2s >"$T/out" 2>"$T/err"
is "a capture" $? 0
pod exec slow hotrun captures get "$(basename "$(tail -1 "$T/out")")" -o - >"$T/slow.hotrun"
set -- $(facts books "$T/slow.hotrun")
within "its books balance, per cent" "$(awk -v c="$1" -v a="$3" 'BEGIN { print 100 * a / c }')" 95 105
within "it has the samples of those that spin, CPU seconds" \
	"$(sql "$T/slow.hotrun" "SELECT samples * 1.0 / (SELECT sample_hz FROM host) FROM process_cpu WHERE tgid = $spinner")" 1 20
is "it was throttled" "$(awk '/^nr_throttled/ { print ($2 > 0) }' "/sys/fs/cgroup/cpu$(sed -n 's/^[0-9]*:cpu:\|^[0-9]*:cpu,cpuacct://p' "/proc/$inside/cgroup")/cpu.stat" 2>/dev/null)" 1
is "hotrun in there behind a filter" "$(awk '/^Seccomp:/ { print $2 }' "/proc/$inside/status")" 2
stop "$spinner"
pod rm -f -t 0 slow shop >/dev/null

# --- the systemd unit -----------------------------------------------------------------------------------
check "make install" make -s install BUILD="$BUILD" PREFIX="$T/usr"
unit=$T/usr/lib/systemd/system/hotrun.service
is "systemd-analyze verify says nothing" "$(systemd-analyze verify "$unit" 2>&1)" ""
systemd-analyze security --offline=yes --threshold=31 --no-pager "$unit" >"$T/security" 2>&1
is "exposure is 3.1 of 10 at the most: $(tail -1 "$T/security" | grep -oE '[0-9]+\.[0-9]')" $? 0
exec_start=$(sed -n 's/^ExecStart=//p' "$unit")
check "the options of its ExecStart exist" $exec_start --help
# The example's settings are the defaults: with all of them set, they are taken.
sed -E 's/^# ([a-z-]+ = |\[)/\1/' deploy/systemd/hotrun.conf >"$T/hotrun.conf"
told='^(gear|frequency|budget|ring|rotate|keep-[a-z]*|before|after|capture-on|confirm|cooldown) '
is "its settings are those of --help" \
	"$(sed -nE '/^\[hotrun watch\]/,$s/^([a-z-]+) = ([^ ]*)$/\1 \2/p' "$T/hotrun.conf" | grep -E "$told")" \
	"$("$HOTRUN" watch --help | sed -E ':a;N;$!ba;s/\n {20,}/ /g' | sed -nE 's/^ +(-., )?--([a-z-]+) .*\(default ([^)]*)\)$/\2 \3/p' |
		grep -E "$told")"
mkdir -m 700 "$T/state"
cp "$T/hotrun.conf" "$T/state/hotrun.conf"
start python3 -c 'import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0hotrun-deploy")
while True: print(s.recv(4096).decode(), flush=True)'
manager=$started
http=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
NOTIFY_SOCKET=@hotrun-deploy WATCHDOG_USEC=1000000 start python3 tests/support/as_unit.py "$unit" "$T/state" "$HOTRUN" \
	watch --dir /mnt/state --listen "127.0.0.1:$http" --config /mnt/state/hotrun.conf
watcher=$started
is_ready() { [ "$(curl -s -m 5 -o "$T/answer" -w '%{http_code}' "http://127.0.0.1:$http/readyz")" = 200 ]; }
until_true 30 is_ready && ok "in the unit's sandbox it becomes ready" || fail "sandbox: $(cat "$T/answer") $(tail -3 "$T/$watcher.out")"
is "nothing is missing there" "$(grep -ci 'names.*off\|missing\|not permitted' "$T/$watcher.out")" 0
for word in READY=1 WATCHDOG=1; do
	until_true 5 grep -q "$word" "$T/$manager.out" && ok "$word" || fail "no $word"
done
is "filter, privileges, capabilities" "$(awk '/^(NoNewPrivs|Seccomp|CapBnd):/ { printf "%s ", $2 }' "/proc/$watcher/status")" \
	"000001c400080004 1 2 "
until_true 20 eval '[ "$(curl -s "http://127.0.0.1:$http/metrics" | awk "/^hotrun_ring_seconds/ { print int(\$2) }")" -ge 3 ]'
"$HOTRUN" trigger --dir "$T/state" --before 2s --after 1s >"$T/out" 2>"$T/err"
is "a capture with its artifacts" "$?$(ls "$T/state" | grep -cE -- '-trigger\.(hotrun|txt|html)$')" 03
kill -HUP "$watcher"
until_true 5 grep -q RELOADING=1 "$T/$manager.out" && ok "ExecReload is heard" || fail "no RELOADING=1"
kill -TERM "$watcher"
wait "$watcher"
is "it ends well" $? 0
says "and tells that it does" "$T/$manager.out" STOPPING=1

# --- the unit that waits for a host to drown --------------------------------------------------------------
unit=$T/usr/lib/systemd/system/hotrun-snapshot.service
is "systemd-analyze verify says nothing of it" "$(systemd-analyze verify "$unit" 2>&1)" ""
systemd-analyze security --offline=yes --threshold=32 --no-pager "$unit" >"$T/security" 2>&1
is "its exposure is 3.2 of 10 at the most: $(tail -1 "$T/security" | grep -oE '[0-9]+\.[0-9]')" $? 0
check "the options of its ExecStart exist, too" $(sed -n 's/^ExecStart=//p' "$unit") --help
mkdir -m 700 "$T/armed"
start python3 tests/support/as_unit.py "$unit" "$T/armed" "$HOTRUN" snapshot --arm --dir /mnt/state
until_true 30 grep -qs armed: "$T/$started.out" && ok "it is armed" || fail "sandbox: $(tail -3 "$T/$started.out")"
is "nothing is missing there" "$(grep -c 'not locked\|not permitted\|n/a' "$T/$started.out")" 0
check "its memory is locked" awk '/^VmLck:/ { exit !($2 > 1000) }' "/proc/$started/status"
is "asleep it is an ordinary thread" "$(awk '{ print $41 }' "/proc/$started/stat")" 0
"$HOTRUN" snapshot --dir "$T/armed" --brief >"$T/out" 2>"$T/err"
is "it is asked" $? 0
says "and takes precedence" "$T/out" SCHED_RR
is "filter, privileges, capabilities" "$(awk '/^(NoNewPrivs|Seccomp|CapBnd):/ { printf "%s ", $2 }' "/proc/$started/status")" \
	"000001c400884004 1 2 "
kill -TERM "$started"
wait "$started"
is "it ends well" $? 0

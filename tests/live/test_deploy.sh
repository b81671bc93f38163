#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What deploy/ ships. The image is run by podman as the DaemonSet's pod template says, beside a service in
# another container: ready, its metrics, a capture out of it that names the service and its pod. Each right
# is taken away once, and what is missing is said. The systemd unit, and hotrun in its sandbox.
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
KUBELET=/kubepods/burstable/pod0b5b5c1e-1111-2222-3333-444444444444
ls -d /sys/fs/cgroup/*/kubepods >/dev/null 2>&1 && skip "needs a host that is no node of Kubernetes"
link=
logs_made=
leave() {
	local group

	rm -f "$link"
	[ -z "$logs_made" ] || rmdir /var/log/containers
	pod rm -f -t 0 -a >/dev/null
	for group in /sys/fs/cgroup/*/kubepods; do
		[ -d "$group" ] && find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	leave_podman
}
trap leave EXIT

# --- the manifests ---------------------------------------------------------------------------------
if [ ! -x "$BUILD/kubectl/usr/bin/kubectl" ]; then
	mkdir -p "$BUILD/kubectl"
	(cd "$BUILD/kubectl" && apt-get download -qq kubernetes-client && dpkg-deb -x kubernetes-client_*.deb .) \
		>"$T/apt" 2>&1 || skip "needs kubectl (Debian package kubernetes-client): $(tail -1 "$T/apt")"
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
check "make image" make -s image BUILD="$BUILD" IMAGE=localhost/hotrun:test \
	CONTAINER="podman --root $NODE/var/lib/containers/storage --runroot $T/run"
size=$(pod image inspect -f '{{.Size}}' localhost/hotrun:test)
within "its size, MB" "$(awk -v s="$size" 'BEGIN { print s / 1e6 }')" 2 6
is "it starts the recorder" "$(pod image inspect -f '{{.Config.Entrypoint}} {{.Config.Cmd}}' localhost/hotrun:test)" \
	"[/hotrun] [watch]"
is "its label tells the version" "$("$HOTRUN" --version)" \
	"hotrun $(pod image inspect -f '{{index .Labels "org.opencontainers.image.version"}}' localhost/hotrun:test)"

# template CHOICES FOLDER: podman's options of the pod template in $flags, its arguments in $arguments.
# CHOICES as pod.py has them, "" = none.
template() {
	local all cut

	mapfile -t all < <(python3 tests/support/pod.py flags "$YAML" "$2" $1)
	for cut in "${!all[@]}"; do [ "${all[$cut]}" = -- ] && break; done
	flags=("${all[@]:0:cut}")
	arguments=("${all[@]:cut+1}")
}
# node NAME CHOICES [OPTION]...: the pod, as a container of that name; it has a network of its own
node() {
	local name=$1

	template "$2" "$T/of-$name"
	shift 2
	pod run -d --name "$name" --network none "${flags[@]}" "$@" localhost/hotrun:test "${arguments[@]}" >/dev/null ||
		fail "podman run: $(tail -2 "$T/podman.err")"
	inside=$(pod inspect -f '{{.State.Pid}}' "$name")
}
# once CHOICES ARGUMENT...: another command in such a pod; what it says in $T/said
once() {
	template "$1" "$T/once"
	shift
	pod run --rm --network none "${flags[@]}" localhost/hotrun:test "$@" >"$T/said" 2>&1
}
# answers PATH CODE: asked from inside of the network of the last node(); body in $T/answer
answers() {
	[ "$(nsenter -t "$inside" -n curl -s -m 5 -o "$T/answer" -w '%{http_code}' "http://127.0.0.1:9911/$1")" = "$2" ]
}
metric() { answers metrics 200 && awk -v n="$1" 'index($0, n) == 1 { print $NF; exit }' "$T/answer"; }
run_in() { pod exec "$@"; }

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

# Process 1 of some virtual machines may not be looked into, by nobody: then the node's files come by a mount.
node hotrun "" --volume "$NODE/var/log:/var/log:ro"
until_true 30 answers readyz 200 && ok "the pod becomes ready" || fail "not ready: $(cat "$T/answer") $(pod logs hotrun 2>&1 | tail -3)"
answers healthz 200 && ok "and is healthy" || fail "healthz: $(cat "$T/answer")"
is "one metric says so" "$(metric hotrun_ready)" 1
until_true 20 eval '[ "$(metric hotrun_ring_seconds | cut -d. -f1)" -ge 5 ]'
run_in hotrun hotrun trigger --before 4s --after 3s >"$T/out" 2>"$T/err"
is "trigger, by kubectl exec" $? 0
name=$(basename "$(tail -1 "$T/out")")
is "the capture is called after the node" "${name%%-2*}" node-of-the-test
run_in hotrun hotrun captures >"$T/list"
says "captures lists it" "$T/list" "$name"
run_in hotrun hotrun captures get "$name" -o - >"$T/deploy.hotrun"
is "captures get hands it out, without tar" "$(sql "$T/deploy.hotrun" 'SELECT complete FROM host')" 1
is "the folder is as the kubelet made it, the capture nobody else's" \
	"$(stat -c %a "$T/of-hotrun/var/lib/hotrun" "$T/of-hotrun/var/lib/hotrun/$name" | tr '\n' ' ')" "755 600 "
set -- $(facts managed "$T/deploy.hotrun" "$web" "$T/root/app/Shop.Web" | awk "NR == 1")
within "managed frames of the other container with a name, of $2, per cent" \
	"$(awk -v n="$1" -v t="$2" 'BEGIN { print (t > 100 ? 100 * n / t : 0) }')" 99 100
is "its pod is known" "$(sql "$T/deploy.hotrun" "SELECT namespace, pod, container_name, qos FROM process WHERE tgid = $web")" \
	"prod shop-6d5f web burstable"
set -- $(facts books "$T/deploy.hotrun")
within "nothing is lost beside a service at a fifth of a CPU: the books balance, per cent" \
	"$(awk -v c="$1" -v a="$3" 'BEGIN { print 100 * a / c }')" 98 102
is "and no sample is dropped" "$(sql "$T/deploy.hotrun" "SELECT coalesce(sum(count), 0) FROM loss JOIN loss_cause USING (cause) WHERE name LIKE '%ring-full'" 2>&1)" 0
is "hotrun writes nowhere else" "$(pod diff hotrun | grep -vE ' /(dev|proc|sys|run|etc|tmp|var)(/|$)')" ""
within "memory with that, MiB" "$(awk '/^VmHWM/ { print $2 / 1024 }' "/proc/$inside/status")" 5 200
start_s=$SECONDS
pod stop -t 30 hotrun >/dev/null
is "it ends when told" "$(pod inspect -f '{{.State.ExitCode}}' hotrun)" 0
within "soon, s" $((SECONDS - start_s)) 0 12

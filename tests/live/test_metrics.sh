#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The metrics page and the examples of deploy/prometheus, as Prometheus sees them: of a host made by hand,
# whose figures are known, and of `hotrun watch` beside a load.
# beside others, 33 s
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/groups.sh"
need_root
need_tool promtool prometheus
need_tool prometheus prometheus
need_tool curl curl
host=$BUILD/bench/metrics_host
[ -x "$host" ] || skip "needs $host (make $host)"

# lint NAME FILE: promtool finds nothing to say
lint() { is "$1" "$(promtool check metrics <"$2" 2>&1)" ""; }

# asks EXPRESSION: the first value that Prometheus gives, "" none
asks() {
	promtool query instant "http://127.0.0.1:$prometheus_port" "$1" 2>/dev/null |
		sed -nE '1s/.* => ([^ ]+) @.*/\1/p'
}

# holds EXPRESSION: Prometheus has a series for which it is true
holds() { [ -n "$(asks "$1")" ]; }

# scrape TARGET...: a Prometheus that scrapes each second, in $prometheus_port
scrape() {
	local targets

	printf -v targets '"127.0.0.1:%s",' "$@"
	cat >"$T/prometheus.yaml" <<-Y
		global: {scrape_interval: 1s, scrape_timeout: 1s}
		scrape_configs:
		  - {job_name: hotrun, static_configs: [{targets: [${targets%,}]}]}
	Y
	prometheus_port=$(free_port)
	start prometheus --config.file="$T/prometheus.yaml" --storage.tsdb.path="$T/tsdb" \
		--web.listen-address="127.0.0.1:$prometheus_port" --log.level=error
}

# The CPU time of the load by the page of hotrun watch, and by the kernel times a factor.
counted_s() {
	curl -s "http://127.0.0.1:$watch_port/metrics" |
		awk '/^hotrun_process_cpu_seconds_total{process="metricload"/ { s += $NF } END { print s + 0 }'
}
truth_s() { awk -v f="$1" -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz * f }' "/proc/$load/stat"; }
counted() { awk -v c="$(counted_s)" -v t="$(truth_s 1)" 'BEGIN { exit !(c >= t * 0.97) }'; }

# Periods of the limited program's CPU limit, and those in which it was stopped: by the page on PORT, and by the kernel.
periods_of() {
	curl -s "http://127.0.0.1:$1/metrics" | awk '
		/^hotrun_process_limit_periods_total{process="limited"/ { p = $NF }
		/^hotrun_process_limit_throttled_periods_total{process="limited"/ { t = $NF }
		END { print p + 0, t + 0 }'
}
kernel_periods() { awk '/^nr_periods/ { p = $2 } /^nr_throttled/ { t = $2 } END { print p, t }' "${GROUPS_MADE[0]}/cpu.stat"; }
# counts_periods PORT COUNT: at least so many
counts_periods() { [ "$(periods_of "$1" | cut -d' ' -f1)" -ge "$2" ]; }

# --- the examples ---
cd deploy/prometheus || exit 1
check "the scrape example is a configuration" promtool check config scrape.yaml
# Debian's Prometheus is built without discovery in Kubernetes: the rest of the file is checked.
python3 - >"$T/kubernetes.yaml" <<'P'
import re
text = open('scrape-kubernetes.yaml').read()
print(re.sub(r'    kubernetes_sd_configs:\n(?:      .*\n)+', '', text, count=1))
P
check "that of Kubernetes, too" promtool check config "$T/kubernetes.yaml"
check "the alerts are rules" promtool check rules alerts.yaml
check "each alert comes when it has to" promtool test rules alerts_test.yaml
is "each alert has a case" "$(grep -oP 'alert: \K\w+' alerts.yaml | sort)" \
	"$(grep -oP 'alertname: \K\w+' alerts_test.yaml | sort -u)"
cd ../..

# --- a host made by hand ---
start "$host" serve 127.0.0.1:0
made=$T/$started.out
until_true 10 test -s "$made" || fail "$host does not serve"
made_port=$(head -1 "$made")
curl -s "http://127.0.0.1:$made_port/metrics" >"$T/page"
lint "promtool has nothing to say about the page" "$T/page"
documented=$(grep -oE '`_?[a-z_]+`' deploy/prometheus/README.md | tr -d '`' | sort -u)
undocumented=
for family in $(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$T/page"); do
	grep -qx -e "$family" <<<"$documented" || grep -qx -e "_${family#hotrun_host_}" -e "_${family#hotrun_process_}" \
		-e "_${family#hotrun_process_accept_queue}" -e "${family#hotrun_process_accept_queue}" <<<"$documented" || undocumented+=" $family"
done
is "README.md tells of each family" "$undocumented" ""

targets=("$made_port")

# --- the recorder itself ---
watch=
if "$HOTRUN" watch --help >/dev/null 2>&1; then
	watch_port=$(free_port)
	# A step of the governor leaves a moment out.
	start "$HOTRUN" watch --dir "$T/captures" --listen "127.0.0.1:$watch_port" --budget 0 --series 200
	watch=$started
	targets+=("$watch_port")
	until_true 20 curl -sf -o /dev/null "http://127.0.0.1:$watch_port/readyz" ||
		fail "hotrun watch is not ready: $(curl -s "http://127.0.0.1:$watch_port/readyz")"
	# Another one begins where the governor has given up what it can.
	mkdir -m 700 "$T/low"
	printf 'hotrun-state 1\nlevel 4\nend\n' >"$T/low/state"
	low_port=$(free_port)
	start "$HOTRUN" watch --dir "$T/low" --listen "127.0.0.1:$low_port" --budget 0.001% --capture-on off --series 200
	until_true 20 curl -sf -o /dev/null "http://127.0.0.1:$low_port/readyz" || fail "hotrun watch at level 4 is not ready"
	# After them, so that all of its time is counted.
	cp "$LOADS/spinners" "$T/metricload" # a name that nothing else on the host has
	start "$T/metricload" 2 120
	load=$started
	group_make limited 30000
	group_first
	cp "$LOADS/spinners" "$T/limited"
	start "${in_group[@]}" "$T/limited" 2 120
	limited=$started
fi

scrape "${targets[@]}"
made_is="instance=\"127.0.0.1:$made_port\""
shop="$made_is,process=\"Shop.Api\",namespace=\"prod\",pod=\"shop-6d4cf56db6-x7k2p\",container=\"api\""
if until_true 60 holds "count_over_time(hotrun_slices_total{$made_is}[10s]) >= 8"; then
	ok "Prometheus scrapes it"
else
	fail "Prometheus does not scrape: $(asks "up{$made_is}")"
fi
# By slice: exact, whatever second it was scraped in.
by_slice() { asks "rate($1[8s]) / on(instance) rate(hotrun_slices_total{$made_is}[8s])"; }
within "CPU by role of thread" "$(by_slice "hotrun_process_cpu_seconds_total{$shop,role=\"pool-worker\"}")" 0.499 0.501
within "waits behind its own" "$(by_slice "hotrun_process_waiting_seconds_total{$shop,behind=\"own\"}")" 0.0499 0.0501
within "throttled" "$(by_slice "hotrun_process_throttled_seconds_total{$shop}")" 0.0199 0.0201
within "periods of its CPU limit in which it was stopped, of all" "$(asks "rate(hotrun_process_limit_throttled_periods_total{$shop}[8s]) / rate(hotrun_process_limit_periods_total{$shop}[8s])")" 0.399 0.401
within "requests answered" "$(by_slice "hotrun_process_requests_total{$shop,port=\"8080\",result=\"answered\"}")" 10.99 11.01
within "run delay" "$(asks "histogram_quantile(0.5, hotrun_process_run_delay_seconds_bucket{$shop})")" 0.001024 0.004096
within "time of requests" "$(asks "histogram_quantile(0.5, hotrun_process_request_duration_seconds_bucket{$shop,port=\"8080\"})")" 0.004096 0.016384
is "open requests" "$(asks "hotrun_process_requests_open{$shop}")" 2
is "the verdict of a process" "$(asks "hotrun_process_verdict{$made_is,process=\"batch\",verdict=\"starved\"}")" 1
is "of the host" "$(asks "hotrun_host_verdict{$made_is,verdict=\"starved\"}")" 1
is "features" "$(asks "sum(hotrun_feature_enabled{$made_is})")" 8
is "series of a hurt process" "$(asks "count(hotrun_process_hurt{$made_is} == 1)")" 1

if [ -n "$watch" ]; then
	watch_is="instance=\"127.0.0.1:$watch_port\""
	curl -s "http://127.0.0.1:$watch_port/metrics" >"$T/watch_page"
	lint "promtool has nothing to say about hotrun watch" "$T/watch_page"
	until_true 60 holds "count_over_time(hotrun_slices_total{$watch_is}[15s]) >= 12" || fail "hotrun watch is not scraped"
	is "it is ready" "$(asks "hotrun_ready{$watch_is}")" 1
	cpus=$(nproc)
	within "CPU time of the host by mode adds up" \
		"$(asks "sum(rate(hotrun_host_cpu_seconds_total{$watch_is}[12s])) / $cpus")" 0.85 1.15
	within "processes add up to the host" \
		"$(asks "sum(rate(hotrun_process_cpu_seconds_total{$watch_is}[12s])) / sum(rate(hotrun_host_cpu_seconds_total{$watch_is,mode=\"busy\"}[12s]))")" 0.8 1.1
	is "its own series" "$(asks "count(hotrun_process_processes{$watch_is,process=\"metricload\"})")" 1
	# What its limit stops serves nothing: told, and no alarm. It is judged every ten seconds.
	until_true 20 holds "hotrun_process_verdict{$watch_is,process=\"limited\",verdict=\"contended\"}" ||
		fail "not contended: $(asks "hotrun_process_verdict{$watch_is}")"
	is "who is contended is not hurt" "$(asks "hotrun_process_hurt{$watch_is,process=\"limited\"}")" 0
	# Stopped, its CPU time stands still: the kernel's own figure of it is what has to be counted.
	kill -STOP "$load"
	until_true 10 counted || true
	within "all CPU time of the load was counted" "$(counted_s)" "$(truth_s 0.97)" "$(truth_s 1.03)"
	kill -CONT "$load"
	for port in "$watch_port" "$low_port"; do
		until_true 20 counts_periods "$port" 40 || fail "periods of the limit: $(periods_of "$port")"
	done
	kill -STOP "$limited"
	is "the level that was left" "$(curl -s "http://127.0.0.1:$low_port/metrics" | grep -E '^hotrun_(governor_level|full_gear)' | tr '\n' ' ')" \
		'hotrun_governor_level 4 hotrun_full_gear 0 '
	for port in "$watch_port" "$low_port"; do
		set -- $(kernel_periods)
		# What was before the first look, and is since the last one, is not counted: of a second each.
		until_true 5 counts_periods "$port" $(($1 - 30)) || true
		told=$(periods_of "$port")
		set -- $(kernel_periods) $told
		within "periods of a CPU limit are the kernel's, of $1" "$3" $(($1 - 30)) "$1"
		within "and so are those in which it was stopped, of $2" "$4" $(($2 - 30)) "$2"
		within "nearly all of them" "$(awk -v t="$4" -v p="$3" 'BEGIN { print t / p }')" 0.9 1
	done
	is "captures are not served" "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$watch_port/captures")" 404
else
	echo "# no hotrun watch in this build: the host made by hand alone"
fi

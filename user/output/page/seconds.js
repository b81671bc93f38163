/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * What is known by slice of about a second: CPU, waiting, requests, of the host and of processes;
 * which slices a time means; samples by second and fiftieth of it. Pure.
 */
const Seconds = (() => {
	const SLOW_SHARE = 0.1; /* domain: a tenth of the requests is a service that is slow */

	function zeros(capture) {
		return new Float64Array(capture.slices.count);
	}

	/* Requests by slice of a process (index), or of all. */
	function requests(capture, process) {
		const r = {answered: zeros(capture), slow: zeros(capture), late: zeros(capture),
			stuck: zeros(capture), any: false};
		const s = capture.services;

		for (let i = 0; i < s.count; i++) {
			if (process !== null && capture.endpoints[s.endpoint[i]].process !== process)
				continue;
			r.any = true;
			r.answered[s.slice[i]] += s.answered[i];
			r.slow[s.slice[i]] += s.slow[i];
			r.late[s.slice[i]] += s.late[i];
			r.stuck[s.slice[i]] += s.stuck[i];
		}
		return r;
	}

	/* CPUs, and threads that waited, by slice: means. */
	function host(capture) {
		const s = capture.slices, cpu = zeros(capture), steal = zeros(capture);
		const waiting = zeros(capture), throttled = zeros(capture);

		for (let i = 0; i < s.count; i++) {
			const ns = Math.max(1, s.lengthNs[i]);

			cpu[i] = Math.max(0, s.elapsedNs[i] - s.idleNs[i]) / ns;
			steal[i] = s.stealNs[i] / ns;
			waiting[i] = s.waitedNs[i] / ns;
			throttled[i] = s.throttledNs[i] / ns;
		}
		return {cpu, steal, waiting, throttled};
	}

	/* The same of a process; null where it is none of those with a row a second. */
	function ofProcess(capture, process) {
		const a = capture.accounts, cpu = zeros(capture), waiting = zeros(capture);
		const throttled = zeros(capture);
		let any = false;

		for (let i = 0; i < a.count; i++) {
			if (a.process[i] !== process)
				continue;
			const us = Math.max(1, capture.slices.lengthNs[a.slice[i]] / 1000);

			any = true;
			cpu[a.slice[i]] += a.onCpuUs[i] / us;
			waiting[a.slice[i]] += a.waitedUs[i] / us;
			throttled[a.slice[i]] += a.throttledUs[i] / us;
		}
		return any ? {cpu, waiting, throttled} : null;
	}

	/* All series; those of processes are made when they are asked for. */
	function make(capture) {
		const s = capture.slices;

		return {
			capture, count: s.count, host: host(capture),
			startS: Float64Array.from(s.startNs, (ns) => ns / 1e9),
			endS: Float64Array.from(s.startNs, (ns, i) => (ns + s.lengthNs[i]) / 1e9),
			requests: new Map(), processes: new Map(),
		};
	}

	function requestsOf(seconds, process) {
		if (!seconds.requests.has(process))
			seconds.requests.set(process, requests(seconds.capture, process));
		return seconds.requests.get(process);
	}

	function processOf(seconds, process) {
		if (process === null)
			return null;
		if (!seconds.processes.has(process))
			seconds.processes.set(process, ofProcess(seconds.capture, process));
		return seconds.processes.get(process);
	}

	/* Slow share of the requests of a slice, 0 without any. */
	function slowShare(r, i) {
		const judged = r.answered[i] + r.late[i];

		return judged ? (r.slow[i] + r.late[i]) / judged : 0;
	}

	/* A tenth or more of the requests were slow there: of that process where it has any, else of
	 * all. */
	function isSlow(seconds, process, i) {
		const own = process === null ? null : requestsOf(seconds, process);
		const r = own && own.any ? own : requestsOf(seconds, null);

		return slowShare(r, i) >= SLOW_SHARE;
	}

	/* --- spans ------------------------------------------------------------------------------- */

	/* The slices that overlap a stretch of time, as window_of() has it; null without any. */
	function slicesOf(seconds, fromS, toS) {
		let first = -1, last = -1;

		for (let i = 0; i < seconds.count; i++) {
			if (seconds.startS[i] >= toS || seconds.endS[i] <= fromS)
				continue;
			if (first < 0)
				first = i;
			last = i;
		}
		return first < 0 ? null : {kind: 'slices', first, last};
	}

	/* Where a span begins and ends, in seconds. */
	function bounds(seconds, span) {
		const slotS = seconds.capture.slotNs / 1e9;

		if (!span)
			return {from: 0, to: length(seconds)};
		return span.kind === 'slices'
			? {from: seconds.startS[span.first], to: seconds.endS[span.last]}
			: {from: span.first * slotS, to: (span.last + 1) * slotS};
	}

	function length(seconds) {
		return Math.max(seconds.capture.host.durationNs / 1e9, seconds.count
			? seconds.endS[seconds.count - 1] : 0);
	}

	/* Of whole slices are what has no finer time: slices that a span touches. */
	function touched(seconds, span) {
		if (!span)
			return seconds.count ? {first: 0, last: seconds.count - 1} : null;
		const {from, to} = bounds(seconds, span);

		return span.kind === 'slices' ? span : slicesOf(seconds, from, to);
	}

	/* Weight of samples in each slot of each second: {seconds, slots, weight, most}. */
	function heat(capture, selection) {
		const slots = Math.round(1e9 / capture.slotNs), s = selection.samples;
		const last = s.count ? s.slot[s.count - 1] : 0;
		const weight = new Float64Array((Math.floor(last / slots) + 1) * slots);
		let most = 0;

		for (let i = selection.from; i < selection.to; i++) {
			const sum = weight[s.slot[i]] += Selection.weigh(selection, i);

			if (sum > most)
				most = sum;
		}
		return {seconds: weight.length / slots, slots, weight, most};
	}

	/* --- tables of a span -------------------------------------------------------------------- */

	/* Seconds that these slices make up. */
	function spanSeconds(seconds, slices) {
		let s = 0;

		for (let i = slices.first; i <= slices.last; i++)
			s += seconds.endS[i] - seconds.startS[i];
		return s;
	}

	/* The time that a share of answers did not exceed, ns, within its slot in proportion. */
	function quantile(times, bounds, share, longestNs) {
		const all = times.reduce((n, c) => n + c, 0);
		let left = share * all;

		for (let slot = 0; all && slot < times.length; slot++) {
			if (times[slot] && left <= times[slot])
				return Math.min(longestNs, bounds[slot] +
					(bounds[slot + 1] - bounds[slot]) * left / times[slot]);
			left -= times[slot];
		}
		return all ? longestNs : 0;
	}

	/* Requests by process and port in a span: [{endpoint, answered, perSecond, slow, late, stuck,
	 * abandoned, refused, p50Ns, p99Ns, longestNs, meanNs}], most first. */
	function ports(seconds, span) {
		const capture = seconds.capture, slices = touched(seconds, span), rows = new Map();

		if (!slices)
			return [];
		const get = (endpoint) => {
			const e = capture.endpoints[endpoint], key = e.pid + ' ' + e.port;

			if (!rows.has(key))
				rows.set(key, {endpoint: e, answered: 0, slow: 0, abandoned: 0, refused: 0, timeUs: 0,
					longestNs: 0, stuck: 0, late: 0, open: 0,
					times: new Float64Array(capture.responseSlotsNs.length - 1)});
			return rows.get(key);
		};
		const s = capture.services, r = capture.responses;

		for (let i = 0; i < s.count; i++) {
			if (s.slice[i] < slices.first || s.slice[i] > slices.last)
				continue;
			const row = get(s.endpoint[i]);

			for (const figure of ['answered', 'slow', 'abandoned', 'refused', 'timeUs'])
				row[figure] += s[figure][i];
			row.longestNs = Math.max(row.longestNs, s.longestUs[i] * 1000);
			row.stuck = Math.max(row.stuck, s.stuck[i]);
			row.late = s.late[i];
			row.open = s.open[i];
		}
		for (let i = 0; i < r.count; i++)
			if (r.slice[i] >= slices.first && r.slice[i] <= slices.last)
				get(r.endpoint[i]).times[r.slot[i]] += r.answers[i];
		const elapsed = spanSeconds(seconds, slices) || 1;

		return [...rows.values()].map((row) => Object.assign(row, {
			perSecond: row.answered / elapsed,
			meanNs: row.answered ? row.timeUs * 1000 / row.answered : 0,
			p50Ns: quantile(row.times, capture.responseSlotsNs, 0.5, row.longestNs),
			p99Ns: quantile(row.times, capture.responseSlotsNs, 0.99, row.longestNs),
		})).sort((a, b) => b.answered - a.answered);
	}

	/* Who waited for whom in a span: [{waiter, runner: index or -1, weight: mean waiting
	 * threads}], most first. Behind its own threads is nobody's doing but its own, and told elsewhere;
	 * of others it is not known who waited for whom. */
	function waits(seconds, span) {
		const capture = seconds.capture, c = capture.contention, rows = new Map();
		const slices = touched(seconds, span);

		for (let i = 0; slices && i < c.count; i++) {
			if (c.slice[i] < slices.first || c.slice[i] > slices.last ||
			    c.waiter[i] === c.runner[i])
				continue;
			const key = c.waiter[i] + ' ' + c.runner[i];

			if (!rows.has(key))
				rows.set(key, {waiter: c.waiter[i] - 1, runner: c.runner[i] - 1, weight: 0});
			rows.get(key).weight += c.weight[i] / 1000;
		}
		const ticks = slices ? spanSeconds(seconds, slices) * capture.host.hz : 1;

		return [...rows.values()].map((row) => Object.assign(row, {weight: row.weight / ticks}))
			.sort((a, b) => b.weight - a.weight);
	}

	/* CPU and waiting by process in a span: [{process, cpu, waiting, throttled}] mean threads. */
	function processes(seconds, span) {
		const capture = seconds.capture, a = capture.accounts, rows = new Map();
		const slices = touched(seconds, span);
		const us = slices ? 1e6 * spanSeconds(seconds, slices) : 1;

		for (let i = 0; slices && i < a.count; i++) {
			if (a.slice[i] < slices.first || a.slice[i] > slices.last)
				continue;
			if (!rows.has(a.process[i]))
				rows.set(a.process[i], {process: a.process[i], cpu: 0, waiting: 0, throttled: 0});
			const row = rows.get(a.process[i]);

			row.cpu += a.onCpuUs[i] / us;
			row.waiting += a.waitedUs[i] / us;
			row.throttled += a.throttledUs[i] / us;
		}
		return [...rows.values()].sort((x, y) => y.cpu - x.cpu);
	}

	return {make, requestsOf, processOf, slowShare, isSlow, slicesOf, bounds, length,
		touched, heat, ports, waits, processes};
})();

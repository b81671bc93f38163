/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * Which samples are looked at, and what each weighs. A selection is {from, to: positions among the
 * samples of its weight; threads: a byte each, or null for all; weigh: by position}. A span of time
 * is null (all), {kind: 'slices'} or {kind: 'slots'} with first and last, both included; one of
 * slices has exactly the samples of hotrun report --from --to. Pure.
 */
const Selection = (() => {
	const WEIGHTS = ['cpu', 'harm', 'slow', 'blocked'];

	/* Samples of what a weight counts. */
	function samplesOf(capture, weight) {
		return weight === 'blocked' ? capture.blocked : capture.cpu;
	}

	/* The first position whose slot is at least that. */
	function firstAt(samples, slot) {
		let low = 0, high = samples.count;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (samples.slot[middle] < slot)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	function range(capture, weight, span) {
		const samples = samplesOf(capture, weight);
		const name = weight === 'blocked' ? 'blocked' : 'cpu';

		if (!span)
			return {from: 0, to: samples.count};
		if (span.kind === 'slices')
			return {from: capture.slices[name + 'From'][span.first],
				to: capture.slices[name + 'To'][span.last]};
		return {from: firstAt(samples, span.first), to: firstAt(samples, span.last + 1)};
	}

	/* What a process has to say of where it runs. */
	function places(process) {
		return [process.container, process.pod, process.namespace, process.unit, process.cgroup,
			process.workload].filter(Boolean);
	}

	/* Rules {kind: 'process'|'thread'|'role'|'place', test(text)}; those of one kind add up, kinds
	 * restrict each other. A byte for each thread, or null where there are none. */
	function threadsOf(capture, process, rules) {
		const t = capture.threads;
		const kinds = new Map();

		for (const rule of rules)
			kinds.set(rule.kind, [...(kinds.get(rule.kind) || []), rule.test]);
		if (process === null && !kinds.size)
			return null;
		const ask = {
			process: (p) => [p.name, p.comm, p.pid ? String(p.pid) : ''],
			place: places,
			thread: (p, i) => [t.name[i], String(t.tid[i])],
			role: (p, i) => [t.role[i]],
		};
		const mask = new Uint8Array(t.count);

		for (let i = 0; i < t.count; i++) {
			const p = capture.processes[t.process[i]];

			mask[i] = (process === null || p.index === process) && [...kinds].every(([kind, tests]) =>
				tests.some((test) => ask[kind](p, i).some(test))) ? 1 : 0;
		}
		return mask;
	}

	/* By slice: requests were slow there, of a process or (null) of any. */
	function slowSlices(capture, process, seconds) {
		const slow = new Uint8Array(capture.slices.count);

		for (let i = 0; i < slow.length; i++)
			slow[i] = Seconds.isSlow(seconds, process, i) ? 1 : 0;
		return slow;
	}

	/* options: {weight, span, process: index or null, rules, slow: slowSlices() for that weight}. */
	function make(capture, options) {
		const samples = samplesOf(capture, options.weight);
		const {from, to} = range(capture, options.weight, options.span);

		return {
			weight: options.weight, samples, from, to,
			threads: threadsOf(capture, options.process, options.rules),
			slow: options.weight === 'slow' ? bySample(capture, options.slow) : null,
		};
	}

	function bySample(capture, slow) {
		const mask = new Uint8Array(capture.cpu.count);

		for (let i = 0; i < slow.length; i++)
			if (slow[i])
				mask.fill(1, capture.slices.cpuFrom[i], capture.slices.cpuTo[i]);
		return mask;
	}

	/* What the sample at a position weighs in a selection; 0 = it is none of it. */
	function weigh(s, i) {
		if (s.threads && !s.threads[s.samples.thread[i]])
			return 0;
		if (s.weight === 'harm')
			return s.samples.waiters[i] > 1 ? (s.samples.waiters[i] - 1) * s.samples.weight[i] : 0;
		if (s.slow && !s.slow[i])
			return 0;
		return s.samples.weight[i];
	}

	/* Weight of each node of the stacks by itself; into: an array for it, to be written over. */
	function byNode(capture, s, into) {
		const self = into.fill(0);

		for (let i = s.from; i < s.to; i++)
			self[s.samples.node[i]] += weigh(s, i);
		return self;
	}

	/* Weight by thread. */
	function byThread(capture, s) {
		const sums = new Float64Array(capture.threads.count);

		for (let i = s.from; i < s.to; i++)
			sums[s.samples.thread[i]] += weigh(s, i);
		return sums;
	}

	function sum(s) {
		let n = 0;

		for (let i = s.from; i < s.to; i++)
			n += weigh(s, i);
		return n;
	}

	return {WEIGHTS, make, weigh, byNode, byThread, sum, slowSlices};
})();

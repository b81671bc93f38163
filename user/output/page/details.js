/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * What the page tells about one frame: the strip below the graph and the tip at the pointer. shown:
 * of Shown; its tree may be one of merged nodes, whose threads are not told.
 */
const Details = (() => {
	const KIND_TEXT = {
		application: 'JIT, application', jit: 'JIT, framework or library',
		image: 'precompiled .NET image', native: 'native', kernel: 'kernel',
		stub: 'runtime stub', unknown: 'unknown code', note: 'note, no code',
		process: 'process', root: 'whole capture',
	};
	const TOTAL_NAME = {cpu: 'Samples', slow: 'Samples', harm: 'Waited meanwhile', blocked: 'Blocked'};

	/* The figures of a node, ready to show. */
	function describe(shown, node) {
		const {capture, tree} = shown;
		const symbol = capture.symbols[tree.symbol[node]];
		const processNode = Tree.processNode(capture, tree, node);
		const reason = symbol.reason ? capture.reasons[symbol.reason] : null;

		return {
			symbol,
			style: Capture.styleOf(symbol),
			weight: shown.weight,
			total: tree.total[node],
			self: tree.self[node],
			process: capture.symbols[tree.symbol[processNode]],
			processTotal: tree.total[processNode],
			all: shown.all,
			switchesOff: Boolean(capture.host.switchesOff),
			cpuSeconds: capture.host.hz ? tree.total[node] / capture.host.hz : 0,
			reason: reason ? reason.text : '',
			remedy: reason ? reason.remedy : '',
		};
	}

	function moduleText(d) {
		return d.symbol.module && d.symbol.module !== d.symbol.name ? d.symbol.module : '';
	}

	function tierText(d) {
		const frames = d.symbol.tiers.reduce((n, t) => n + t.frames, 0);

		return d.symbol.tiers.map((t) => d.symbol.tiers.length === 1 ? t.name
			: t.name + ' ' + Format.percent(t.frames, frames)).join(', ');
	}

	/* When a node was seen, in seconds since the start. */
	function seenText(shown, seen) {
		const slotS = shown.capture.slotNs / 1e9;

		return seen.last < 0 ? '' : (seen.first * slotS).toFixed(1) + '–' +
			((seen.last + 1) * slotS).toFixed(1) + ' s';
	}

	/* [label, value] pairs of the strip. */
	function facts(shown, d, node) {
		const isCpu = d.weight === 'cpu' || d.weight === 'slow';
		const list = [[TOTAL_NAME[d.weight], Format.amount(d.total)]];

		if (d.symbol.kind !== Capture.KIND.ROOT && d.process.kind === Capture.KIND.PROCESS &&
		    d.symbol !== d.process)
			list.push(['of the process', Format.share(d.total, d.processTotal)]);
		list.push(['of all', Format.share(d.total, d.all)]);
		list.push(['Self', Format.amount(d.self) + ' (' + Format.percent(d.self, d.total) + ' of it)']);
		if (shown.both)
			return [...list, ...Changes.facts(shown, shown.tree.id[node]), ['Kind', KIND_TEXT[d.style]],
				...(moduleText(d) ? [['Module', moduleText(d)]] : [])];
		if (isCpu)
			list.push(['CPU time ≈', Format.seconds(d.cpuSeconds)]);
		if (d.symbol.process && isCpu && !shown.span)
			list.push([d.switchesOff ? 'CPU time by the kernel' : 'CPU time by switches',
				Format.seconds(d.symbol.process.onCpuNs / 1e9)]);
		if (shown.tree.id[node] >= 0) {
			const seen = shown.seenAt(shown.tree.id[node]);

			list.push(['Threads', Format.count(seen.threads)]);
			list.push(['Seen', seenText(shown, seen)]);
		}
		list.push(['Kind', KIND_TEXT[d.style]]);
		if (d.symbol.process && d.symbol.process.place)
			list.push(['Runs in', d.symbol.process.place]);
		if (moduleText(d))
			list.push(['Module', moduleText(d)]);
		if (d.symbol.tiers.length)
			list.push(['Tier', tierText(d)]);
		if (d.symbol.later)
			list.push(['Named later', Format.plural(d.symbol.later, 'frame')]);
		return list;
	}

	function fillStrip(strip, shown, node) {
		const d = describe(shown, node);
		const raw = d.symbol.raw !== d.symbol.name ? d.symbol.raw : '';

		Dom.fill(strip.title, Dom.make('bdi', '', d.symbol.name));
		Dom.fill(strip.raw, Dom.make('bdi', '', raw));
		strip.raw.hidden = !raw;
		strip.reason.textContent = d.reason ? 'No name: ' + d.reason +
			(d.remedy ? ' → ' + d.remedy : '') : '';
		strip.reason.hidden = !d.reason;
		Dom.fill(strip.facts, ...facts(shown, d, node).map(([term, value]) =>
			Dom.make('div', '', Dom.make('dt', '', term),
				 Dom.make('dd', '', Dom.make('bdi', '', value)))));
	}

	/* One line: share, samples, self, threads. */
	function figures(shown, d, node) {
		const inProcess = d.process.kind === Capture.KIND.PROCESS && d.symbol !== d.process;
		const share = inProcess
			? Format.share(d.total, d.processTotal) + ' of ' + d.process.name
			: Format.share(d.total, d.all) + ' of all';

		if (shown.both)
			return [share, Format.weight(d.total), ...Changes.facts(shown, shown.tree.id[node])
				.map(([what, text]) => what.toLowerCase() + ' ' + text)].join(' · ');
		return [share, Format.weight(d.total),
			'self ' + Format.percent(d.self, inProcess ? d.processTotal : d.all),
			shown.tree.id[node] >= 0 ? Format.plural(shown.seenAt(shown.tree.id[node]).threads, 'thread') : '']
			.filter(Boolean).join(' · ');
	}

	function sentence(shown, node) {
		const d = describe(shown, node);

		return d.symbol.name + ', ' + figures(shown, d, node);
	}

	function fillTip(tip, shown, node) {
		const d = describe(shown, node);
		const lines = [Dom.make('div', 'name', Dom.make('bdi', '', d.symbol.name)),
			Dom.make('div', 'figures', figures(shown, d, node)),
			Dom.make('div', 'figures', [KIND_TEXT[d.style], moduleText(d), tierText(d)]
				.filter(Boolean).join(' · '))];

		if (d.reason)
			lines.push(Dom.make('div', '', 'No name: ' + d.reason));
		Dom.fill(tip, ...lines);
	}

	/* Beside the pointer, inside the window. */
	function placeTip(tip, x, y) {
		const gap = 14;

		tip.hidden = false;
		const w = tip.offsetWidth, h = tip.offsetHeight;
		const left = Math.max(4, Math.min(x + gap, window.innerWidth - w - 4));
		const top = y + gap + h > window.innerHeight ? Math.max(4, y - gap - h) : y + gap;

		tip.style.left = left + 'px';
		tip.style.top = top + 'px';
	}

	return {KIND_TEXT, fillStrip, fillTip, placeTip, sentence};
})();

/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * What colour a frame has: by what it is, its assembly, its tier, or the role of the threads in it.
 * flame.css has the colours, for light and dark; colour-blind eyes tell them apart, too.
 */
const Colours = (() => {
	const SHADES = 5; /* of a kind, so that neighbours of other modules differ */
	const HUES = 8; /* of flame.css: --hue-0 .. */
	const ROUNDS = 3;
	const ROLES_MAX = 16; /* told apart; the others are one */
	const OTHER = 'other';
	const KINDS = ['application', 'jit', 'image', 'native', 'kernel', 'stub', 'unknown', 'note', 'process',
		'root'];
	/* Tiers in the order in which a method goes through them backwards: those that stay come first,
	 * so that they have the same colour in every capture. */
	const TIERS = [/^OptimizedTier1$/, /^Optimized$/, /^PreJIT/, /^(QuickJitted|Tier0|MinOpt)/, /OSR$/];

	function hash(text) {
		let h = 0;

		for (let i = 0; i < text.length; i++)
			h = (h * 31 + text.charCodeAt(i)) | 0;
		return Math.abs(h);
	}

	/* "hue saturation lightness", a little lighter or darker. */
	function shade(hsl, step, of) {
		const [h, s, l] = hsl.split(/\s+/).map(Number);

		return `hsl(${h} ${s}% ${(l + (step - (of - 1) / 2) * 1.6).toFixed(1)}%)`;
	}

	function value(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	}

	function readTheme() {
		return {
			kinds: new Map(KINDS.map((k) => [k, Array.from({length: SHADES}, (_, i) =>
				shade(value('--kind-' + k), i, SHADES))])),
			hues: Array.from({length: HUES}, (_, i) => value('--hue-' + i)),
			changes: [...['3', '2', '1'].map((n) => value('--fell-' + n)), value('--kind-unknown'),
				...['1', '2', '3'].map((n) => value('--grew-' + n))].map((hsl) => shade(hsl, 0, 1)),
			middle: Number(value('--hue-middle')),
			plain: value('--kind-unknown'),
		};
	}

	function kindFill(theme, symbol) {
		return theme.kinds.get(Capture.styleOf(symbol))[hash(symbol.module) % SHADES];
	}

	/* Names in the order of their weight, as hues; where there are more of them than hues, again, less
	 * light or dark; the last ones share the grey. */
	function hues(theme, names) {
		const of = new Map();

		names.forEach((name, i) => {
			const round = Math.floor(i / HUES), hue = theme.hues[i % HUES];

			of.set(name, round < ROUNDS ? paler(hue, round, theme.middle) : shade(theme.plain, 0, 1));
		});
		return of;
	}

	function paler(hsl, round, middle) {
		const [h, s, l] = hsl.split(/\s+/).map(Number);

		return `hsl(${h} ${s - 12 * round}% ${(l + (middle - l) * 0.4 * round).toFixed(1)}%)`;
	}

	function tierOf(symbol) {
		return symbol.tiers.length ? symbol.tiers[0].name : '';
	}

	/* The role that most of the weight through each node of the stacks has. */
	function roles(shown) {
		const {capture, folded, selection} = shown, {parent, count} = folded.stacks;
		const sums = Selection.byThread(capture, selection), byRole = new Map();

		sums.forEach((n, i) => byRole.set(capture.threads.role[i],
			(byRole.get(capture.threads.role[i]) || 0) + n));
		const names = [...byRole].filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1])
			.slice(0, ROLES_MAX).map(([name]) => name);
		const number = Int32Array.from(capture.threads.role, (r) => names.indexOf(r));
		const most = new Float64Array(count), best = new Int8Array(count).fill(-1);

		for (let role = 0; role < names.length; role++) {
			const weight = new Float64Array(count);

			for (let i = selection.from; i < selection.to; i++) {
				const node = selection.samples.node[i], id = folded.own ? folded.own[node] : node;

				if (number[selection.samples.thread[i]] === role && id >= 0)
					weight[id] += Selection.weigh(selection, i);
			}
			for (let n = count - 1; n >= 0; n--) {
				if (!weight[n])
					continue;
				if (n)
					weight[parent[n]] += weight[n];
				if (weight[n] > most[n]) {
					most[n] = weight[n];
					best[n] = role;
				}
			}
		}
		return {names, best};
	}

	/* by: 'kind', 'assembly', 'tier', 'role', or of a difference 'change'. */
	function make(shown, by) {
		const {capture, folded, sums} = shown;
		const c = {capture, by, theme: readTheme(), hues: null, roles: null};

		if (by === 'assembly') {
			c.hues = hues(c.theme, [...Tree.selfBy(folded.stacks, sums, Tree.within(folded.stacks, 0),
				(row) => capture.symbols[row].module)]
				.sort((a, b) => b[1] - a[1]).map(([name]) => name).filter(Boolean));
		} else if (by === 'tier') {
			const names = [...new Set(capture.symbols.map(tierOf))].filter(Boolean).sort();

			const rank = (name) => (TIERS.findIndex((t) => t.test(name)) + TIERS.length + 1) % (TIERS.length + 1);

			c.hues = hues(c.theme, names.sort((a, b) => rank(a) - rank(b)));
		} else if (by === 'role') {
			c.roles = roles(shown);
			c.hues = hues(c.theme, c.roles.names);
		}
		if (by === 'change')
			c.step = shown.step;
		return c;
	}

	/* How a step of a change (-3 .. 3) is shown. */
	function changeFill(c, step) {
		return c.theme.changes[step + 3];
	}

	/* What a frame is in that colouring; node: of the stacks, -1 where it is of several. */
	function key(c, row, node) {
		const symbol = c.capture.symbols[row];

		if (!Capture.isCode(symbol) && c.by !== 'role')
			return Capture.styleOf(symbol);
		if (c.by === 'assembly')
			return symbol.module;
		if (c.by === 'tier')
			return tierOf(symbol) || OTHER;
		if (c.by === 'role' && c.roles)
			return node >= 0 && c.roles.best[node] >= 0 ? c.roles.names[c.roles.best[node]] : OTHER;
		return Capture.styleOf(symbol);
	}

	function fill(c, row, node) {
		const symbol = c.capture.symbols[row];

		if (c.step && node >= 0)
			return changeFill(c, c.step(node));
		if (!c.hues || (!Capture.isCode(symbol) && c.by !== 'role'))
			return kindFill(c.theme, symbol);
		return c.hues.get(key(c, row, node)) || shade(c.theme.plain, 2, SHADES);
	}

	return {make, fill, key, changeFill, KINDS};
})();

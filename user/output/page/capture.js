/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The data block (format: flame.h) as symbols, processes and trees. A tree is a set of flat arrays
 * in preorder: the subtree of node i is i .. end[i] - 1, node 0 is the root.
 */
const Capture = (() => {
	const VERSION = 1;
	/* enum model_kind, then what only this page knows. */
	const KIND = {UNKNOWN: 0, KERNEL: 1, NATIVE: 2, JIT: 3, STUB: 4, IMAGE: 5, NOTE: 6,
		PROCESS: 7, ROOT: 8};

	/* What a stack trace calls a method: get_Total of "int32 [Shop] Order::get_Total()". */
	function memberOf(raw) {
		const match = /::([^(]+)/.exec(raw);

		return match ? match[1] : '';
	}

	function readSymbols(data) {
		const strings = data.strings.map(Format.visible);
		const s = data.symbols;

		return s.name.map((name, i) => ({
			name: strings[name] || '[unnamed]',
			raw: strings[s.raw[i]],
			member: memberOf(strings[s.raw[i]]),
			module: strings[s.module[i]],
			kind: s.kind[i],
			reason: s.reason[i],
			application: s.application[i] === 1,
			later: s.later[i],
			tiers: (s.tiers[i] || []).map(([tier, frames]) => ({name: strings[tier], frames})),
		}));
	}

	function readProcess(p, index) {
		const place = [p.container, p.unit].filter(Boolean).map(Format.visible);

		return Object.assign({}, p, {
			index,
			name: Format.visible(p.name || p.comm) || '[unnamed]',
			comm: Format.visible(p.comm),
			place: place.join(' · '),
		});
	}

	/* Ever shorter forms of a symbol's name; file names and addresses have but one. */
	function shortForms(symbol) {
		const managed = symbol.kind === KIND.JIT || symbol.kind === KIND.IMAGE;

		if (symbol.reason || symbol.name === symbol.module ||
		    !(managed || symbol.kind === KIND.NATIVE))
			return [symbol.name];
		return Format.shortForms(symbol.name, managed ? '.' : '::');
	}

	/* Frames of the page's own: the processes and the whole. */
	function ownSymbol(name, kind) {
		return {name, raw: name, member: '', module: '', kind, reason: 0, application: false, later: 0,
			tiers: []};
	}

	function read(text) {
		const data = JSON.parse(text);

		if (data.format !== 'hotrun-flame' || data.version !== VERSION)
			throw new Error('the data block is not of version ' + VERSION);
		const capture = {
			host: data.host,
			samples: data.samples,
			blocked: data.blocked === true,
			idle: data.idle === true,
			ticksPerSample: data.host.ticksPerSample || 1,
			cut: data.cut,
			books: data.books,
			losses: data.losses,
			reasons: data.reasons,
			first: data.first,
			rawNames: data.rawNames === true,
			justMyCode: data.justMyCode === true,
			symbols: readSymbols(data),
			processes: data.processes.map(readProcess),
			trees: new Map(),
		};
		capture.ownFirst = capture.symbols.length;
		for (const p of capture.processes)
			capture.symbols.push(Object.assign({process: p},
				ownSymbol(p.name + ' (' + p.pid + ')', KIND.PROCESS)));
		capture.symbols.push(ownSymbol('All processes', KIND.ROOT));
		return capture;
	}

	function emptyTree(count) {
		return {
			count,
			symbol: new Uint32Array(count),
			depth: new Uint16Array(count),
			/* Milliseconds of many blocked threads are more than 32 bits have. */
			total: new Float64Array(count),
			self: new Float64Array(count),
			threads: new Uint32Array(count),
			parent: new Int32Array(count).fill(-1),
			end: new Uint32Array(count),
			start: new Float64Array(count),
		};
	}

	/* Copies a process and its nodes in at node `at`; returns the node after them. */
	function putProcess(capture, tree, at, process, depth) {
		const nodes = process.nodes;

		tree.symbol[at] = capture.ownFirst + process.index;
		tree.depth[at] = depth;
		tree.total[at] = process.samples;
		tree.threads[at] = process.threads;
		at++;
		tree.symbol.set(nodes.symbol, at);
		tree.total.set(nodes.total, at);
		tree.threads.set(nodes.threads, at);
		for (let i = 0; i < nodes.depth.length; i++)
			tree.depth[at + i] = nodes.depth[i] + depth + 1;
		return at + nodes.depth.length;
	}

	/* Parents, ends, self and positions (in samples) from depths and totals. */
	function link(tree) {
		const open = []; /* open[depth] = the node whose children come now */
		const cursor = []; /* where its next child starts */

		for (let i = 0; i < tree.count; i++) {
			const depth = tree.depth[i];

			for (let d = open.length - 1; d >= depth; d--)
				tree.end[open[d]] = i;
			open.length = depth;
			if (depth) {
				const parent = open[depth - 1];

				tree.parent[i] = parent;
				tree.start[i] = cursor[depth - 1];
				cursor[depth - 1] += tree.total[i];
				tree.self[parent] -= tree.total[i];
			}
			open[depth] = i;
			cursor[depth] = tree.start[i];
			tree.self[i] = tree.total[i];
		}
		for (const i of open)
			tree.end[i] = tree.count;
		return tree;
	}

	function makeTree(capture, processes, all) {
		const nodes = processes.reduce((n, p) => n + 1 + p.nodes.depth.length, 0);
		const tree = emptyTree(nodes + (all ? 1 : 0));
		let at = 0;

		if (all) {
			tree.symbol[0] = capture.symbols.length - 1;
			tree.total[0] = capture.samples;
			tree.threads[0] = processes.reduce((n, p) => n + p.threads, 0);
			at = 1;
		}
		for (const p of processes)
			at = putProcess(capture, tree, at, p, all ? 1 : 0);
		return link(tree);
	}

	/* The tree of a process (index), or of all (null). Kept once made. */
	function tree(capture, process) {
		if (!capture.trees.has(process))
			capture.trees.set(process, process === null
				? makeTree(capture, capture.processes, true)
				: makeTree(capture, [capture.processes[process]], false));
		return capture.trees.get(process);
	}

	/* The node of the process that a node belongs to, or 0 for the root of all. */
	function processNode(capture, t, node) {
		while (node > 0 && capture.symbols[t.symbol[node]].kind !== KIND.PROCESS)
			node = t.parent[node];
		return node;
	}

	/* Self samples below a node by style (kinds, application code apart); 0 = callers only. */
	function selfByStyle(capture, t, root) {
		const sums = new Map();

		for (let i = root; i < t.end[root]; i++) {
			const style = styleOf(capture.symbols[t.symbol[i]]);

			sums.set(style, (sums.get(style) || 0) + t.self[i]);
		}
		return sums;
	}

	/* The n code symbols with most self samples below a node: [{symbol row, samples}]. */
	function topSelf(capture, t, root, n) {
		const sums = new Map();

		for (let i = root; i < t.end[root]; i++)
			if (t.self[i] && t.symbol[i] < capture.ownFirst)
				sums.set(t.symbol[i], (sums.get(t.symbol[i]) || 0) + t.self[i]);
		return [...sums].map(([row, samples]) => ({row, samples}))
			.sort((a, b) => b.samples - a.samples || a.row - b.row).slice(0, n);
	}

	const STYLES = ['unknown', 'kernel', 'native', 'jit', 'stub', 'image', 'note', 'process', 'root'];

	/* Name of a symbol's colour in flame.css. */
	function styleOf(symbol) {
		return symbol.kind === KIND.JIT && symbol.application ? 'application'
			: STYLES[symbol.kind] || 'unknown';
	}

	return {KIND, read, tree, processNode, selfByStyle, topSelf, styleOf,
		shortForms};
})();

/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * How stacks are read: rules that leave frames or whole stacks out. apply() makes new stacks of
 * them and tells for each old node where its samples go (own, -1 = left out), so that choosing
 * other samples needs no new fold. In the new stacks a parent has a lower number than its children.
 * Pure.
 *
 * Rules: {kind, test(symbol)} in this order of effect, a frame at a time from the root:
 *	hide	stacks with such a frame are left out
 *	focus	only stacks with such a frame, from the first one on
 *	merge	such a frame is its caller
 *	collapse	such a frame is all that it calls
 * and flags: myCode as model/frame_view.h has it; recursion: a method that calls itself is one;
 * workload: processes of one workload are one (model/workload.h).
 */
const Folds = (() => {
	function isMine(symbol) {
		return symbol.application ||
			(symbol.kind === Capture.KIND.JIT && symbol.reason !== 0);
	}

	const RUNTIME = /^lib(coreclr|clrjit|clrgc|clrgcexp|hostfxr|hostpolicy|System\..*|mscordaccore)\.so/;

	/* How much the module of a frame tells of a stack without application code (paths.c). */
	function rank(symbol) {
		switch (symbol.kind) {
		case Capture.KIND.JIT:
		case Capture.KIND.IMAGE:
			return 4;
		case Capture.KIND.NATIVE:
			return RUNTIME.test(symbol.module) ? 3 : 2;
		case Capture.KIND.KERNEL:
		case Capture.KIND.NOTE:
			return 0;
		default:
			return 1;
		}
	}

	/* By symbol: which of a rule's kinds it falls under. */
	function judge(capture, rules, kind) {
		const of = rules.filter((r) => r.kind === kind);

		if (!of.length)
			return null;
		return Uint8Array.from(capture.symbols, (s) =>
			Capture.isCode(s) && of.some((r) => r.test(s)) ? 1 : 0);
	}

	/* Nodes as they are made; child() finds one by a table of its own, since a Map of millions is
	 * slow. */
	function builder(least) {
		let room = least, slots = 1024;

		while (slots < 2 * room)
			slots *= 2;
		const b = {count: 0, symbol: new Uint32Array(room), parent: new Int32Array(room),
			process: new Int32Array(room)};
		let table = new Int32Array(slots); /* node and 1, 0 = free */

		const place = (parent, symbol) => {
			let at = Math.imul(Math.imul(parent + 1, 0x9e3779b1) ^ symbol, 0x85ebca6b);

			at = (at ^ at >>> 15) & (slots - 1);
			while (table[at] && (b.parent[table[at] - 1] !== parent || b.symbol[table[at] - 1] !== symbol))
				at = at + 1 & slots - 1;
			return at;
		};
		const grow = () => {
			room *= 2;
			for (const column of ['symbol', 'parent', 'process']) {
				const wider = new b[column].constructor(room);

				wider.set(b[column]);
				b[column] = wider;
			}
			slots *= 2;
			table = new Int32Array(slots);
			for (let node = 0; node < b.count; node++)
				table[place(b.parent[node], b.symbol[node])] = node + 1;
		};

		/* The child of that symbol, made where there is none. */
		b.child = (parent, symbol, process) => {
			let at = place(parent, symbol);

			if (!table[at]) {
				if (b.count === room) {
					grow();
					at = place(parent, symbol);
				}
				b.symbol[b.count] = symbol;
				b.parent[b.count] = parent;
				b.process[b.count] = process;
				table[at] = ++b.count;
			}
			return table[at] - 1;
		};
		return b;
	}

	/* True where rules change nothing. */
	function isPlain(rules, flags) {
		return !rules.length && !flags.myCode && !flags.recursion && !flags.workload;
	}

	function plain(stacks) {
		return {stacks, own: null};
	}

	/* Where code below a process goes that is nobody's: "[framework]" and the module that tells
	 * most of it, "[kernel]" for kernel code alone. */
	function framework(capture, b, process, node, best) {
		if (best < 0)
			return b.child(node, Capture.noteSymbol(capture, '[kernel]', Capture.KIND.KERNEL), process);
		const symbol = capture.symbols[best];
		const group = b.child(node,
			Capture.noteSymbol(capture, '[framework]', Capture.KIND.STUB), process);

		return b.child(group,
			Capture.noteSymbol(capture, symbol.module || '[unknown]', symbol.kind), process);
	}

	/* By process the row of the symbol that it has below the root. */
	function workloads(capture) {
		const counts = new Map();

		for (const p of capture.processes)
			counts.set(p.workload, (counts.get(p.workload) || 0) + 1);
		return capture.processes.map((p) => counts.get(p.workload) === 1 ? capture.ownFirst + p.index
			: Capture.noteSymbol(capture, counts.get(p.workload) + ' × ' + p.workload,
				Capture.KIND.PROCESS));
	}

	/* {stacks: the new ones, own: by old node, or null where nothing changed}. */
	function apply(capture, rules, flags) {
		const old = capture.stacks, count = old.count;

		if (isPlain(rules, flags))
			return plain(old);
		const hide = judge(capture, rules, 'hide'), focus = judge(capture, rules, 'focus');
		const merge = judge(capture, rules, 'merge');
		const collapse = judge(capture, rules, 'collapse');
		const mine = flags.myCode ? Uint8Array.from(capture.symbols, (s) => isMine(s) ? 1 : 0) : null;
		const notes = mine && Uint8Array.from(capture.symbols,
			(s) => s.kind === Capture.KIND.NOTE ? 1 : 0);
		const tops = flags.workload ? workloads(capture) : null;
		const ranks = mine && Uint8Array.from(capture.symbols, rank);
		const b = builder(count);
		const own = new Int32Array(count).fill(-1);
		const at = new Int32Array(count).fill(-1); /* where children go; -1 = left out */
		const IN = 1, SHUT = 2, MINE = 4, CODE = 8;
		const state = new Uint8Array(count);
		const best = mine ? new Int32Array(count).fill(-1) : null;
		const top = new Int32Array(count); /* the process' new node */

		at[0] = own[0] = b.child(-1, old.symbol[0], -1);
		state[0] = focus ? 0 : IN;
		for (let i = 1; i < count; i++) {
			const parent = old.parent[i], symbol = old.symbol[i], process = old.process[i];
			let s = state[parent], to = at[parent];

			if (parent === 0) {
				to = b.child(0, tops ? tops[process] : symbol, process);
				at[i] = top[i] = to;
				state[i] = s;
				own[i] = focus ? -1 : to;
				continue;
			}
			top[i] = top[parent];
			if (mine)
				best[i] = best[parent];
			if (to < 0 || (hide && hide[symbol])) {
				state[i] = s; /* at and own stay -1 */
				continue;
			}
			if (focus && !(s & IN) && focus[symbol])
				s |= IN;
			let take = (s & IN) && !(s & SHUT) && !(merge && merge[symbol]);

			if (mine && (s & IN)) {
				if (!notes[symbol])
					s |= CODE;
				if (mine[symbol])
					s |= MINE;
				if (ranks[symbol] && (best[i] < 0 || ranks[symbol] >= ranks[best[i]]))
					best[i] = symbol;
				take = take && (mine[symbol] || notes[symbol]);
			}
			if (take && flags.recursion && b.symbol[to] === symbol &&
			    !capture.symbols[symbol].reason)
				take = false;
			if (take)
				to = b.child(to, symbol, process);
			if ((s & IN) && collapse && collapse[symbol])
				s |= SHUT;
			at[i] = to;
			state[i] = s;
			if (s & IN)
				own[i] = mine && (s & CODE) && !(s & MINE)
					? framework(capture, b, process, to, best[i]) : to;
		}
		return {stacks: Object.assign(finish(b), {ordered: old.ordered}), own};
	}

	function finish(b) {
		const stacks = {count: b.count, symbol: b.symbol.slice(0, b.count),
			parent: b.parent.slice(0, b.count), process: b.process.slice(0, b.count),
			depth: new Uint16Array(b.count)};

		for (let i = 1; i < b.count; i++)
			stacks.depth[i] = stacks.depth[stacks.parent[i]] + 1;
		return stacks;
	}

	return {apply};
})();

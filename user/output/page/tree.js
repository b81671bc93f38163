/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * Trees as the views show them: flat arrays in preorder, the heaviest child first; the subtree of
 * node i is i .. end[i] - 1, node 0 is the root. symbol, parent, depth, total, self; start: sum of
 * what stands left of it, which is where it is drawn; id: node of the stacks, or -1. Pure.
 */
const Tree = (() => {
	function empty(count) {
		return {
			count,
			symbol: new Uint32Array(count),
			id: new Int32Array(count).fill(-1),
			depth: new Uint16Array(count),
			parent: new Int32Array(count).fill(-1),
			end: new Uint32Array(count).fill(count),
			/* Milliseconds of many blocked threads are more than 32 bits have. */
			total: new Float64Array(count),
			self: new Float64Array(count),
			start: new Float64Array(count),
		};
	}

	/* By node of folded stacks: what ends there (self; leaves: where something does), and what passes
	 * through (total). self: by node of the unfolded ones. Both are written over by the next sums of
	 * these stacks, since new memory for millions of them costs more than the adding up. */
	function sums(folded, self) {
		const {stacks, own} = folded;
		const room = stacks.room = stacks.room ||
			{total: new Float64Array(stacks.count), self: own ? new Float64Array(stacks.count) : null};
		let by = self;

		if (own) {
			by = room.self.fill(0);
			for (let i = 0; i < self.length; i++)
				if (self[i] && own[i] >= 0)
					by[own[i]] += self[i];
		}
		const {total} = room, {parent} = stacks;

		total.set(by);

		for (let i = stacks.count - 1; i > 0; i--)
			if (total[i])
				total[parent[i]] += total[i];
		return {self: by, total, leaves: nonZero(by)};
	}

	/* Where numbers are not 0. */
	function nonZero(numbers) {
		let list = new Uint32Array(4096), count = 0;

		for (let i = 0; i < numbers.length; i++) {
			if (!numbers[i])
				continue;
			if (count === list.length) {
				const more = new Uint32Array(2 * count);

				more.set(list);
				list = more;
			}
			list[count++] = i;
		}
		return list.subarray(0, count);
	}

	/* A node and what is below it: from .. to - 1, of these those with a flag, where there are any. */
	function within(stacks, node) {
		if (stacks.end)
			return {from: node, to: stacks.end[node], flags: null};
		const flags = new Uint8Array(stacks.count);

		flags[node] = 1;
		for (let i = node + 1; i < stacks.count; i++)
			flags[i] = flags[stacks.parent[i]];
		return {from: node, to: stacks.count, flags};
	}

	function isWithin(inside, node) {
		return node >= inside.from && node < inside.to && (!inside.flags || inside.flags[node] === 1);
	}

	/* From the root to a node; that of the root where it is not below it. */
	function chain(stacks, root, node) {
		const list = [];
		let i = node;

		for (; i > root; i = stacks.parent[i])
			list.unshift(i);
		return i === root ? [root, ...list] : [root];
	}

	/* Children of each node, one behind the other: those of node i are list[first[i]] ..
	 * list[first[i + 1] - 1]. Made once for stacks. */
	function children(stacks) {
		if (stacks.children)
			return stacks.children;
		const first = new Uint32Array(stacks.count + 2), {parent} = stacks;
		const list = new Uint32Array(stacks.count);

		for (let i = 1; i < stacks.count; i++)
			first[parent[i] + 2]++;
		for (let i = 2; i < first.length; i++)
			first[i] += first[i - 1];
		for (let i = 1; i < stacks.count; i++)
			list[first[parent[i] + 1]++] = i;
		return stacks.children = {first, list, ordered: stacks.ordered};
	}

	/* Those of a node that weigh at least that, the heaviest first, but where stacks are in the order
	 * in which they are to be shown. */
	function heavy({first, list, ordered}, node, total, least) {
		const found = [];

		for (let i = first[node]; i < first[node + 1]; i++)
			if (total[list[i]] >= least)
				found.push(list[i]);
		return found.length < 2 || ordered ? found : found.sort((a, b) => total[b] - total[a] || a - b);
	}

	/*
	 * The tree below the last node of a chain (of chain()), with the nodes of the chain above it,
	 * each the only child of the one before. sums: of sums(); least: lighter nodes are left out,
	 * with what is below them.
	 */
	function build(stacks, {self, total}, chain, least) {
		const kids = children(stacks), lightest = Math.max(least, Number.MIN_VALUE);
		const ids = [], depths = [], ends = [], zoom = chain.length - 1;
		const open = []; /* lists of children, and how far each is done */

		chain.forEach((id, depth) => { ids.push(id); depths.push(depth); });
		for (let list = heavy(kids, chain[zoom], total, lightest), at = 0, n = zoom;;) {
			if (at < list.length) {
				open.push({list, at: at + 1, n});
				n = ids.length;
				ids.push(list[at]);
				depths.push(zoom + open.length);
				list = heavy(kids, list[at], total, lightest);
				at = 0;
				continue;
			}
			ends[n] = ids.length;
			if (!open.length)
				break;
			({list, at, n} = open.pop());
		}
		return finish(stacks, self, total, ids, depths, ends, zoom);
	}

	function finish(stacks, self, total, ids, depths, ends, zoom) {
		const tree = empty(ids.length), open = [];

		for (let n = 0; n < ids.length; n++) {
			const id = ids[n], depth = depths[n];

			tree.id[n] = id;
			tree.symbol[n] = stacks.symbol[id];
			tree.total[n] = total[id];
			tree.self[n] = self[id];
			tree.depth[n] = depth;
			tree.end[n] = n < zoom ? ids.length : ends[n];
			tree.parent[n] = depth ? open[depth - 1] : -1;
			open[depth] = n;
		}
		return place(tree);
	}

	/* Where each node begins: behind its elder siblings. */
	function place(tree) {
		const cursor = new Float64Array(tree.count);

		for (let i = 1; i < tree.count; i++) {
			const parent = tree.parent[i];

			tree.start[i] = tree.start[parent] + cursor[parent];
			cursor[parent] += tree.total[i];
		}
		return tree;
	}

	/* Of a node of the folded stacks: how many threads were seen in it, and the first and last slot
	 * (Infinity and -1: in none). inside: of within(). */
	function seenAt(capture, folded, inside, selection) {
		const {samples, from, to} = selection, {own} = folded;
		const marked = new Uint8Array(capture.threads.count);
		let threads = 0, first = Infinity, last = -1;

		for (let i = from; i < to; i++) {
			const id = own ? own[samples.node[i]] : samples.node[i];

			if (!isWithin(inside, id) || !Selection.weigh(selection, i))
				continue;
			if (!marked[samples.thread[i]]) {
				marked[samples.thread[i]] = 1;
				threads++;
			}
			if (last < 0)
				first = samples.slot[i];
			last = samples.slot[i];
		}
		return {threads, first, last};
	}

	/* By node of the stacks: its node in the tree, -1 = none. */
	function index(tree, stacks) {
		const of = new Int32Array(stacks.count).fill(-1);

		for (let i = 0; i < tree.count; i++)
			of[tree.id[i]] = i;
		return of;
	}

	/* Of each node the first and last slot in which it was seen, and how many threads were seen in
	 * it: {threads, first, last}. */
	function seen(capture, folded, tree, selection) {
		const of = index(tree, folded.stacks), {samples, from, to} = selection;
		const threads = new Uint32Array(tree.count);
		const first = new Float64Array(tree.count).fill(Infinity);
		const last = new Float64Array(tree.count).fill(-1);
		const mark = new Int32Array(tree.count).fill(-1);

		for (const i of byThread(capture, samples, from, to)) {
			if (!Selection.weigh(selection, i))
				continue;
			const id = folded.own ? folded.own[samples.node[i]] : samples.node[i];
			let n = id < 0 ? -1 : nearest(of, folded.stacks, id);

			if (n < 0)
				continue;
			first[n] = Math.min(first[n], samples.slot[i]);
			last[n] = Math.max(last[n], samples.slot[i]);
			for (; n >= 0 && mark[n] !== samples.thread[i]; n = tree.parent[n]) {
				mark[n] = samples.thread[i];
				threads[n]++;
			}
		}
		for (let n = tree.count - 1; n > 0; n--) {
			first[tree.parent[n]] = Math.min(first[tree.parent[n]], first[n]);
			last[tree.parent[n]] = Math.max(last[tree.parent[n]], last[n]);
		}
		return {threads, first, last};
	}

	/* The node in the tree, or of its nearest caller that is; -1: it is not below the root. */
	function nearest(of, stacks, id) {
		while (id >= 0 && of[id] < 0)
			id = stacks.parent[id];
		return id < 0 ? -1 : of[id];
	}

	/* Positions from .. to, those of one thread in a row. */
	function byThread(capture, samples, from, to) {
		const first = new Uint32Array(capture.threads.count + 1);
		const list = new Uint32Array(to - from);

		for (let i = from; i < to; i++)
			first[samples.thread[i] + 1]++;
		for (let i = 1; i < first.length; i++)
			first[i] += first[i - 1];
		for (let i = from; i < to; i++)
			list[first[samples.thread[i]]++] = i;
		return list;
	}

	/* --- merged trees: who calls a method, and what it calls --------------------------------- */

	/* The topmost nodes of a symbol: calls of itself are within these. */
	function occurrences(tree, symbol) {
		const nodes = [];

		for (let i = 0; i < tree.count;) {
			if (tree.symbol[i] === symbol) {
				nodes.push(i);
				i = tree.end[i];
			} else {
				i++;
			}
		}
		return nodes;
	}

	/*
	 * Grows a tree from groups of nodes. root: {symbol, members: [[node, weight]...]};
	 * step(members) -> Map of symbol -> members of the next level. Groups lighter than least are
	 * left out; total of a group is the sum of its members.
	 */
	function grow(root, step, least) {
		const rows = [];
		const visit = (symbol, members, parent, depth) => {
			const n = rows.length;
			const total = members.reduce((sum, m) => sum + m[1], 0);

			rows.push({symbol, total, parent, depth, end: 0});
			if (depth < 4000) {
				const groups = [...step(members)].map(([s, list]) =>
					[s, list, list.reduce((sum, m) => sum + m[1], 0)])
					.filter((g) => g[2] >= least).sort((a, b) => b[2] - a[2] || a[0] - b[0]);

				for (const [s, list] of groups)
					visit(s, list, n, depth + 1);
			}
			rows[n].end = rows.length;
		};

		visit(root.symbol, root.members, -1, 0);
		const tree = empty(rows.length);

		rows.forEach((row, i) => {
			tree.symbol[i] = row.symbol;
			tree.total[i] = tree.self[i] = row.total;
			tree.parent[i] = row.parent;
			tree.depth[i] = row.depth;
			tree.end[i] = row.end;
			if (row.parent >= 0)
				tree.self[row.parent] -= row.total;
		});
		return place(tree);
	}

	function group(pairs) {
		const groups = new Map();

		for (const [symbol, member] of pairs) {
			if (!groups.has(symbol))
				groups.set(symbol, []);
			groups.get(symbol).push(member);
		}
		return groups;
	}

	/* Who calls it, its callers' callers below. symbol null: from the methods that ran, each by
	 * its own weight. */
	function callers(tree, symbol, least) {
		const step = (members) => group(members.filter(([node]) => tree.parent[node] > 0)
			.map(([node, weight]) => [tree.symbol[tree.parent[node]], [tree.parent[node], weight]]));

		if (symbol !== null)
			return grow({symbol, members: occurrences(tree, symbol).map((n) => [n, tree.total[n]])},
				step, least);
		const leaves = [];

		for (let i = 1; i < tree.count; i++)
			if (tree.self[i] > 0)
				leaves.push([i, tree.self[i]]);
		/* The root stands for all; its children are the methods themselves. */
		const methods = group(leaves.map((m) => [tree.symbol[m[0]], m]));
		let begun = false;

		return grow({symbol: tree.symbol[0], members: leaves}, (members) => {
			if (begun)
				return step(members);
			begun = true;
			return methods;
		}, least);
	}

	/* What it calls. */
	function callees(tree, symbol, least) {
		return grow({symbol, members: occurrences(tree, symbol).map((n) => [n, tree.total[n]])},
			(members) => group(members.flatMap(([node]) => childrenOf(tree, node)
				.map((n) => [tree.symbol[n], [n, tree.total[n]]]))), least);
	}

	function childrenOf(tree, node) {
		const list = [];

		for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
			list.push(i);
		return list;
	}

	/* --- sums -------------------------------------------------------------------------------- */

	/* Self weight of the nodes inside (of within()), by a key of (row of the symbol, node). */
	function selfBy(stacks, {self, leaves}, inside, keyOf) {
		const by = new Map();

		for (const i of leaves) {
			if (!isWithin(inside, i))
				continue;
			const key = keyOf(stacks.symbol[i], i);

			by.set(key, (by.get(key) || 0) + self[i]);
		}
		return by;
	}

	/* The n symbols of code with most of that: [{row, samples}]. */
	function topSelf(capture, stacks, sums, inside, n) {
		return [...selfBy(stacks, sums, inside, (row) => row)]
			.filter(([row]) => Capture.isCode(capture.symbols[row]))
			.map(([row, samples]) => ({row, samples}))
			.sort((a, b) => b.samples - a.samples || a.row - b.row).slice(0, n);
	}

	/* By symbol: {self, total}, each sample counted once for a method however often it is in its
	 * stack. */
	function methods(capture, tree, root) {
		const sums = new Map(), open = [];
		const depthOf = new Int32Array(capture.symbols.length).fill(0);
		const get = (row) => {
			if (!sums.has(row))
				sums.set(row, {row, self: 0, total: 0});
			return sums.get(row);
		};

		for (let i = root; i < tree.end[root]; i++) {
			while (open.length && tree.end[open[open.length - 1]] <= i)
				depthOf[tree.symbol[open.pop()]]--;
			const row = tree.symbol[i], sum = get(row);

			sum.self += tree.self[i];
			if (!depthOf[row])
				sum.total += tree.total[i];
			depthOf[row]++;
			open.push(i);
		}
		return [...sums.values()].filter((m) => Capture.isCode(capture.symbols[m.row]));
	}

	/* The node of the process that a node belongs to, or 0 for the root of all. */
	function processNode(capture, tree, node) {
		while (node > 0 && capture.symbols[tree.symbol[node]].kind !== Capture.KIND.PROCESS)
			node = tree.parent[node];
		return node;
	}

	/* From the root to a node. */
	function path(tree, node) {
		const list = [];

		for (let i = node; i >= 0; i = tree.parent[i])
			list.unshift(i);
		return list;
	}

	return {sums, within, chain, build, seen, seenAt, callers, callees, childrenOf, selfBy,
		topSelf, methods, processNode, path, occurrences};
})();

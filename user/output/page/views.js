/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The views that are tables: call tree, bottom-up, threads by role, modules. shown: as App makes
 * it, with do: what a row can do.
 */
const Views = (() => {
	function percent(shown, n) {
		return Format.percent(n, shown.full().total[0]);
	}

	/* The name of a frame with its module, as elements. */
	function nameOf(shown, row, id) {
		const symbol = shown.capture.symbols[row], swatch = Dom.make('span', 'swatch');
		const where = symbol.module && symbol.module !== symbol.name ? symbol.module : '';

		swatch.style.background = Colours.fill(shown.colours, row, id);
		return Dom.make('span', 'frame', swatch, Dom.make('bdi', 'name', Capture.shortName(symbol)),
			Dom.make('bdi', 'where', where));
	}

	/* Of the tree: what frames a row may show below, most first. */
	function byWeight(tree, nodes) {
		return nodes.sort((a, b) => tree.total[b] - tree.total[a] || a - b);
	}

	/* --- top down ---------------------------------------------------------------------------- */

	function callTree(shown) {
		const {capture, folded, selection} = shown, tree = shown.full();
		const seen = shown.both ? null : Tree.seen(capture, folded, tree, selection);
		const slotS = capture.slotNs / 1e9;
		const last = seen ? [
			{title: 'Threads', number: true, tip: 'distinct ones'},
			{title: 'Seen', number: true, tip: 'first and last, since the start'}]
			: Changes.columns();
		const lastOf = (node) => !seen ? Changes.cells(shown, tree.id[node])
			: [Format.count(seen.threads[node]), seen.last[node] < 0 ? ''
				: (seen.first[node] * slotS).toFixed(1) + '–' +
					((seen.last[node] + 1) * slotS).toFixed(1) + ' s'];
		const columns = [
			{title: 'Total', number: true, tip: 'of what is shown, with what it calls'},
			{title: shown.unit, number: true},
			{title: 'Self', number: true, tip: 'without what it calls'},
			...last,
			{title: 'Frame', name: true}];

		const row = (node) => ({
			cells: [percent(shown, tree.total[node]), Format.amount(tree.total[node]),
				Format.amount(tree.self[node]), ...lastOf(node),
				nameOf(shown, tree.symbol[node], tree.id[node])],
			mark: tree.total[node] / tree.total[0],
			title: capture.symbols[tree.symbol[node]].name,
			kids: tree.end[node] > node + 1
				? () => byWeight(tree, Tree.childrenOf(tree, node)).map(row) : null,
			menu: (x, y) => shown.do.menu(tree.id[node], tree.symbol[node], x, y),
		});
		const table = Table.make('Call tree: who asks for the work', columns, [row(0)], true);

		openFirst(table);
		return table;
	}

	/* The heaviest way down, to where it divides. */
	function openFirst(table) {
		const first = table.querySelector('tbody tr');

		if (first && first.row && first.row.kids)
			first.click();
	}

	/* --- bottom up --------------------------------------------------------------------------- */

	/* Groups of [node, weight] by the frame above them: made when a row is opened. */
	function callersOf(tree, members) {
		const groups = new Map();

		for (const [node, weight] of members) {
			const up = tree.parent[node];

			if (up <= 0)
				continue;
			const symbol = tree.symbol[up];

			if (!groups.has(symbol))
				groups.set(symbol, {symbol, members: [], weight: 0});
			groups.get(symbol).members.push([up, weight]);
			groups.get(symbol).weight += weight;
		}
		return [...groups.values()].sort((a, b) => b.weight - a.weight || a.symbol - b.symbol);
	}

	function leaves(tree) {
		const groups = new Map();

		for (let i = 1; i < tree.count; i++) {
			if (!tree.self[i])
				continue;
			if (!groups.has(tree.symbol[i]))
				groups.set(tree.symbol[i], {symbol: tree.symbol[i], members: [], weight: 0});
			groups.get(tree.symbol[i]).members.push([i, tree.self[i]]);
			groups.get(tree.symbol[i]).weight += tree.self[i];
		}
		return [...groups.values()].sort((a, b) => b.weight - a.weight || a.symbol - b.symbol);
	}

	function bottomUp(shown) {
		const {capture} = shown, tree = shown.full();
		const columns = [{title: 'Self', number: true, tip: 'of what is shown, without what it calls'},
			{title: shown.unit, number: true}, {title: 'Frame, its callers below', name: true}];
		const row = (group) => ({
			cells: [percent(shown, group.weight), Format.amount(group.weight),
				nameOf(shown, group.symbol, -1)],
			mark: group.weight / tree.total[0],
			title: capture.symbols[group.symbol].name,
			kids: group.members.some(([node]) => tree.parent[node] > 0)
				? () => callersOf(tree, group.members).map(row) : null,
			menu: (x, y) => shown.do.menu(-1, group.symbol, x, y),
		});

		return Table.make('Bottom up: what ran by itself, and who called it', columns,
			leaves(tree).slice(0, 5000).map(row), true);
	}

	/* --- threads, modules -------------------------------------------------------------------- */

	function threads(shown) {
		const {capture, selection} = shown, t = capture.threads;
		const sums = Selection.byThread(capture, selection), roles = new Map();
		const all = sums.reduce((n, s) => n + s, 0);

		sums.forEach((n, i) => {
			if (!n)
				return;
			if (!roles.has(t.role[i]))
				roles.set(t.role[i], {name: t.role[i], sum: 0, threads: []});
			roles.get(t.role[i]).sum += n;
			roles.get(t.role[i]).threads.push({i, n});
		});
		const button = (text, filter) => {
			const b = Dom.make('button', 'small', text);

			b.type = 'button';
			b.addEventListener('click', (e) => {
				e.stopPropagation();
				shown.do.filter(filter);
			});
			return b;
		};
		const columns = [{title: 'Share', number: true}, {title: shown.unit, number: true},
			{title: 'Role, its threads below', name: true}, {title: 'Thread', number: true},
			{title: 'Process'}, {title: ''}];
		const thread = ({i, n}) => ({
			cells: [Format.percent(n, all), Format.amount(n), t.name[i], String(t.tid[i]),
				capture.processes[t.process[i]].name + ' ' + capture.processes[t.process[i]].pid,
				button('only this', {kind: 'thread', how: 'is', text: String(t.tid[i])})],
			mark: n / all,
		});
		const rows = [...roles.values()].sort((a, b) => b.sum - a.sum).map((role) => ({
			cells: [Format.percent(role.sum, all), Format.amount(role.sum), role.name,
				Format.plural(role.threads.length, 'thread'), '',
				button('only these', {kind: 'role', how: 'is', text: role.name})],
			mark: role.sum / all,
			kids: () => role.threads.sort((a, b) => b.n - a.n).map(thread),
		}));

		return Table.make('By thread: what threads are for, told by their names', columns, rows, true);
	}

	function modules(shown) {
		const {capture} = shown, tree = shown.full(), groups = new Map();

		for (const method of Tree.methods(capture, tree, 0)) {
			const module = capture.symbols[method.row].module || '[unknown]';

			if (!groups.has(module))
				groups.set(module, {module, self: 0, methods: []});
			groups.get(module).self += method.self;
			groups.get(module).methods.push(method);
		}
		const columns = [{title: 'Self', number: true}, {title: shown.unit, number: true},
			{title: 'Total', number: true, tip: 'with what it calls; a method counts once a stack'},
			{title: 'Module, its methods below', name: true}];
		const method = (m) => ({
			cells: [percent(shown, m.self), Format.amount(m.self), percent(shown, m.total),
				nameOf(shown, m.row, -1)],
			mark: m.self / tree.total[0],
			title: capture.symbols[m.row].name,
			act: () => shown.do.sandwich(m.row),
			menu: (x, y) => shown.do.menu(-1, m.row, x, y),
		});
		const rows = [...groups.values()].sort((a, b) => b.self - a.self).map((g) => ({
			cells: [percent(shown, g.self), Format.amount(g.self), '', g.module],
			mark: g.self / tree.total[0],
			kids: () => g.methods.sort((a, b) => b.self - a.self || b.total - a.total).map(method),
		}));

		return Table.make('By module: which assembly or file burns it', columns, rows, true);
	}

	return {callTree, bottomUp, threads, modules};
})();

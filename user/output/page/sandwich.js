/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* One method between those that call it, above, and those that it calls, below. */
const Sandwich = (() => {
	function half(capture, name, actions, s) {
		const graph = Pane.create(Dom.byId('sandwich-' + name), capture, {
			shown: () => s.shown,
			take: (node) => take(graph, node, actions),
			menu: (node, x, y) => actions.menu(-1, graph.tree.symbol[node], x, y),
			say: (node) => actions.say(graph, node),
			resized: () => toRoot(graph),
		});

		return graph;
	}

	/* Of callers the method itself is at the bottom. */
	function toRoot(graph) {
		if (graph.rootBelow)
			graph.scroller.scrollTop = graph.scroller.scrollHeight;
	}

	function take(graph, node, actions) {
		if (node >= 0 && Capture.isCode(graph.capture.symbols[graph.tree.symbol[node]]))
			actions.sandwich(graph.tree.symbol[node]);
	}

	function create(capture, actions) {
		const s = {shown: null, method: null};

		s.callers = half(capture, 'callers', actions, s);
		s.callees = half(capture, 'callees', actions, s);
		return s;
	}

	/* Of a method, by itself, in the subtree of one of its nodes. */
	function selfIn(tree, top, method) {
		let self = 0;

		for (let i = top; i < tree.end[top]; i++)
			if (tree.symbol[i] === method)
				self += tree.self[i];
		return self;
	}

	/* Roles and changes are known of nodes of the whole tree alone. */
	function coloursOf(colours) {
		return ['role', 'change'].includes(colours.by)
			? Object.assign({}, colours, {by: 'kind', hues: null, step: null}) : colours;
	}

	/* method: row of a symbol, or null where there is none. */
	function show(s, shown, method) {
		const symbol = method === null ? null : shown.capture.symbols[method];
		const full = shown.full(), least = full.total[0] / 8000; /* narrower than is seen */
		const colours = coloursOf(shown.colours);
		const found = symbol ? Tree.occurrences(full, method) : [];
		const total = found.reduce((n, i) => n + full.total[i], 0);
		const self = found.reduce((n, top) => n + selfIn(full, top, method), 0);

		s.shown = shown;
		s.method = method;
		Dom.fill(Dom.byId('sandwich-title'), Dom.make('bdi', '', symbol ? symbol.name : 'No method'),
			Dom.make('span', 'muted', symbol ? ' ' + Format.share(total, full.total[0]) + ' · ' +
				Format.weight(total) + ' · self ' + Format.amount(self) : ''));
		for (const [graph, tree, below] of symbol
			? [[s.callers, Tree.callers(full, method, least), true],
				[s.callees, Tree.callees(full, method, least), false]] : []) {
			graph.colours = colours;
			graph.focus = -1;
			Graph.resize(graph);
			Graph.show(graph, tree, 0, below);
		}
		toRoot(s.callers);
	}

	function themeChanged(s) {
		Graph.readTheme(s.callers);
		Graph.readTheme(s.callees);
	}

	return {create, show, coloursOf, themeChanged};
})();

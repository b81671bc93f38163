/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* One method between those that call it, above, and those that it calls, below. */
const Sandwich = (() => {
	function half(capture, name, actions, s) {
		const scroller = Dom.byId('sandwich-' + name), canvas = scroller.querySelector('canvas');
		const graph = Graph.create(scroller, scroller.querySelector('.extent'), canvas, capture);
		const pointed = (e) => {
			const r = scroller.getBoundingClientRect();

			return Graph.at(graph, e.clientX - r.left, e.clientY - r.top);
		};

		Graph.readTheme(graph);
		scroller.addEventListener('pointermove', (e) => {
			const node = pointed(e), tip = Dom.byId('tip');

			if (node !== graph.hover) {
				graph.hover = node;
				scroller.classList.toggle('pointing', node >= 0);
				Graph.schedule(graph);
				if (node >= 0)
					Details.fillTip(tip, Object.assign({}, s.shown, {tree: graph.tree}), node);
			}
			if (node >= 0)
				Details.placeTip(tip, e.clientX, e.clientY);
			else
				tip.hidden = true;
		});
		scroller.addEventListener('pointerleave', () => {
			graph.hover = -1;
			Dom.byId('tip').hidden = true;
			Graph.schedule(graph);
		});
		scroller.addEventListener('click', (e) => take(graph, pointed(e), actions));
		scroller.addEventListener('contextmenu', (e) => {
			const node = pointed(e);

			if (node >= 0) {
				e.preventDefault();
				actions.menu(-1, graph.tree.symbol[node], e.clientX, e.clientY);
			}
		});
		scroller.addEventListener('keydown', (e) => onKey(graph, e, actions));
		scroller.addEventListener('scroll', () => Graph.schedule(graph));
		new ResizeObserver(() => {
			Graph.resize(graph);
			toRoot(graph);
		}).observe(scroller);
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

	function onKey(graph, e, actions) {
		const up = graph.rootBelow ? 'callee' : 'caller', down = graph.rootBelow ? 'caller' : 'callee';
		const to = {ArrowUp: up, ArrowDown: down, ArrowLeft: 'left', ArrowRight: 'right'}[e.key];

		if (to) {
			graph.focus = graph.focus < 0 ? 0 : Graph.neighbour(graph, graph.focus, to);
			Graph.reveal(graph, graph.focus);
			Graph.schedule(graph);
			actions.say(graph, graph.focus);
		} else if (e.key === 'Enter' && graph.focus >= 0) {
			take(graph, graph.focus, actions);
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
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

	/* method: row of a symbol, or null where there is none. */
	function show(s, shown, method) {
		const symbol = method === null ? null : shown.capture.symbols[method];
		const full = shown.full(), least = full.total[0] / 8000; /* narrower than is seen */
		/* Roles are known of nodes of the whole tree alone. */
		const colours = shown.colours.by === 'role'
			? Object.assign({}, shown.colours, {by: 'kind', hues: null}) : shown.colours;
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

	return {create, show, themeChanged};
})();

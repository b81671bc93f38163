/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * A graph beside the main one, with its pointer and keys. does: {shown(): what its tree is of,
 * take(node): a click or Enter, menu(node, x, y), say(node): it has the focus, resized(), and
 * hover(node) where that is of interest}.
 */
const Pane = (() => {
	function create(scroller, capture, does) {
		const canvas = scroller.querySelector('canvas');
		const graph = Graph.create(scroller, scroller.querySelector('.extent'), canvas, capture);
		const pointed = (e) => {
			const r = scroller.getBoundingClientRect();

			return graph.tree ? Graph.at(graph, e.clientX - r.left, e.clientY - r.top) : -1;
		};

		Graph.readTheme(graph);
		scroller.addEventListener('pointermove', (e) => onPointer(graph, pointed(e), e, does));
		scroller.addEventListener('pointerleave', () => onPointer(graph, -1, null, does));
		scroller.addEventListener('click', (e) => {
			const node = pointed(e);

			Dom.byId('tip').hidden = true;
			if (node >= 0)
				does.take(node);
		});
		scroller.addEventListener('contextmenu', (e) => {
			const node = pointed(e);

			if (node >= 0) {
				e.preventDefault();
				does.menu(node, e.clientX, e.clientY);
			}
		});
		scroller.addEventListener('keydown', (e) => onKey(graph, e, does));
		scroller.addEventListener('scroll', () => Graph.schedule(graph));
		new ResizeObserver(() => {
			Graph.resize(graph);
			does.resized();
		}).observe(scroller);
		return graph;
	}

	function onPointer(graph, node, e, does) {
		const tip = Dom.byId('tip');

		if (node !== graph.hover) {
			graph.hover = node;
			graph.scroller.classList.toggle('pointing', node >= 0);
			Graph.schedule(graph);
			if (node >= 0)
				Details.fillTip(tip, Object.assign({}, does.shown(), {tree: graph.tree}), node);
			if (does.hover)
				does.hover(node);
		}
		if (node >= 0 && Dom.byId('menu').hidden)
			Details.placeTip(tip, e.clientX, e.clientY);
		else
			tip.hidden = true;
	}

	function onKey(graph, e, does) {
		const up = graph.rootBelow ? 'callee' : 'caller', down = graph.rootBelow ? 'caller' : 'callee';
		const to = {ArrowUp: up, ArrowDown: down, ArrowLeft: 'left', ArrowRight: 'right'}[e.key];

		if (to && graph.tree) {
			graph.focus = graph.focus < 0 ? graph.zoom : Graph.neighbour(graph, graph.focus, to);
			Graph.reveal(graph, graph.focus);
			Graph.schedule(graph);
			does.say(graph.focus);
		} else if (e.key === 'Enter' && graph.focus >= 0) {
			does.take(graph.focus);
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}

	return {create};
})();

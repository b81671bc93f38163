/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The drawing of a tree. layout() keeps the nodes wide enough to be seen, row by row; draw() paints
 * those within the scrolled window; at() finds the node under a point. The canvas is as large as
 * the window and stays in place while .extent, as tall as the tree, scrolls.
 */
const Graph = (() => {
	const ROW = 20; /* px */
	const LEAST = 0.5; /* px: narrower nodes, and what is below them, are not drawn */
	const PAD = 5;
	const FONT_PX = 12;

	function create(scroller, extent, canvas, capture) {
		return {
			scroller, extent, canvas, capture,
			context: canvas.getContext('2d'),
			tree: null, zoom: 0, rootBelow: false,
			mask: null, hover: -1, focus: -1,
			rows: [], /* rows[depth] = nodes from left to right */
			width: 0, height: 0, scale: 1,
			theme: null, glyph: 0, waiting: false,
			colours: null, /* of Colours */
			texts: new Map(), /* symbol -> short forms of its name */
		};
	}

	/* --- geometry --------------------------------------------------------------------------- */

	function pxPerSample(g) {
		return g.width / Math.max(1, g.tree.total[g.zoom]);
	}

	function isAncestor(g, node) {
		return node < g.zoom && g.tree.end[node] > g.zoom;
	}

	/* {x, y, width, height} of a node in the coordinates of the whole drawing. */
	function box(g, node) {
		const t = g.tree, k = pxPerSample(g);
		const row = g.rootBelow ? g.rows.length - 1 - t.depth[node] : t.depth[node];
		const y = row * ROW + (g.rootBelow ? Math.max(0, g.height - g.rows.length * ROW) : 0);

		if (isAncestor(g, node))
			return {x: 0, y, width: g.width, height: ROW};
		return {x: (t.start[node] - t.start[g.zoom]) * k, y, width: t.total[node] * k,
			height: ROW};
	}

	function layout(g) {
		const t = g.tree, k = pxPerSample(g), rows = [];

		for (let i = t.parent[g.zoom]; i >= 0; i = t.parent[i])
			rows[t.depth[i]] = [i];
		for (let i = g.zoom; i < t.end[g.zoom];) {
			if (t.total[i] * k < LEAST) {
				i = t.end[i];
				continue;
			}
			(rows[t.depth[i]] = rows[t.depth[i]] || []).push(i);
			i++;
		}
		g.rows = rows;
		g.extent.style.height = rows.length * ROW + 'px';
	}

	/* The node at a point of the window, or -1. */
	function at(g, x, y) {
		const top = g.rootBelow ? Math.max(0, g.height - g.rows.length * ROW) : 0;
		const row = Math.floor((y + g.scroller.scrollTop - top) / ROW);
		const nodes = g.rows[g.rootBelow ? g.rows.length - 1 - row : row];
		let low = 0, high = nodes ? nodes.length - 1 : -1;

		while (low <= high) {
			const middle = (low + high) >> 1, b = box(g, nodes[middle]);

			if (x < b.x)
				high = middle - 1;
			else if (x >= b.x + b.width)
				low = middle + 1;
			else
				return nodes[middle];
		}
		return -1;
	}

	/* --- colours and text ------------------------------------------------------------------- */

	function readTheme(g) {
		const css = getComputedStyle(document.documentElement);
		const value = (name) => css.getPropertyValue(name).trim();

		g.theme = {
			text: value('--frame-text'), edge: value('--frame-edge'), page: value('--page'),
			match: value('--match'), matchText: value('--match-text'),
			focus: value('--focus'),
			font: FONT_PX + 'px ' + value('--mono'),
		};
		g.context.font = g.theme.font;
		g.glyph = g.context.measureText('MMMMMMMMMM').width / 10;
	}

	function formsOf(g, row) {
		if (!g.texts.has(row))
			g.texts.set(row, Capture.shortForms(g.capture.symbols[row]));
		return g.texts.get(row);
	}

	/* The longest form of the name that fits; the last one cut. '' where nothing would be read. */
	function label(g, row, width) {
		const room = Math.floor((width - 2 * PAD) / g.glyph);

		if (room < 3)
			return '';
		const forms = formsOf(g, row);
		const fits = forms.find((f) => f.length <= room);

		return fits || forms[forms.length - 1].slice(0, room - 1) + '…';
	}

	/* --- painting --------------------------------------------------------------------------- */

	function paintNode(g, node, top) {
		const t = g.tree, c = g.context, b = box(g, node), y = b.y - top;
		const matched = g.mask && g.mask[node];
		const gap = Math.min(1, b.width / 8);

		c.globalAlpha = matched ? 1 : g.mask ? 0.42 : isAncestor(g, node) ? 0.6 : 1;
		c.fillStyle = matched ? g.theme.match : Colours.fill(g.colours, t.symbol[node], t.id[node]);
		c.fillRect(b.x, y, Math.max(b.width - gap, LEAST), ROW - 1);
		const text = label(g, t.symbol[node], b.width);
		if (text) {
			c.globalAlpha = g.mask && !matched ? 0.75 : 1;
			c.fillStyle = matched ? g.theme.matchText : g.theme.text;
			c.fillText(text, b.x + PAD, y + ROW / 2, b.width - 2 * PAD);
		}
	}

	function outline(g, node, top, lineWidth) {
		const b = box(g, node), c = g.context;

		c.globalAlpha = 1;
		c.strokeStyle = g.theme.focus;
		c.lineWidth = lineWidth;
		c.strokeRect(b.x + lineWidth / 2, b.y - top + lineWidth / 2,
			     Math.max(b.width - 1 - lineWidth, 1), ROW - 1 - lineWidth);
	}

	function draw(g) {
		const c = g.context, top = g.scroller.scrollTop;
		const firstY = top - ROW, lastY = top + g.height;

		g.waiting = false;
		if (!g.tree || !g.colours)
			return;
		if (!g.theme)
			readTheme(g);
		c.setTransform(g.scale, 0, 0, g.scale, 0, 0);
		c.globalAlpha = 1;
		c.fillStyle = g.theme.page;
		c.fillRect(0, 0, g.width, g.height);
		c.font = g.theme.font;
		c.textBaseline = 'middle';
		c.direction = 'ltr';
		for (const nodes of g.rows) {
			const y = box(g, nodes[0]).y;

			if (y > firstY && y < lastY)
				for (const node of nodes)
					paintNode(g, node, top);
		}
		if (g.hover >= 0 && shown(g, g.hover))
			outline(g, g.hover, top, 1);
		if (g.focus >= 0 && shown(g, g.focus))
			outline(g, g.focus, top, 2);
	}

	function schedule(g) {
		if (!g.waiting) {
			g.waiting = true;
			requestAnimationFrame(() => draw(g));
		}
	}

	/* --- what the page sets ------------------------------------------------------------------ */

	/* Whether a node is within the drawing: an ancestor of the zoom, or wide enough below it. */
	function shown(g, node) {
		const t = g.tree;

		return isAncestor(g, node) ||
			(node >= g.zoom && node < t.end[g.zoom] && t.total[node] * pxPerSample(g) >= LEAST);
	}

	function resize(g) {
		g.width = g.scroller.clientWidth;
		g.height = g.scroller.clientHeight;
		g.scale = window.devicePixelRatio || 1;
		g.canvas.width = Math.round(g.width * g.scale);
		g.canvas.height = Math.round(g.height * g.scale);
		g.canvas.style.width = g.width + 'px';
		g.canvas.style.height = g.height + 'px';
		if (g.tree)
			layout(g);
		/* At once: a resized canvas is empty, and an empty frame would flash. */
		draw(g);
	}

	function show(g, tree, zoom, rootBelow) {
		const moved = g.tree !== tree || g.zoom !== zoom || g.rootBelow !== rootBelow;

		g.tree = tree;
		g.zoom = zoom;
		g.rootBelow = rootBelow;
		if (moved) {
			g.hover = -1;
			layout(g);
			reveal(g, zoom);
		}
		schedule(g);
	}

	/* Scrolls so that a node, with some of what it calls, is in the window. */
	function reveal(g, node) {
		const b = box(g, node), s = g.scroller;
		const calls = Math.min(4 * ROW, g.height / 3);
		const above = b.y - (g.rootBelow ? calls : ROW);
		const below = b.y + ROW + (g.rootBelow ? ROW : calls);

		if (above < s.scrollTop)
			s.scrollTop = Math.max(0, above);
		else if (below > s.scrollTop + g.height)
			s.scrollTop = below - g.height;
	}

	/* The neighbour in a direction: 'caller', 'callee', 'left', 'right'. The node itself where
	 * there is none that can be seen. */
	function neighbour(g, node, direction) {
		const row = g.rows[g.tree.depth[node]] || [];
		const i = row.indexOf(node);
		let to;

		if (direction === 'caller')
			to = g.tree.parent[node];
		else if (direction === 'callee')
			to = (g.rows[g.tree.depth[node] + 1] || []).find((n) => isAncestor(g, n) ||
				g.tree.parent[n] === node);
		else
			to = row[i + (direction === 'left' ? -1 : 1)];
		return to === undefined || to < 0 ? node : to;
	}

	return {create, resize, show, schedule, draw, at, box, shown, reveal, neighbour, readTheme};
})();

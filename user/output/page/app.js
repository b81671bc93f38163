/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The page: its state (process, zoom, search, direction), kept in location.hash, and what each
 * input changes. Everything shown follows from the state through render().
 */
const App = (() => {
	const HOTTEST = 5; /* rows of the strip */
	const LEGEND = ['application', 'jit', 'image', 'native', 'kernel', 'stub', 'unknown', 'note'];
	const state = {process: null, zoom: 0, search: '', regex: false, flip: false};
	let capture, graph, chooser, strip, tree;
	let mask = null; /* matches of the search in the tree, null without a search */

	/* --- state and address ------------------------------------------------------------------ */

	function hashOf(s) {
		const parts = new URLSearchParams();

		parts.set('process', s.process === null ? 'all' : s.process);
		if (s.zoom)
			parts.set('zoom', s.zoom);
		if (s.search)
			parts.set('search', s.search);
		for (const flag of ['regex', 'flip'])
			if (s[flag])
				parts.set(flag, 1);
		return '#' + parts;
	}

	/* A number below count, or null: an address may be edited or from another capture. */
	function rowOf(text, count) {
		const row = /^\d{1,9}$/.test(text ?? '') ? Number(text) : count;

		return row < count ? row : null;
	}

	function readHash() {
		const parts = new URLSearchParams(location.hash.slice(1));
		const process = rowOf(parts.get('process'), capture.processes.length);

		state.process = process ?? (parts.has('process') ? null : capture.first);
		state.zoom = rowOf(parts.get('zoom'), Capture.tree(capture, state.process).count) ?? 0;
		state.search = parts.get('search') ?? '';
		state.regex = parts.has('regex');
		state.flip = parts.has('flip');
	}

	/* Steps of the analyst (process, zoom) can be undone with the browser's Back; typing cannot. */
	function writeHash(step) {
		const hash = hashOf(state);

		if (hash === location.hash)
			return;
		try {
			if (step)
				history.pushState(null, '', hash);
			else
				history.replaceState(null, '', hash);
		} catch {
			/* Shown in a frame without an address of its own: no links to a view there. */
		}
	}

	function change(fields, step) {
		Object.assign(state, fields);
		writeHash(step);
		render();
	}

	/* --- showing ---------------------------------------------------------------------------- */

	function render() {
		tree = Capture.tree(capture, state.process);
		Chooser.show(chooser, state.process);
		renderSearch();
		graph.mask = mask && mask.includes(1) ? mask : null; /* no match dims nothing */
		if (graph.tree !== tree || graph.zoom !== state.zoom)
			graph.focus = -1;
		Graph.show(graph, tree, state.zoom, state.flip);
		renderPath();
		renderLegend();
		renderHottest();
		describe(state.zoom);
		Dom.byId('reset').disabled = !state.zoom;
		Dom.byId('flip').setAttribute('aria-pressed', String(state.flip));
	}

	function renderSearch() {
		const box = Dom.byId('search-text'), result = Dom.byId('search-result');
		const matcher = Search.compile(state.search, state.regex);
		const wrong = Boolean(matcher && matcher.error);

		if (box.value !== state.search)
			box.value = state.search;
		box.classList.toggle('wrong', wrong);
		box.setAttribute('aria-invalid', String(wrong));
		result.classList.toggle('wrong', wrong);
		Dom.byId('search-regex').setAttribute('aria-pressed', String(state.regex));
		mask = matcher && !wrong ? Search.mark(capture, tree, matcher) : null;
		result.textContent = wrong ? matcher.error : mask ? matchText() : '';
		result.title = result.textContent;
		const some = mask !== null &&
			mask.subarray(state.zoom, tree.end[state.zoom]).includes(1);

		Dom.byId('search-next').disabled = Dom.byId('search-previous').disabled = !some;
	}

	function matchText() {
		const found = Search.sum(tree, mask, state.zoom);

		if (!found.frames)
			return state.zoom ? 'no match in this view' : 'no match';
		return 'matched ' + Format.share(found.samples, tree.total[state.zoom]) +
			(state.zoom ? ' of view' : '') + ' · ' + Format.plural(found.frames, 'frame');
	}

	function ancestors(node) {
		const list = [];

		for (let i = node; i >= 0; i = tree.parent[i])
			list.unshift(i);
		return list;
	}

	function renderPath() {
		const nodes = ancestors(state.zoom);
		/* The ends of a long path tell most: where it comes from and what called the frame. */
		const keep = nodes.length <= 7 ? nodes : [...nodes.slice(0, 2), -1, ...nodes.slice(-4)];

		if (!state.zoom) {
			Dom.fill(Dom.byId('path'), 'Click a frame to zoom in, point at one for its figures.');
			return;
		}
		Dom.fill(Dom.byId('path'), ...keep.flatMap((node, i) => {
			const parts = i ? [Dom.make('i', '', '›')] : [];

			parts.push(node < 0 ? Dom.make('span', '', '…' + (nodes.length - 6) + '…')
				: pathButton(node));
			return parts;
		}));
	}

	function pathButton(node) {
		const symbol = capture.symbols[tree.symbol[node]];
		const forms = Capture.shortForms(symbol);
		const button = Dom.make('button', node === state.zoom ? 'here' : '',
			Dom.make('bdi', '', forms[Math.min(1, forms.length - 1)].slice(0, 120)));

		button.type = 'button';
		button.title = symbol.name;
		button.addEventListener('click', () => zoomTo(node));
		return button;
	}

	function renderLegend() {
		const sums = Capture.selfByStyle(capture, tree, state.zoom);
		const whole = tree.total[state.zoom];

		Dom.fill(Dom.byId('legend'), ...LEGEND.filter((s) => sums.has(s)).map((style) => {
			const sum = sums.get(style);
			const swatch = Dom.make('span', 'swatch');
			const item = Dom.make('li', '', swatch,
				Details.KIND_TEXT[style] + ' ' + Format.percent(sum, whole));

			swatch.style.background = Graph.fillOf(graph, legendSymbol(style));
			item.title = 'share of what is shown, by self samples';
			return item;
		}));
	}

	function renderHottest() {
		const whole = tree.total[state.zoom];

		Dom.fill(Dom.byId('hottest-list'),
			 ...Capture.topSelf(capture, tree, state.zoom, HOTTEST).map((top) =>
				 Dom.make('li', '', hottestButton(capture.symbols[top.row], top.samples, whole))));
	}

	function hottestButton(symbol, samples, whole) {
		const forms = Capture.shortForms(symbol), swatch = Dom.make('span', 'swatch');
		const button = Dom.make('button', '',
			Dom.make('span', 'share', Format.percent(samples, whole)), swatch,
			Dom.make('span', 'name', Dom.make('bdi', '', forms[Math.min(1, forms.length - 1)])),
			Dom.make('span', 'where', Dom.make('bdi', '',
				symbol.module === symbol.name ? '' : symbol.module)));

		swatch.style.background = Graph.fillOf(graph, symbol);
		button.type = 'button';
		button.title = symbol.name + '\n' + Format.share(samples, whole) + ', ' +
			Format.weight(samples) + ' by itself; click to find it';
		button.addEventListener('click', () => change({search: symbol.name, regex: false}, false));
		return button;
	}

	/* A symbol that stands for a style. */
	function legendSymbol(style) {
		const kind = {application: 3, jit: 3, image: 5, native: 2, kernel: 1, stub: 4,
			unknown: 0, note: 6}[style];

		return {kind, application: style === 'application', module: ''};
	}

	function describe(node) {
		Details.fillStrip(strip, capture, tree, node);
	}

	function announce(text) {
		Dom.byId('announce').textContent = text;
	}

	/* --- what the analyst does -------------------------------------------------------------- */

	function chooseProcess(process) {
		change({process, zoom: 0}, true);
		Dom.byId('graph').focus();
	}

	function zoomTo(node) {
		change({zoom: node}, true);
		announce((node ? 'Zoomed into ' : 'Whole view: ') +
			Details.sentence(capture, tree, node));
	}

	/* One step out; in the view of all processes, a process frame is entered like any other. */
	function zoomOut() {
		if (state.zoom)
			zoomTo(tree.parent[state.zoom]);
	}

	function focusOn(node) {
		graph.focus = node;
		Graph.reveal(graph, node);
		Graph.schedule(graph);
		describe(node);
		announce(Details.sentence(capture, tree, node));
	}

	function move(direction) {
		focusOn(graph.focus < 0 ? state.zoom : Graph.neighbour(graph, graph.focus, direction));
	}

	/* The next match that can be seen, in the order of the graph, around the ends. */
	function nextMatch(step) {
		if (!mask || !mask.includes(1))
			return;
		const first = state.zoom, count = tree.end[first] - first;
		let i = (graph.focus >= first ? graph.focus : step > 0 ? first - 1 : first) - first;

		for (let n = 0; n < count; n++) {
			i = (i + step + count) % count;
			if (mask[first + i] && Graph.shown(graph, first + i)) {
				focusOn(first + i);
				return;
			}
		}
	}

	function escape() {
		if (state.search)
			change({search: ''}, false);
		else
			zoomOut();
	}

	/* --- input ------------------------------------------------------------------------------- */

	const KEYS = {
		'/': () => { Dom.byId('search-text').focus(); Dom.byId('search-text').select(); },
		'0': () => zoomTo(0),
		'p': () => Chooser.open(chooser),
		'i': () => change({flip: !state.flip}, false),
		'?': () => Dom.byId('help').showModal(),
		'Escape': escape,
	};
	const GRAPH_KEYS = {
		ArrowUp: () => move(state.flip ? 'callee' : 'caller'),
		ArrowDown: () => move(state.flip ? 'caller' : 'callee'),
		ArrowLeft: () => move('left'),
		ArrowRight: () => move('right'),
		Enter: () => { if (graph.focus >= 0) zoomTo(graph.focus); },
		Home: () => zoomTo(0),
		Backspace: zoomOut,
	};

	function onKey(e) {
		const typing = e.target.matches('input');
		const action = typing ? null : KEYS[e.key] ||
			(e.target.matches('button, summary, a') ? null : GRAPH_KEYS[e.key]);

		if (!action || e.ctrlKey || e.metaKey || e.altKey || Dom.byId('help').open)
			return;
		e.preventDefault();
		action();
	}

	function onSearchKey(e) {
		if (e.key === 'Enter') {
			nextMatch(e.shiftKey ? -1 : 1);
		} else if (e.key === 'Escape') {
			if (state.search)
				change({search: ''}, false);
			else
				Dom.byId('graph').focus();
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}

	function pointed(e) {
		const r = graph.scroller.getBoundingClientRect();

		return Graph.at(graph, e.clientX - r.left, e.clientY - r.top);
	}

	function onPointer(e) {
		const node = pointed(e), tip = Dom.byId('tip');

		if (node !== graph.hover) {
			graph.hover = node;
			graph.scroller.classList.toggle('pointing', node >= 0);
			Graph.schedule(graph);
			if (node >= 0)
				Details.fillTip(tip, capture, tree, node);
			describe(node >= 0 ? node : graph.focus >= 0 ? graph.focus : state.zoom);
		}
		if (node >= 0)
			Details.placeTip(tip, e.clientX, e.clientY);
		else
			tip.hidden = true;
	}

	function onLeave() {
		graph.hover = -1;
		Dom.byId('tip').hidden = true;
		Graph.schedule(graph);
		describe(graph.focus >= 0 ? graph.focus : state.zoom);
	}

	function onClick(e) {
		const node = pointed(e);

		if (node >= 0) {
			Dom.byId('tip').hidden = true;
			zoomTo(node);
		}
	}

	function listen() {
		const box = Dom.byId('search-text'), area = graph.scroller;

		box.addEventListener('input', () => change({search: box.value}, false));
		box.addEventListener('keydown', onSearchKey);
		Dom.byId('search-regex').addEventListener('click', () =>
			change({regex: !state.regex}, false));
		Dom.byId('search-next').addEventListener('click', () => nextMatch(1));
		Dom.byId('search-previous').addEventListener('click', () => nextMatch(-1));
		Dom.byId('reset').addEventListener('click', () => zoomTo(0));
		Dom.byId('flip').addEventListener('click', KEYS.i);
		Dom.byId('help-button').addEventListener('click', KEYS['?']);
		document.addEventListener('keydown', onKey);
		area.addEventListener('pointermove', onPointer);
		area.addEventListener('pointerleave', onLeave);
		area.addEventListener('click', onClick);
		area.addEventListener('scroll', () => {
			Dom.byId('tip').hidden = true;
			Graph.schedule(graph);
		});
		window.addEventListener('popstate', () => { readHash(); render(); });
		window.addEventListener('hashchange', () => { readHash(); render(); });
		new ResizeObserver(() => Graph.resize(graph)).observe(area);
		window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
			Graph.readTheme(graph);
			render();
		});
	}

	/* --- start ------------------------------------------------------------------------------- */

	function showEmpty(title, ...lines) {
		Dom.byId('graph').hidden = Dom.byId('bar').hidden = true;
		Dom.byId('path').hidden = Dom.byId('strip').hidden = true;
		document.querySelector('footer').hidden = true;
		Dom.fill(Dom.byId('empty'), Dom.make('div', '', Dom.make('h2', '', title),
			...lines.map((l) => Dom.make('p', '', l)))).hidden = false;
	}

	function tellBlocked() {
		Dom.byId('hottest-title').textContent = 'Most blocked time in this view';
		Dom.byId('help-width').textContent = 'Each box is a function in its caller. Its width is the ' +
			'blocked time of threads that waited below it, so the widest boxes kept threads waiting ' +
			'longest, summed over threads; left to right is by weight, not by time. The function that ' +
			'waited is the last box of its column, mostly the kernel\u2019s.';
		Dom.byId('help-error').textContent = 'Blocked time is estimated from looks at random moments; ' +
			'hotrun report --blocked tells how far shares can be off. Threads counts the distinct ' +
			'threads found there. Matched shares count nested matches once.';
	}

	function start() {
		try {
			capture = Capture.read(Dom.byId('data').textContent);
		} catch (e) {
			showEmpty('The data of this page cannot be read',
				  'The file may be cut short or altered (' + e.message + ').');
			return;
		}
		Format.setTicksPerSample(capture.ticksPerSample);
		Format.setBlocked(capture.blocked);
		Header.show(capture);
		if (!capture.samples && capture.blocked) {
			showEmpty('No blocked time in this capture',
				  'No thread was found in a wait that is not idle (--idle shows all).');
			return;
		}
		if (!capture.samples) {
			showEmpty('No samples in this capture',
				  'Nothing used a CPU at the moments that were looked at, or nothing that ' +
				  'the filter lets through. Idle CPUs take no samples.',
				  'Record while the load is on, or longer (hotrun record -d 30); the losses ' +
				  'at the top tell whether samples were dropped.');
			return;
		}
		if (capture.blocked)
			tellBlocked();
		strip = {title: Dom.byId('details-title'), raw: Dom.byId('details-raw'),
			reason: Dom.byId('details-reason'), facts: Dom.byId('details-facts')};
		graph = Graph.create(Dom.byId('graph'), Dom.byId('extent'), Dom.byId('canvas'), capture);
		Graph.readTheme(graph);
		chooser = Chooser.create(capture, chooseProcess);
		readHash();
		Graph.resize(graph);
		render();
		Graph.resize(graph); /* what render() filled may have taken height from the graph */
		listen();
	}

	/* What the page shows, for its tests. */
	function snapshot() {
		return {state: Object.assign({}, state), capture, graph, tree, mask};
	}

	start();
	return {snapshot};
})();

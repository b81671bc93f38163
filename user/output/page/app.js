/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The page: its state, kept in location.hash, and everything shown, which follows from the state
 * through render(). What keys and pointers do is in input.js.
 */
const App = (() => {
	const HOTTEST = 5; /* rows of the list */
	const LEGEND_MAX = 12;
	const WEIGHT_TEXT = {cpu: 'CPU', harm: 'Harm: who waited meanwhile',
		slow: 'CPU while requests were slow', blocked: 'Blocked time'};
	const HOTTEST_TEXT = {cpu: 'Most CPU by itself in this view', slow: 'Most CPU by itself in this view',
		harm: 'Most waited for in this view', blocked: 'Most blocked time in this view'};
	const TABLES = {tree: Views.callTree, bottom: Views.bottomUp, threads: Views.threads,
		modules: Views.modules};
	const app = {capture: null, state: null, shown: null, graph: null, tree: null, zoom: 0, mask: null,
		marked: null, changes: null};
	let source, chooser, details, strip, sandwich, drawnTable = '', drawnFlame = null;

	/* --- state and address ------------------------------------------------------------------ */

	/* Steps of the analyst can be undone with the browser's Back; typing cannot. */
	function writeHash(step) {
		const hash = State.encode(app.state, app.capture);

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

	/* Sets parts of the state. zoom is a node of the folded stacks, 0 = the root of the tree. */
	function change(fields, step) {
		const before = app.shown.folded.stacks, at = app.zoom ? app.tree.id[app.zoom] : 0;
		const refolds = ['filters', 'mycode', 'recursion', 'workload', 'process'].some((f) => f in fields);

		Object.assign(app.state, fields);
		if (refolds && !('zoom' in fields) && at)
			app.state.zoom = Shown.follow(before, at, Shown.make(source, app.state).folded.stacks);
		writeHash(step);
		render();
	}

	function readHash() {
		app.state = State.decode(location.hash, app.capture);
	}

	/* --- showing ---------------------------------------------------------------------------- */

	function render() {
		const {state, capture} = app;

		Format.setWeight(state.weight, capture.host.hz);
		const {tree} = app;

		app.shown = Shown.make(source, state);
		app.shown.do = Input.actions;
		app.shown.episodes = app.episodes;
		if (app.changes)
			Changes.add(app.changes, app.shown, state);
		app.tree = app.shown.tree;
		app.zoom = app.shown.zoom;
		if (tree !== app.tree || !app.colours || app.colours.by !== state.colour)
			app.colours = Colours.make(app.shown, state.colour);
		app.shown.colours = app.colours;
		Chooser.show(chooser, state.process);
		Chips.show(Dom.byId('chips'), state, app.shown, (fields) => change(fields, true));
		if (!app.changes)
			Strip.show(strip, Object.assign({}, app.shown, {heat: state.heat ? app.shown.heat() : null}));
		renderControls();
		renderSearch();
		renderView();
		if (app.changes)
			Changes.show(app.changes, app, app.mask ? app.marked.symbols : null);
	}

	function renderControls() {
		const {state} = app;

		for (const tab of Dom.byId('views').children) {
			const on = tab.dataset.view === state.view;

			tab.setAttribute('aria-selected', String(on));
			tab.tabIndex = on ? 0 : -1;
		}
		Dom.byId('weight').value = state.weight;
		Dom.byId('colour').value = state.colour;
		Dom.byId('reset').disabled = !app.zoom && !(app.changes && app.changes.shown.zoom);
		Dom.byId('flip').setAttribute('aria-pressed', String(state.flip));
		Dom.byId('heat').setAttribute('aria-pressed', String(state.heat));
		for (const flag of ['mycode', 'recursion', 'workload'])
			Dom.byId('filter-' + flag).setAttribute('aria-pressed', String(state[flag]));
		Dom.byId('note').textContent = noteText();
		Dom.byId('note').hidden = !noteText();
	}

	/* What has to be known of what is shown. */
	function noteText() {
		const {state, tree} = app, none = tree.total[0] === 0;

		if (none && app.changes && !app.shown.all && Changes.lacking(app.changes))
			return Changes.lacking(app.changes);
		if (none)
			return 'Nothing is left of this selection: take filters away, or choose another time.';
		if (state.weight === 'harm')
			return 'Each sample counts as many threads as waited for its CPU: width is time that ' +
				'others waited.';
		if (state.weight === 'slow')
			return 'Samples of seconds in which a tenth of the requests or more were slow.';
		if (state.weight === 'blocked')
			return 'Time that threads stood blocked, summed over threads, from looks at random moments.';
		return '';
	}

	function renderView() {
		const {state} = app, isFlame = state.view === 'flame', isSandwich = state.view === 'sandwich';

		Dom.byId('graph').hidden = !isFlame;
		Dom.byId('sandwich').hidden = !isSandwich;
		Dom.byId('table').hidden = isFlame || isSandwich;
		Dom.byId('path').hidden = Dom.byId('strip').hidden = !isFlame;
		document.querySelector('footer').hidden = !(isFlame || isSandwich);
		for (const id of ['search', 'flip', 'reset'])
			Dom.byId(id).classList.toggle('idle', !isFlame);
		if (isFlame)
			renderFlame();
		else if (isSandwich)
			renderSandwich();
		else
			renderTable();
	}

	function renderFlame() {
		const {graph, tree, state} = app;

		graph.mask = app.mask && app.mask.includes(1) ? app.mask : null; /* no match dims nothing */
		if (graph.tree !== tree || graph.zoom !== app.zoom)
			graph.focus = -1;
		graph.colours = app.colours;
		/* What is shown again, or beside more chips, has another size than it had. */
		if (graph.scroller.clientWidth !== graph.width || graph.scroller.clientHeight !== graph.height)
			Graph.resize(graph);
		Graph.show(graph, tree, app.zoom, state.flip);
		describe(app.zoom);
		/* A search changes none of these. */
		if (drawnFlame === app.colours)
			return;
		drawnFlame = app.colours;
		renderPath();
		renderLegend(app.colours);
		renderHottest();
	}

	/* Methods that ran most by themselves in what is zoomed into. */
	function topOfView(n) {
		const {folded, sums, inside} = app.shown;

		return Tree.topSelf(app.capture, folded.stacks, sums, inside, n);
	}

	/* Who calls a method and what it calls. Without one that was chosen: the zoomed one, or that
	 * which ran most. */
	function renderSandwich() {
		const {state, tree} = app;
		const zoomed = app.zoom && Capture.isCode(app.capture.symbols[tree.symbol[app.zoom]])
			? tree.symbol[app.zoom] : null;
		const hottest = topOfView(1)[0];
		const method = state.method ?? zoomed ?? (hottest ? hottest.row : null);

		Sandwich.show(sandwich, app.shown, method);
		drawnFlame = null;
		renderLegend(Sandwich.coloursOf(app.colours));
	}

	function renderTable() {
		const {state, capture, shown} = app;
		/* What tables do not depend on. */
		const others = {zoom: 0, search: '', regex: false, flip: false};
		const key = State.encode(Object.assign({}, state, others), capture);

		if (key === drawnTable)
			return;
		drawnTable = key;
		Dom.fill(Dom.byId('table'), state.view !== 'report' ? TABLES[state.view](shown)
			: app.changes ? Changes.report(app.changes,
				(name) => change({view: 'flame', search: name, regex: false}, true))
			: Report.make(capture, shown.seconds, state.span));
		Dom.byId('table').scrollTop = 0;
	}

	function renderSearch() {
		const {state, tree} = app;
		const box = Dom.byId('search-text'), result = Dom.byId('search-result');

		if (!app.marked || app.marked.text !== state.search || app.marked.regex !== state.regex ||
		    (app.marked.symbols && app.marked.symbols.length !== app.capture.symbols.length)) {
			const matcher = Search.compile(state.search, state.regex ? 're' : 'has');
			let error = matcher && matcher.error;
			let symbols = matcher && !error ? Search.markSymbols(app.capture, matcher) : null;

			if (symbols && matcher.isCostly && matcher.isCostly()) {
				error = 'takes too long: a simpler pattern, or plain text';
				symbols = null;
			}
			app.marked = {text: state.search, regex: state.regex, error, symbols};
		}
		const wrong = Boolean(app.marked.error);

		if (box.value !== state.search)
			box.value = state.search;
		box.classList.toggle('wrong', wrong);
		box.setAttribute('aria-invalid', String(wrong));
		result.classList.toggle('wrong', wrong);
		Dom.byId('search-regex').setAttribute('aria-pressed', String(state.regex));
		app.mask = app.marked.symbols ? Search.mark(tree, app.marked.symbols) : null;
		result.textContent = wrong ? app.marked.error : app.mask ? matchText() : '';
		result.title = result.textContent;
		const some = app.mask !== null && app.mask.subarray(app.zoom, tree.end[app.zoom]).includes(1);

		Dom.byId('search-next').disabled = Dom.byId('search-previous').disabled = !some;
	}

	function matchText() {
		const {tree, zoom} = app, {folded, sums, inside} = app.shown;
		const found = Search.sum(folded.stacks, sums.total, inside, app.marked.symbols);

		if (!found.frames)
			return zoom ? 'no match in this view' : 'no match';
		return 'matched ' + Format.share(found.samples, tree.total[zoom]) +
			(zoom ? ' of view' : '') + ' · ' + Format.weight(found.samples) + ' · ' +
			Format.plural(found.frames, 'frame');
	}

	function renderPath() {
		const nodes = Tree.path(app.tree, app.zoom);
		/* The ends of a long path tell most: where it comes from and what called the frame. */
		const keep = nodes.length <= 7 ? nodes : [...nodes.slice(0, 2), -1, ...nodes.slice(-4)];

		if (!app.zoom) {
			Dom.fill(Dom.byId('path'), 'Click a frame to zoom in, point at one for its figures, ' +
				'right-click for more.');
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
		const symbol = app.capture.symbols[app.tree.symbol[node]];
		const button = Dom.make('button', node === app.zoom ? 'here' : '',
			Dom.make('bdi', '', Capture.shortName(symbol).slice(0, 120)));

		button.type = 'button';
		button.title = symbol.name;
		button.addEventListener('click', () => zoomTo(node));
		return button;
	}

	function renderLegend(colours) {
		const {capture, tree, zoom} = app, {folded, inside} = app.shown, samples = new Map();

		if (colours.step) {
			Dom.fill(Dom.byId('legend'), ...Changes.legend(colours));
			return;
		}
		const sums = Tree.selfBy(folded.stacks, app.shown.sums, inside, (row, id) => {
			const key = Colours.key(colours, row, id);

			if (!samples.has(key))
				samples.set(key, [row, id]);
			return key;
		});
		const order = (key) => colours.by === 'kind' ? Colours.KINDS.indexOf(key) : 0;
		const list = [...sums].sort((a, b) => order(a[0]) - order(b[0]) || b[1] - a[1]);

		Dom.fill(Dom.byId('legend'), ...list.slice(0, LEGEND_MAX).map(([key, sum]) => {
			const swatch = Dom.make('span', 'swatch');
			const item = Dom.make('li', '', swatch,
				Dom.make('bdi', '', Details.KIND_TEXT[key] || key || '[unknown]'),
				' ' + Format.percent(sum, tree.total[zoom]));

			swatch.style.background = Colours.fill(colours, ...samples.get(key));
			item.title = 'share of what is shown, by itself';
			return item;
		}));
		if (list.length > LEGEND_MAX)
			Dom.byId('legend').append(Dom.make('li', 'muted', 'and ' + (list.length - LEGEND_MAX) + ' more'));
		Dom.byId('legend').setAttribute('aria-label', 'Colours, by ' + colours.by + ' (' +
			capture.symbols.length + ' methods)');
	}

	function renderHottest() {
		const whole = app.tree.total[app.zoom];

		if (app.changes) {
			renderChanged();
			return;
		}
		Dom.byId('hottest-title').textContent = HOTTEST_TEXT[app.state.weight];
		Dom.fill(Dom.byId('hottest-list'),
			 ...topOfView(HOTTEST).map((top) =>
				 Dom.make('li', '', hottestButton(app.capture.symbols[top.row], top, whole))));
	}

	/* Of a difference: what changed most for certain. */
	function renderChanged() {
		const list = Changes.top(app.changes, HOTTEST);

		Dom.byId('hottest-title').textContent = list.length ? 'Changed most, for certain'
			: 'No method changed for certain';
		Dom.fill(Dom.byId('hottest-list'), ...list.map((f) => Dom.make('li', '', listButton(f.text,
			app.colours.step ? Colours.changeFill(app.colours, f.step) : '', f.name, f.name, f.module, f.title, f.find))));
	}

	function hottestButton(symbol, top, whole) {
		return listButton(Format.percent(top.samples, whole), Colours.fill(app.colours, top.row, -1),
			symbol.name, Capture.shortName(symbol), symbol.module === symbol.name ? '' : symbol.module,
			Format.share(top.samples, whole) + ', ' + Format.weight(top.samples) + ' by itself');
	}

	/* A row of the list, which finds the method. */
	function listButton(figure, fill, name, shown, where, title, find = name) {
		const swatch = Dom.make('span', 'swatch');
		const button = Dom.make('button', '', Dom.make('span', 'share', figure), swatch,
			Dom.make('span', 'name', Dom.make('bdi', '', shown)),
			Dom.make('span', 'where', Dom.make('bdi', '', where)));

		swatch.style.background = fill;
		button.type = 'button';
		button.title = name + '\n' + title + '; click to find it';
		button.addEventListener('click', () => change({search: find, regex: false}, false));
		return button;
	}

	function describe(node) {
		Details.fillStrip(details, app.shown, node);
	}

	function announce(text) {
		Dom.byId('announce').textContent = text;
	}

	function zoomTo(node) {
		change({zoom: node ? app.tree.id[node] : 0}, true);
		announce((node ? 'Zoomed into ' : 'Whole view: ') + Details.sentence(app.shown, app.zoom));
	}

	/* --- start ------------------------------------------------------------------------------- */

	function showEmpty(title, ...lines) {
		for (const id of ['graph', 'other', 'bar', 'path', 'strip', 'time', 'chips', 'sandwich', 'table', 'note'])
			Dom.byId(id).hidden = true;
		document.querySelector('footer').hidden = true;
		Dom.fill(Dom.byId('empty'), Dom.make('div', '', Dom.make('h2', '', title),
			...lines.map((l) => Dom.make('p', '', l)))).hidden = false;
	}

	function fillChoices() {
		const missing = [['blocked time', app.capture.blockedOff], ['requests', app.capture.requestsOff],
			['waits', app.capture.waitsOff]].filter(([, why]) => why);

		Dom.byId('weight').title += missing.map(([what, why]) => '\n' + what + ' n/a: ' + why).join('');
		for (const option of [...Dom.byId('colour').options])
			if (!State.colours(app.capture).includes(option.value))
				option.remove();
		Dom.fill(Dom.byId('weight'), ...State.weights(app.capture).map((w) => {
			const option = Dom.make('option', '', WEIGHT_TEXT[w]);

			option.value = w;
			return option;
		}));
	}

	function build() {
		const {capture} = app;

		details = {title: Dom.byId('details-title'), raw: Dom.byId('details-raw'),
			reason: Dom.byId('details-reason'), facts: Dom.byId('details-facts')};
		source = Shown.create(capture);
		app.changes = Changes.create(capture, source);
		app.episodes = Report.episodes(capture);
		app.graph = Graph.create(Dom.byId('graph'), Dom.byId('extent'), Dom.byId('canvas'), capture);
		Graph.readTheme(app.graph);
		chooser = Chooser.create(capture, (process) => {
			change({process, zoom: 0}, true);
			Dom.byId('graph').focus();
		});
		app.chooser = chooser;
		app.strip = strip = Strip.create(Dom.byId('time'), Dom.byId('time-canvas'), Dom.byId('tip'),
			(span) => {
				change({span}, true);
				announce(span ? 'Chosen: ' + Format.weight(app.tree.total[0]) : 'All of the recording');
			});
		app.sandwich = sandwich = Sandwich.create(capture, Input.actions);
		fillChoices();
		readHash();
		Input.listen(app);
		if (app.changes) {
			Changes.build(app.changes, app, Input.actions.menu, Input.actions.say);
			Changes.header(app.changes);
		}
		Graph.resize(app.graph);
		render();
		Graph.resize(app.graph); /* what render() filled may have taken height from the graph */
	}

	function themeChanged() {
		Graph.readTheme(app.graph);
		Sandwich.themeChanged(sandwich);
		Strip.themeChanged(strip);
		if (app.changes)
			Graph.readTheme(app.changes.graph);
		drawnTable = '';
		app.colours = null;
		render();
	}

	async function start() {
		try {
			app.capture = Capture.read(await Codec.read(Dom.byId('data').textContent));
		} catch (e) {
			showEmpty('The data of this page cannot be read', typeof DecompressionStream === 'undefined'
				? 'This browser is too old: it needs DecompressionStream (browsers of 2023 have it).'
				: 'The file may be cut short or altered (' + e.message + ').');
			return;
		}
		Dom.byId('data').remove();
		Format.setTicksPerSample(app.capture.ticksPerSample);
		Header.show(app.capture);
		if (!app.capture.samples && !app.capture.blockedMs) {
			showEmpty('No samples in this capture',
				  'Nothing used a CPU at the moments that were looked at, or nothing that ' +
				  'the filter lets through. Idle CPUs take no samples.',
				  'Record while the load is on, or longer (hotrun record -d 30); the losses ' +
				  'at the top tell whether samples were dropped.');
			return;
		}
		build();
	}

	Object.assign(app, {change, zoomTo, describe, announce, readHash, render, themeChanged});
	app.ready = start();
	return app;
})();

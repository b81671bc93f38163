/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* What keys, pointers and menus do to the page; app: of App. */
const Input = (() => {
	const LONG_PRESS_MS = 550;
	let app = null, filters = null, press = null;

	/* --- what a frame can do ----------------------------------------------------------------- */

	function addFilter(filter) {
		const list = app.state.filters;

		if (list.length < State.FILTERS_MAX)
			app.change({filters: [...list, filter]}, true);
	}

	/* The leaf first, as stack traces have it. */
	function stackText(id) {
		const {stacks} = app.shown.folded;

		return Tree.chain(stacks, 0, id).slice(1).reverse()
			.map((n) => app.capture.symbols[stacks.symbol[n]].name).join('\n');
	}

	async function copy(text, what) {
		app.announce(await Save.copy(text) ? what + ' copied' : 'The browser does not allow to copy');
	}

	/* id: node of the stacks, -1 where only the method is meant. */
	function openMenu(id, row, x, y) {
		const symbol = app.capture.symbols[row], code = Capture.isCode(symbol);
		const name = (kind) => () => addFilter({kind, how: 'is', text: symbol.name});
		const module = (kind) => () => addFilter({kind, how: 'is', text: symbol.module});
		const step = (fields) => () => app.change(fields, true);
		const list = [], moduleName = 'module ' + symbol.module.slice(0, 40);

		Dom.byId('tip').hidden = true;
		if (id >= 0)
			list.push({text: 'Zoom in', hint: 'Enter', act: step({view: 'flame', zoom: id})});
		if (symbol.process)
			list.push({text: 'Only this process', act: step({process: symbol.process.index, zoom: 0})});
		if (code)
			list.push({text: 'Callers and callees', hint: 's', act: () => actions.sandwich(row)},
				{text: 'Find it everywhere', act: step({view: 'flame', search: symbol.name, regex: false})}, '-',
				{text: 'Focus on it', act: name('focus')},
				{text: 'Leave stacks with it out', act: name('hide')},
				{text: 'Merge it into its callers', act: name('merge')},
				{text: 'Collapse it', act: name('collapse')});
		if (code && symbol.module && symbol.module !== symbol.name)
			list.push('-', {text: 'Merge ' + moduleName, act: module('merge')},
				{text: 'Collapse ' + moduleName, act: module('collapse')},
				{text: 'Focus on ' + moduleName, act: module('focus')});
		list.push('-', {text: 'Copy name', act: () => copy(symbol.name, 'Name')});
		if (id >= 0)
			list.push({text: 'Copy stack', act: () => copy(stackText(id), 'Stack')});
		Menu.open(symbol.name.slice(0, 80), list, x, y);
	}

	const actions = {
		filter: addFilter,
		menu: openMenu,
		sandwich: (row) => app.change({view: 'sandwich', method: row}, true),
		/* shown: what the graph is of. */
		say: (graph, node, shown = app.shown) => app.announce(Details.sentence(
			Object.assign({}, shown, {tree: graph.tree}), node)),
	};

	/* --- saving ------------------------------------------------------------------------------ */

	function look() {
		const {capture, colours, tree, state} = app, theme = app.graph.theme;
		const bounds = Seconds.bounds(app.shown.seconds, state.span);
		const when = app.changes ? Changes.SIDES[Changes.side(state)]
			: Format.moment(bounds.from) + ' to ' + Format.moment(bounds.to);
		const filters = state.filters.map(Chips.filterText).join(' · ');

		return {
			width: 1400, page: theme.page, text: theme.text, rootBelow: state.flip,
			title: 'hotrun: ' + Format.visible(capture.host.name || 'capture') + ', ' +
				capture.symbols[tree.symbol[app.zoom]].name,
			note: Format.weight(tree.total[app.zoom]) + ' · ' + when + (filters ? ' · ' + filters : ''),
			fill: (node) => Colours.fill(colours, tree.symbol[node], tree.id[node]),
		};
	}

	function fileName(extension) {
		return 'hotrun-' + Format.visible(app.capture.host.name || 'capture') + '.' + extension;
	}

	function openSave() {
		const {capture, tree, zoom} = app, r = Dom.byId('save').getBoundingClientRect();

		const svg = () => Save.text(Save.svg(capture, tree, zoom, look()), fileName('svg'), 'image/svg+xml');
		const folded = () => Save.text(Save.folded(capture, app.shown.full()), fileName('folded'),
			'text/plain');

		Menu.open('Save what is chosen', [
			{text: 'Picture, SVG', act: svg},
			{text: 'Picture, PNG', act: () => Save.png(capture, tree, zoom, look(), fileName('png'))},
			{text: 'Folded stacks', act: folded},
			'-', {text: 'Copy a link to this view', act: () => copy(location.href, 'Link')},
		], r.left, r.bottom + 4);
	}

	/* --- moving ------------------------------------------------------------------------------ */

	/* A frame may be on the other side of a difference alone. */
	function zoomOut() {
		const other = app.changes ? app.changes.shown : null;

		if (app.zoom)
			app.zoomTo(app.tree.parent[app.zoom]);
		else if (other && other.zoom)
			app.change({zoom: other.tree.id[other.tree.parent[other.zoom]]}, true);
	}

	function focusOn(node) {
		app.graph.focus = node;
		Graph.reveal(app.graph, node);
		Graph.schedule(app.graph);
		app.describe(node);
		app.announce(Details.sentence(app.shown, node));
	}

	function move(direction) {
		focusOn(app.graph.focus < 0 ? app.zoom : Graph.neighbour(app.graph, app.graph.focus, direction));
	}

	/* The next match that can be seen, in the order of the graph, around the ends. */
	function nextMatch(step) {
		const {mask, tree, graph, zoom} = app;

		if (!mask || !mask.includes(1))
			return;
		const count = tree.end[zoom] - zoom;
		let i = (graph.focus >= zoom ? graph.focus : step > 0 ? zoom - 1 : zoom) - zoom;

		for (let n = 0; n < count; n++) {
			i = (i + step + count) % count;
			if (mask[zoom + i] && Graph.shown(graph, zoom + i)) {
				focusOn(zoom + i);
				return;
			}
		}
	}

	function escape() {
		if (app.state.search)
			app.change({search: ''}, false);
		else
			zoomOut();
	}

	function cycle(select) {
		const list = [...select.options].map((o) => o.value);

		select.value = list[(list.indexOf(select.value) + 1) % list.length];
		select.dispatchEvent(new Event('change'));
		app.announce(select.selectedOptions[0].textContent);
	}

	function focused() {
		return app.graph.focus >= 0 ? app.graph.focus : app.zoom;
	}

	/* The menu of the focused frame, below it. */
	function menuOfFocused() {
		const node = focused(), b = Graph.box(app.graph, node);
		const r = app.graph.scroller.getBoundingClientRect();

		openMenu(app.tree.id[node], app.tree.symbol[node], r.left + Math.max(0, b.x) + 20,
			r.top + b.y - app.graph.scroller.scrollTop + b.height);
	}

	function sandwichOfFocused() {
		const row = app.tree.symbol[focused()];

		if (Capture.isCode(app.capture.symbols[row]))
			actions.sandwich(row);
	}

	const KEYS = {
		'/': () => {
			if (app.state.view !== 'flame')
				app.change({view: 'flame'}, true);
			Dom.byId('search-text').focus();
			Dom.byId('search-text').select();
		},
		'0': () => app.zoomTo(0),
		'p': () => Chooser.open(app.chooser),
		'i': () => app.change({flip: !app.state.flip}, false),
		'w': () => cycle(Dom.byId(app.changes ? 'side' : 'weight')),
		'c': () => cycle(Dom.byId('colour')),
		'f': () => filters.open(),
		't': () => Dom.byId(app.changes ? 'other' : 'time').focus(),
		'h': () => { if (!app.changes) app.change({heat: !app.state.heat}, false); },
		'j': () => app.change({mycode: !app.state.mycode}, true),
		'r': () => app.change({recursion: !app.state.recursion}, true),
		'g': () => { if (!app.changes) app.change({workload: !app.state.workload}, true); },
		's': sandwichOfFocused,
		'e': openSave,
		'n': () => nextMatch(1),
		'N': () => nextMatch(-1),
		'?': () => Dom.byId('help').showModal(),
		'Escape': escape,
	};
	State.VIEWS.forEach((view, i) => {
		KEYS[String(i + 1)] = () => {
			if (State.views(app.capture).includes(view))
				app.change({view}, true);
		};
	});
	const GRAPH_KEYS = {
		ArrowUp: () => move(app.state.flip ? 'callee' : 'caller'),
		ArrowDown: () => move(app.state.flip ? 'caller' : 'callee'),
		ArrowLeft: () => move('left'),
		ArrowRight: () => move('right'),
		Enter: () => { if (app.graph.focus >= 0) app.zoomTo(app.graph.focus); },
		Home: () => app.zoomTo(0),
		Backspace: zoomOut,
		m: menuOfFocused,
		ContextMenu: menuOfFocused,
	};

	function onKey(e) {
		const typing = e.target.matches('input, select, textarea');
		const action = typing ? null : KEYS[e.key] || (app.state.view !== 'flame' ||
			e.target.matches('button, summary, a, tr, #other') ? null : GRAPH_KEYS[e.key]);

		if (!action || e.ctrlKey || e.metaKey || e.altKey || Dom.byId('help').open)
			return;
		e.preventDefault();
		action();
	}

	function onSearchKey(e) {
		if (e.key === 'Enter') {
			nextMatch(e.shiftKey ? -1 : 1);
		} else if (e.key === 'Escape') {
			if (app.state.search)
				app.change({search: ''}, false);
			else
				Dom.byId('graph').focus();
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}

	/* --- the graph's pointer ----------------------------------------------------------------- */

	function pointed(e) {
		const r = app.graph.scroller.getBoundingClientRect();

		return Graph.at(app.graph, e.clientX - r.left, e.clientY - r.top);
	}

	function onPointer(e) {
		const {graph} = app, node = pointed(e), tip = Dom.byId('tip');

		if (node !== graph.hover) {
			graph.hover = node;
			graph.scroller.classList.toggle('pointing', node >= 0);
			Graph.schedule(graph);
			if (node >= 0)
				Details.fillTip(tip, app.shown, node);
			app.describe(node >= 0 ? node : focused());
		}
		if (node >= 0 && Dom.byId('menu').hidden)
			Details.placeTip(tip, e.clientX, e.clientY);
		else
			tip.hidden = true;
	}

	function onLeave() {
		app.graph.hover = -1;
		Dom.byId('tip').hidden = true;
		Graph.schedule(app.graph);
		app.describe(focused());
		clearTimeout(press);
	}

	function onClick(e) {
		const node = pointed(e);

		if (node >= 0) {
			Dom.byId('tip').hidden = true;
			app.zoomTo(node);
		}
	}

	function onMenu(e) {
		const node = pointed(e);

		if (node >= 0) {
			e.preventDefault();
			openMenu(app.tree.id[node], app.tree.symbol[node], e.clientX, e.clientY);
		}
	}

	/* A finger that stays opens the menu, where the browser has no event of its own for it. */
	function onPress(e) {
		clearTimeout(press);
		if (e.pointerType === 'touch')
			press = setTimeout(() => onMenu(e), LONG_PRESS_MS);
	}

	function listenGraph(area) {
		area.addEventListener('pointermove', onPointer);
		area.addEventListener('pointerleave', onLeave);
		area.addEventListener('pointerdown', onPress);
		area.addEventListener('pointerup', () => clearTimeout(press));
		area.addEventListener('pointercancel', () => clearTimeout(press));
		area.addEventListener('click', onClick);
		area.addEventListener('contextmenu', onMenu);
		area.addEventListener('scroll', () => {
			clearTimeout(press);
			Dom.byId('tip').hidden = true;
			Graph.schedule(app.graph);
		});
		new ResizeObserver(() => Graph.resize(app.graph)).observe(area);
	}

	function listenTabs() {
		const tabs = Dom.byId('views');

		tabs.addEventListener('click', (e) => {
			const tab = e.target.closest('[role="tab"]');

			if (tab)
				app.change({view: tab.dataset.view}, true);
		});
		tabs.addEventListener('keydown', (e) => {
			const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];

			if (!step)
				return;
			const list = State.views(app.capture), at = list.indexOf(app.state.view);

			app.change({view: list[(at + step + list.length) % list.length]}, true);
			tabs.querySelector('[aria-selected="true"]').focus();
			e.preventDefault();
			e.stopPropagation();
		});
	}

	function listen(of) {
		app = of;
		const box = Dom.byId('search-text');
		const on = (id, act) => Dom.byId(id).addEventListener('click', act);

		box.addEventListener('input', () => app.change({search: box.value}, false));
		box.addEventListener('keydown', onSearchKey);
		on('search-regex', () => app.change({regex: !app.state.regex}, false));
		on('search-next', () => nextMatch(1));
		on('search-previous', () => nextMatch(-1));
		on('reset', () => app.zoomTo(0));
		on('flip', KEYS.i);
		on('heat', KEYS.h);
		on('save', openSave);
		on('help-button', KEYS['?']);
		for (const name of ['weight', 'colour'])
			Dom.byId(name).addEventListener('change', () => app.change({[name]: Dom.byId(name).value}, true));
		filters = Chips.listen(addFilter, (flag) => app.change({[flag]: !app.state[flag]}, true),
			(cut) => app.change({cut: cut > 0 && cut <= 50 ? cut : 0}, true));
		Menu.listen();
		listenTabs();
		listenGraph(app.graph.scroller);
		document.addEventListener('keydown', onKey);
		if (!app.changes)
			new ResizeObserver(() => Strip.resize(app.strip)).observe(Dom.byId('time'));
		for (const event of ['popstate', 'hashchange'])
			window.addEventListener(event, () => { app.readHash(); app.render(); });
		window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', app.themeChanged);
	}

	return {actions, listen};
})();

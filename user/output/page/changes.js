/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The page of a difference: what is before is the first second of its block, what is after the
 * second one (flame.h), so that filters, search and views are those of any capture. Here is what
 * knows of both sides: the other graph, how a frame changed, the findings. names, facts and tables
 * make text of untrusted names, never markup.
 */
const Changes = (() => {
	const SIDES = ['before', 'after'], SURE = 2; /* standard errors, as judge/diff_value.c has it */
	const PER = {request: 'CPU per request', cores: 'CPUs', share: 'of its CPU'};

	/* Of what has no name the document has null. */
	function named(text) {
		return Format.visible(text || '(unknown)');
	}

	/* What finds it, of a name that may be cut. */
	function findable(text) {
		return named(text).replace(/…$/, '');
	}

	function side(state) {
		return state.span.first;
	}

	function spanOf(at) {
		return {kind: 'slices', first: at, last: at};
	}

	function read(capture) {
		try {
			return JSON.parse(capture.diff.document);
		} catch {
			return null;
		}
	}

	/* null of a capture. source: of Shown, of the side that is above. */
	function create(capture, source) {
		if (!capture.diff)
			return null;
		return {
			capture, document: read(capture), source: Shown.create(capture, source), graph: null, shown: null,
			names: capture.diff.names.map(Format.visible),
		};
	}

	/* --- how a frame changed ------------------------------------------------------------------ */

	/* ticks of both sides, of a kind of processes (null: of all). change: -1 .. 1 of what it was at
	 * most; certain: by more than counting and drift explain. */
	function judge(diff, process, ticks) {
		const value = [0, 0];
		let variance = 0;

		for (const at of [0, 1]) {
			const tick = process >= 0 ? diff.kinds[process].tick[at]
				: diff.seconds[at] ? 1 / diff.seconds[at] : 0;

			value[at] = ticks[at] * tick;
			variance += Math.max(ticks[at], 1) * diff.ticksOf[at] * tick * tick +
				(diff.drift[at] * value[at]) ** 2;
		}
		const most = Math.max(...value), difference = value[1] - value[0];

		return {value, change: most ? difference / most : 0,
			certain: Math.abs(difference) > SURE * Math.sqrt(variance)};
	}

	/* -3 .. 3, 0: within the noise. */
	function stepOf({change, certain}) {
		const size = Math.abs(change) > 0.5 ? 3 : Math.abs(change) > 0.15 ? 2 : 1;

		return certain ? Math.sign(change) * size : 0;
	}

	/* Adds to what is shown of one side what the other one has: both(node of the stacks), step(). */
	function add(c, shown, state) {
		const mine = side(state), {diff} = c.capture;
		const other = c.shown = Shown.make(c.source, Object.assign({}, state, {span: spanOf(1 - mine)}));
		const totals = mine ? [other.sums.total, shown.sums.total] : [shown.sums.total, other.sums.total];

		shown.both = other.both = (id) => {
			const ticks = [totals[0][id], totals[1][id]];

			return Object.assign({ticks, all: [totals[0][0], totals[1][0]]},
				judge(diff, shown.folded.stacks.process[id], ticks));
		};
		shown.step = other.step = (id) => id > 0 ? stepOf(shown.both(id)) : 0;
		shown.per = other.per = (id) => {
			const process = shown.folded.stacks.process[id];

			return process >= 0 ? diff.kinds[process].per : 'cores';
		};
	}

	/* --- as text ------------------------------------------------------------------------------ */

	/* A figure, as hotrun diff writes it. */
	function figure(per, value) {
		const us = value * 1e6;

		if (value === null || value === undefined)
			return 'n/a';
		if (per === 'share')
			return (100 * value).toFixed(2) + ' %';
		if (per !== 'request')
			return value.toFixed(3);
		return Math.abs(us) >= 10000 ? (us / 1000).toFixed(1) + ' ms'
			: us.toFixed(Math.abs(us) < 10 ? 2 : Math.abs(us) < 1000 ? 1 : 0) + ' µs';
	}

	function signed(percent) {
		return (percent > 0 ? '+' : '') + percent.toFixed(1) + ' %';
	}

	function changeText(before, after, error) {
		if (!before)
			return after ? 'new' : '-';
		if (!after)
			return 'gone';
		return signed(100 * (after - before) / before) +
			(error ? ' ± ' + (100 * error / before).toFixed(1) : '');
	}

	/* What it was and is, [label, value]; id: a node of the stacks. */
	function facts(shown, id) {
		if (id < 0)
			return [];
		const both = shown.both(id), per = shown.per(id);
		const list = SIDES.map((name, at) => [name[0].toUpperCase() + name.slice(1),
			Format.percent(both.ticks[at], both.all[at]) + (id ? ', ' + PER[per] + ' ' +
				figure(per, both.value[at] * (id ? 1 : 0)) : '')]);

		if (id)
			list.push(['Change', changeText(...both.value) + (both.certain ? '' : ', within the noise')]);
		return list;
	}

	/* Of the call tree. */
	function columns() {
		return [{title: 'Before', number: true, tip: 'of the samples of that side'},
			{title: 'After', number: true, tip: 'of the samples of that side'},
			{title: 'Change', number: true, tip: 'in brackets: within the noise'}];
	}

	function cells(shown, id) {
		const both = shown.both(id), text = id ? changeText(...both.value) : '';

		return [...SIDES.map((_, at) => Format.percent(both.ticks[at], both.all[at])),
			both.certain || !text ? text : '(' + text + ')'];
	}

	function legend(colours) {
		return [['gone, or fell by over half', -3], ['fell by 15 to 50 %', -2], ['fell', -1],
			['within the noise', 0], ['grew', 1], ['grew by 15 to 50 % of what it is', 2],
			['new, or by over half', 3]].map(([text, step]) => {
			const swatch = Dom.make('span', 'swatch');

			swatch.style.background = Colours.changeFill(colours, step);
			return Dom.make('li', '', swatch, text);
		});
	}

	/* --- the other graph ---------------------------------------------------------------------- */

	/* app: of App; the graphs tell each other where the pointer is. */
	function build(c, app, menu, say) {
		const zoom = (node) => app.change({zoom: c.graph.tree.id[node]}, true);

		c.graph = Pane.create(Dom.byId('other'), c.capture, {
			shown: () => c.shown, take: zoom,
			menu: (node, x, y) => menu(c.graph.tree.id[node], c.graph.tree.symbol[node], x, y),
			say: (node) => say(c.graph, node, c.shown),
			resized: () => 0,
			hover: (node) => point(app.graph, node < 0 ? -1 : c.graph.tree.id[node]),
		});
		Dom.byId('graph').addEventListener('pointermove', () =>
			point(c.graph, app.graph.hover < 0 ? -1 : app.graph.tree.id[app.graph.hover]));
		Dom.byId('graph').addEventListener('pointerleave', () => point(c.graph, -1));
		document.querySelector('main').classList.add('both');
		Dom.fill(Dom.byId('side'), ...[1, 0].map((at) => {
			const option = Dom.make('option', '', SIDES[at]);

			option.value = at;
			return option;
		}));
		Dom.byId('side').addEventListener('change', () =>
			app.change({span: spanOf(Number(Dom.byId('side').value))}, true));
		Dom.byId('side').parentElement.hidden = Dom.byId('help-diff').hidden = false;
		Dom.byId('weight').parentElement.hidden = Dom.byId('time').hidden = true;
		for (const tab of Dom.byId('views').children) {
			tab.hidden = tab.dataset.view === 'threads';
			if (tab.dataset.view === 'report') {
				tab.textContent = 'Changes';
				tab.title = 'What changed for certain (7)';
			}
		}
		for (const option of Dom.byId('filter-kind').options)
			option.hidden = ['thread', 'role', 'place'].includes(option.value);
		Dom.byId('filter-workload').hidden = true;
	}

	/* The same frame of the other graph. */
	function point(graph, id) {
		const node = id < 0 || !graph.tree ? -1 : graph.tree.id.indexOf(id);

		if (node !== graph.hover) {
			graph.hover = node;
			Graph.schedule(graph);
		}
	}

	/* wanted: the node of the stacks that is to be in view. */
	function title(c, at, shown, wanted) {
		const {tree, zoom} = shown, all = shown.sums.total[0];
		const there = !wanted || shown.sums.total[wanted] > 0;

		return [SIDES[at] + ': ', Dom.make('bdi', '', c.names[at]), Dom.make('span', 'muted',
			Format.plural(all, 'sample') + (zoom ? ' · in view ' + Format.share(tree.total[zoom], all) : '')),
		Dom.make('span', 'muted', there ? '' : 'The frame in view is not there ' + SIDES[at] + '.')];
	}

	/* Beside the main graph, in the flame view. symbols: a byte each for those that match, or null. */
	function show(c, app, symbols) {
		const at = side(app.state), {graph, shown} = c;
		const wanted = app.state.zoom < shown.folded.stacks.count ? app.state.zoom : 0;

		for (const id of ['graph-title', 'other-title', 'other'])
			Dom.byId(id).hidden = app.state.view !== 'flame';
		Dom.byId('side').value = at;
		if (app.state.view !== 'flame')
			return;
		Dom.fill(Dom.byId('graph-title'), ...title(c, at, app.shown, wanted));
		Dom.fill(Dom.byId('other-title'), ...title(c, 1 - at, shown, wanted));
		if (graph.tree !== shown.tree || graph.zoom !== shown.zoom)
			graph.focus = -1;
		graph.colours = app.colours;
		graph.mask = symbols ? Search.mark(shown.tree, symbols) : null;
		if (graph.mask && !graph.mask.includes(1))
			graph.mask = null;
		Graph.resize(graph);
		Graph.show(graph, shown.tree, shown.zoom, app.state.flip);
	}

	/* Why nothing can be compared, or "". */
	function lacking(c) {
		const none = c.document ? SIDES.filter((name) => !c.document[name].samples) : [];

		if (none.length > 1)
			return 'Neither side has samples: nothing to compare.';
		return none.length ? none[0][0].toUpperCase() + none[0].slice(1) +
			' has no samples: nothing to compare.' : '';
	}

	/* --- header, findings --------------------------------------------------------------------- */

	function header(c) {
		const {document: d} = c, list = [];

		document.title = 'hotrun diff: ' + c.names.join(' → ');
		Dom.fill(Dom.byId('host'), Dom.make('bdi', '', c.names[0] + ' → ' + c.names[1]));
		if (!d)
			return;
		for (const name of SIDES) {
			const s = d[name];

			list.push(name + ': ' + [Format.visible(s.host || ''), s.time_utc ? s.time_utc.replace('T', ' ')
				.replace('Z', ' UTC') : '', Format.seconds(s.elapsed_s), Format.plural(s.samples, 'sample')]
				.filter(Boolean).join(' · '));
		}
		list.push(Format.count(d.certain) + ' of ' + Format.plural(d.tested, 'figure') + ' changed for certain');
		Dom.fill(Dom.byId('facts'), ...list.map((text) => Dom.make('li', '', text)));
		Dom.byId('losses').hidden = true;
		const why = lacking(c) || (d.too_short ? 'Too short: of fewer than 4 s nobody can tell how sure a difference is.'
			: d.methods_in_common ? '' : 'Nothing in common: no method that has a name is in both.');

		Dom.byId('gap').textContent = why;
		Dom.byId('gap').hidden = !why;
	}

	/* Those that changed most, for the list below the graph: [{symbol, text, bad}]. */
	function top(c, n) {
		return (c.document ? c.document.changed : []).slice(0, n).map((f) => ({
			name: named(f.method), find: findable(f.method), module: Format.visible(f.module || ''), step: f.change > 0 ? 3 : -3,
			text: changeText(f.before, f.after, null),
			title: finding(f).slice(0, 4).join(' · ')}));
	}

	function finding(f) {
		return [changeText(f.before, f.after, f.change_error), figure(f.per, f.before),
			figure(f.per, f.after), PER[f.per], f.of === 'self' ? 'its own code' : 'with what it calls'];
	}

	function findings(rows, find) {
		return Table.make('A difference that chance would hardly make; ±: its 95 % interval', [
			{title: 'Change', number: true, tip: 'of what it was before'}, {title: 'Before', number: true},
			{title: 'After', number: true}, {title: 'In'}, {title: 'Of'},
			{title: 'of mean', number: true, tip: 'times as much as its process as a whole'},
			{title: 'Method', name: true}, {title: 'Process'}, {title: 'Called by', tip: 'where most of the change is'}],
		rows.map((f) => ({
			cells: [...finding(f), f.of_mean_change === null ? '' : f.of_mean_change.toFixed(1) + ' ×',
				named(f.method), named(f.process),
				[...f.path.map(named), ...(f.path_more ? ['… ' + Format.count(f.path_more) + ' more'] : [])].join(' ← ')],
			title: named(f.method),
			act: () => find(findable(f.method)),
		})), false);
	}

	function pair(before, after, text) {
		const [x, y] = [before, after].map((v) => v === null || v === undefined ? 'n/a' : text(v));

		return x === y ? x : x + ' → ' + y;
	}

	function processes(rows) {
		const time = (ns) => Format.seconds(ns / 1e9), plain = (digits) => (n) => n.toFixed(digits);

		return Table.make('Each kind of process on both sides', [{title: 'Process', name: true},
			{title: 'Change', number: true}, {title: 'Before', number: true}, {title: 'After', number: true},
			{title: 'In'}, {title: 'CPUs', number: true},
			{title: 'Waiting', number: true, tip: 'threads, mean'}, {title: 'Answers a second', number: true},
			{title: 'p50', number: true}, {title: 'p99', number: true}, {title: 'Slow', number: true},
			{title: 'Verdict'}],
		rows.map((p) => {
			const x = p.fared_before, y = p.fared_after, per = p.per === 'share' ? 'cores' : p.per;

			return {cells: [named(p.process), changeText(p.before, p.after, p.change_error) +
				(p.certain ? '' : ' (noise)'), figure(per, p.before), figure(per, p.after), PER[per],
			pair(x.cpus, y.cpus, plain(2)), pair(x.waiting_threads, y.waiting_threads, plain(2)),
			pair(x.answers_per_s, y.answers_per_s, plain(1)), pair(x.p50_ns, y.p50_ns, time),
			pair(x.p99_ns, y.p99_ns, time),
			pair(x.slow_share, y.slow_share, (n) => Format.percent(n, 1)), pair(x.verdict, y.verdict, String)]};
		}), false);
	}

	/* find(name): goes to a method. */
	function report(c, find) {
		const d = c.document, box = Dom.make('div', 'report');
		const add = (title, ...parts) => box.append(Dom.make('section', '', Dom.make('h3', '', title), ...parts));

		if (d) {
			const rows = d.changed.length ? d.changed : d.effects;

			add(d.effects.length ? 'What could have been seen' : 'What changed for certain', rows.length
				? findings(rows, find) : Dom.make('p', 'muted', 'No method changed for certain.'));
			add('Processes', processes(d.processes));
		}
		const text = Dom.make('pre', '', Format.visibleLines(c.capture.diff.report));

		text.tabIndex = 0;
		add('hotrun diff', text);
		return box;
	}

	return {create, build, add, show, header, legend, top, facts, columns, cells, report, lacking, judge, stepOf, side, SIDES};
})();

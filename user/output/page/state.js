/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * What the analyst has chosen, and the fragment of the address that says it: a link shows what was
 * seen. An address may be edited, or from another capture: what does not fit is left out. Pure.
 */
const State = (() => {
	const VIEWS = ['flame', 'sandwich', 'tree', 'bottom', 'threads', 'modules', 'report'];
	const COLOURS = ['kind', 'assembly', 'tier', 'role'], OF_DIFF = ['change', 'kind', 'assembly'];
	const FLAGS = ['regex', 'flip', 'mycode', 'recursion', 'workload', 'heat'];
	/* Filters: of threads, then of frames. */
	const THREAD_KINDS = ['process', 'thread', 'role', 'place'];
	const FRAME_KINDS = ['focus', 'hide', 'merge', 'collapse'];
	/* How a filter's text is meant. */
	const HOW = {'=': 'is', '~': 're', '*': 'has'};
	const FILTERS_MAX = 40;

	function initial(capture) {
		return {
			process: capture.first, view: 'flame', colour: colours(capture)[0], zoom: 0,
			weight: weights(capture).includes(capture.weight) ? capture.weight : 'cpu',
			search: '', regex: false, flip: false, mycode: capture.justMyCode, recursion: false,
			workload: false,
			heat: false, span: capture.diff ? AFTER : null, filters: [], cut: 0, method: null,
		};
	}

	/* Of a difference: what is after is a second of its own. */
	const AFTER = {kind: 'slices', first: 1, last: 1};

	/* One side of a difference, some span of a capture, or all of it. */
	function spanOf(text, capture) {
		const span = readSpan(text, capture);

		if (!capture.diff)
			return span;
		return span && span.kind === 'slices' && span.first === span.last ? span : AFTER;
	}

	/* What a difference has no use for: its processes are kinds of them, its seconds two sides. */
	function flags(capture) {
		return FLAGS.filter((flag) => !capture.diff || !['workload', 'heat'].includes(flag));
	}

	function colours(capture) {
		return capture.diff ? OF_DIFF : COLOURS;
	}

	/* A difference knows no threads. */
	function views(capture) {
		return VIEWS.filter((view) => !capture.diff || view !== 'threads');
	}

	function spanText(span) {
		return (span.kind === 'slots' ? 's' : '') + span.first + '-' + span.last;
	}

	function readSpan(text, capture) {
		const match = /^(s?)(\d{1,8})-(\d{1,8})$/.exec(text || '');

		if (!match)
			return null;
		const first = Number(match[2]), last = Number(match[3]);
		const count = match[1] ? Math.ceil(capture.host.durationNs / capture.slotNs) : capture.slices.count;

		return first <= last && last < count
			? {kind: match[1] ? 'slots' : 'slices', first, last} : null;
	}

	function filterText(filter) {
		const how = Object.keys(HOW).find((c) => HOW[c] === filter.how);

		return filter.kind + ':' + how + filter.text;
	}

	function readFilter(text) {
		const match = /^([a-z]+):([=~*])([^]*)$/.exec(text);

		if (!match || ![...THREAD_KINDS, ...FRAME_KINDS].includes(match[1]) || !match[3])
			return null;
		return {kind: match[1], how: HOW[match[2]], text: match[3].slice(0, 1000)};
	}

	/* '#...' of a state. */
	function encode(state, capture) {
		const parts = new URLSearchParams(), usual = initial(capture);

		parts.set('process', state.process === null ? 'all' : state.process);
		for (const field of ['view', 'weight', 'colour', 'zoom', 'search', 'cut', 'method'])
			if (state[field] !== usual[field])
				parts.set(field, state[field]);
		for (const flag of FLAGS)
			if (state[flag] !== usual[flag])
				parts.set(flag, state[flag] ? 1 : 0);
		if (state.span)
			parts.set('t', spanText(state.span));
		for (const filter of state.filters)
			parts.append('f', filterText(filter));
		return '#' + parts;
	}

	function oneOf(list, text, usual) {
		return list.includes(text) ? text : usual;
	}

	/* A number below count, else usual. */
	function row(text, count, usual) {
		return /^\d{1,9}$/.test(text || '') && Number(text) < count ? Number(text) : usual;
	}

	function decode(hash, capture) {
		const parts = new URLSearchParams(hash.slice(1)), state = initial(capture);
		const cut = Number(parts.get('cut'));

		state.process = row(parts.get('process'), capture.processes.length,
			parts.has('process') ? null : capture.first);
		state.view = oneOf(views(capture), parts.get('view'), state.view);
		state.weight = oneOf(weights(capture), parts.get('weight'), state.weight);
		state.colour = oneOf(colours(capture), parts.get('colour'), state.colour);
		state.zoom = row(parts.get('zoom'), 1e9, 0);
		state.method = row(parts.get('method'), capture.symbols.length, null);
		state.search = (parts.get('search') || '').slice(0, 1000);
		state.cut = cut > 0 && cut <= 50 ? cut : 0;
		for (const flag of flags(capture))
			if (parts.has(flag))
				state[flag] = parts.get(flag) === '1';
		state.span = spanOf(parts.get('t'), capture);
		state.filters = parts.getAll('f').map(readFilter).filter(Boolean).slice(0, FILTERS_MAX);
		return state;
	}

	/* Weights that this capture has. */
	function weights(capture) {
		return Selection.WEIGHTS.filter((w) =>
			w === 'blocked' ? capture.hasBlocked
			: w === 'slow' ? capture.services.count > 0
			: w === 'harm' ? capture.cpu.waiters.some((n) => n > 0) : true);
	}

	return {VIEWS, THREAD_KINDS, FILTERS_MAX, initial, encode, decode, weights, colours, views};
})();

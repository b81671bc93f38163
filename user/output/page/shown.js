/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * From what is chosen to what is shown: matchers of the filters, folded stacks, selected samples,
 * the tree. What has not changed since the last time is kept. Pure.
 */
const Shown = (() => {
	/* Of what is zoomed into, lighter nodes are narrower than a fraction of a pixel. */
	const NARROWEST = 8000;
	const UNIT = {cpu: 'Samples', slow: 'Samples', harm: 'Waited', blocked: 'Blocked'};

	/* of: who folds and judges filters for this one, too (the other side of a difference); it is
	 * made first each time. */
	function create(capture, of) {
		return {capture, of, seconds: Seconds.make(capture), kept: new Map(),
			room: new Float64Array(capture.stacks.count)};
	}

	/* What make() returns, kept while its key is the same. */
	function keep(s, name, key, make) {
		const text = JSON.stringify(key), kept = s.kept.get(name);

		if (kept && kept.text === text)
			return kept.value;
		const value = make();

		s.kept.set(name, {text, value});
		return value;
	}

	/* Filters as rules; wrong: what is no valid pattern, or takes too long, by number. */
	function rules(filters) {
		const wrong = new Map(), threads = [], frames = [], matchers = new Map();

		filters.forEach((filter, i) => {
			const matcher = Search.compile(filter.text, filter.how);

			if (matcher && matcher.isCostly)
				matchers.set(i, matcher);
			if (!matcher || matcher.error)
				wrong.set(i, matcher ? matcher.error : 'empty');
			else if (State.THREAD_KINDS.includes(filter.kind))
				threads.push({number: i, kind: filter.kind, test: matcher.test});
			else
				frames.push({number: i, kind: filter.kind,
					test: (symbol) => Search.matches(matcher, symbol)});
		});
		return {wrong, threads, frames, matchers};
	}

	/* A pattern that turned out to be too costly finds nothing from then on: what it found until then
	 * is no picture of anything. Such a filter is not applied at all, and that is told. True where
	 * there is one more. */
	function dropCostly(s, ruled) {
		let any = false;

		for (const [i, matcher] of ruled.matchers) {
			if (!matcher.isCostly() || ruled.wrong.has(i))
				continue;
			any = true;
			ruled.wrong.set(i, 'takes too long, is not applied');
			ruled.threads = ruled.threads.filter((rule) => rule.number !== i);
			ruled.frames = ruled.frames.filter((rule) => rule.number !== i);
		}
		if (any)
			s.kept = new Map([['rules', s.kept.get('rules')]]);
		return any;
	}

	/* Folded stacks of another's, with room for sums of its own. */
	function twin(folded) {
		return Object.assign({}, folded, {stacks: Object.assign({}, folded.stacks,
			{room: null, covered: null})});
	}

	function select(s, state, threadRules, process) {
		const slow = state.weight === 'slow'
			? Selection.slowSlices(s.capture, process, s.seconds) : null;

		return Selection.make(s.capture, {weight: state.weight, span: state.span, process,
			rules: threadRules, slow});
	}

	/* The node of the stacks that stands for a process (null: for all). */
	function rootOf(stacks, process) {
		for (let i = 1; process !== null && i < stacks.count; i++)
			if (stacks.depth[i] === 1 && stacks.process[i] === process &&
			    stacks.parent[i] === 0)
				return i;
		return 0;
	}

	/*
	 * {capture, seconds, state fields; folded, selection, sums: of Tree; tree: what can be seen of
	 * them, from the root by way of the zoomed node (zoom: its place in the tree); full(): all of
	 * it; inside: Tree.within() of the zoomed node; all: weight of all processes in the span;
	 * seenAt(node of the stacks); heat(); ruled: of rules(); wrong: filters that are not applied,
	 * and why, by number}.
	 */
	function make(s, state) {
		let shown = attempt(s, state);

		while (!s.of && dropCostly(s, shown.ruled))
			shown = attempt(s, state);
		return shown;
	}

	function attempt(s, state) {
		const {capture} = s;
		const ruled = keep(s.of || s, 'rules', state.filters, () => rules(state.filters));
		/* One that was chosen is not to be lost among others. */
		const workload = state.workload && state.process === null;
		const dropped = [...ruled.wrong.keys()];
		const foldKey = [state.filters, dropped, state.mycode, state.recursion, workload];
		const folded = keep(s, 'folded', foldKey, () => s.of
			? twin(s.of.kept.get('folded').value)
			: Folds.apply(capture, ruled.frames,
				{myCode: state.mycode, recursion: state.recursion, workload}));
		const {stacks} = folded;
		const selectKey = [state.filters, dropped, state.weight, state.span, state.process];
		const selection = keep(s, 'selection', selectKey, () =>
			select(s, state, ruled.threads, state.process));
		const sumKey = [foldKey, selectKey];
		const sums = keep(s, 'sums', sumKey, () =>
			Tree.sums(folded, Selection.byNode(capture, selection, s.room)));

		const root = rootOf(stacks, state.process);
		const chain = state.zoom < stacks.count && sums.total[state.zoom]
			? Tree.chain(stacks, root, state.zoom) : [root];
		const zoom = chain[chain.length - 1], cut = sums.total[root] * state.cut / 100;
		const treeKey = [sumKey, zoom, state.cut];
		const inside = keep(s, 'inside', [foldKey, zoom], () => Tree.within(stacks, zoom));
		const all = keep(s, 'all', [state.weight, state.span], () =>
			Selection.sum(select(s, state, [], null)));
		const seen = keep(s, 'seen', sumKey, () => new Map());

		return {
			ruled, capture, seconds: s.seconds, folded, selection, sums, inside, all, wrong: ruled.wrong,
			weight: state.weight, unit: UNIT[state.weight], span: state.span, process: state.process,
			zoom: chain.length - 1,
			tree: keep(s, 'tree', treeKey, () => Tree.build(stacks, sums, chain,
				Math.max(cut, sums.total[zoom] / NARROWEST))),
			full: () => keep(s, 'full', [sumKey, root, state.cut], () =>
				Tree.build(stacks, sums, [root], cut)),
			seenAt: (id) => {
				if (!seen.has(id))
					seen.set(id, Tree.seenAt(capture, folded, Tree.within(stacks, id), selection));
				return seen.get(id);
			},
			heat: () => keep(s, 'heat', [state.filters, dropped, state.weight, state.process], () =>
				Seconds.heat(capture, select(s, Object.assign({}, state, {span: null}),
					ruled.threads, state.process))),
		};
	}

	/* Where a node of folded stacks is in others, by the names on the way to it: the nearest that is
	 * there. */
	function follow(from, id, to) {
		let at = 0;

		for (const step of Tree.chain(from, 0, id).slice(1)) {
			let next = at + 1;

			while (next < to.count && (to.parent[next] !== at || to.symbol[next] !== from.symbol[step]))
				next++;
			if (next < to.count) /* else it is folded away now */
				at = next;
		}
		return at;
	}

	return {create, make, follow};
})();

/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * From what is chosen to what is shown: matchers of the filters, folded stacks, selected samples,
 * the tree. What has not changed since the last time is kept. Pure.
 */
const Shown = (() => {
	const UNIT = {cpu: 'Samples', slow: 'Samples', harm: 'Waited', blocked: 'Blocked'};

	function create(capture) {
		return {capture, seconds: Seconds.make(capture), kept: new Map()};
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

	/* Filters as rules; wrong: what is no valid pattern, by number. */
	function rules(filters) {
		const wrong = new Map(), threads = [], frames = [];

		filters.forEach((filter, i) => {
			const matcher = Search.compile(filter.text, filter.how);

			if (!matcher || matcher.error)
				wrong.set(i, matcher ? matcher.error : 'empty');
			else if (State.THREAD_KINDS.includes(filter.kind))
				threads.push({kind: filter.kind, test: matcher.test});
			else
				frames.push({kind: filter.kind, test: (symbol) => Search.matches(matcher, symbol)});
		});
		return {wrong, threads, frames};
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

	/* {capture, seconds, state fields of it, tree, folded, selection, all, seen(), wrong}. */
	function make(s, state) {
		const {capture} = s;
		const ruled = keep(s, 'rules', state.filters, () => rules(state.filters));
		const foldKey = [state.filters, state.mycode, state.recursion];
		const folded = keep(s, 'folded', foldKey, () => Folds.apply(capture, ruled.frames,
			{myCode: state.mycode, recursion: state.recursion}));
		const selectKey = [state.filters, state.weight, state.span, state.process];
		const selection = keep(s, 'selection', selectKey, () =>
			select(s, state, ruled.threads, state.process));
		const tree = keep(s, 'tree', [foldKey, selectKey, state.cut], () => {
			const self = Tree.fold(folded, Selection.byNode(capture, selection));
			const root = rootOf(folded.stacks, state.process);
			const all = state.cut ? self.reduce((n, w) => n + w, 0) : 0;

			return Tree.build(folded, self, root, all * state.cut / 100);
		});
		const all = keep(s, 'all', [state.weight, state.span], () =>
			Selection.sum(select(s, state, [], null)));

		return {
			capture, seconds: s.seconds, folded, selection, tree, all, wrong: ruled.wrong,
			weight: state.weight, unit: UNIT[state.weight], span: state.span, process: state.process,
			seen: () => keep(s, 'seen', [foldKey, selectKey, state.cut], () =>
				Tree.seen(capture, folded, tree, selection)),
			heat: () => keep(s, 'heat', [state.filters, state.weight, state.process], () =>
				Seconds.heat(capture, select(s, Object.assign({}, state, {span: null}),
					ruled.threads, state.process))),
		};
	}

	/* Where a node of one tree is in another, by the names on the way to it; 0 where it is not. */
	function follow(from, node, to) {
		let at = 0;

		for (const n of Tree.path(from, node).slice(1)) {
			const next = Tree.childrenOf(to, at).find((c) => to.symbol[c] === from.symbol[n]);

			if (next === undefined)
				continue; /* folded away now */
			at = next;
		}
		return at;
	}

	return {create, make, follow};
})();

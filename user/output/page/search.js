/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* Which frames match, and how much they hold. Pure. */
const Search = (() => {
	/* Returns {test} or {error}; null for an empty text. how: 'has', 're' (regular expression) or
	 * 'is'. Case is ignored but for 'is'. */
	function compile(text, how) {
		if (!text)
			return null;
		if (how === 'is')
			return {test: (s) => s === text};
		if (how === 'has') {
			const plain = text.toLowerCase();

			return {test: (s) => s.toLowerCase().includes(plain)};
		}
		try {
			return Pattern.create(text);
		} catch (e) {
			return {error: 'not valid: ' + e.message};
		}
	}

	/* Of a symbol: its name, its module, or what a stack trace calls it. */
	function matches(matcher, symbol) {
		return matcher.test(symbol.name) || matcher.test(symbol.module) ||
			(symbol.member !== '' && matcher.test(symbol.member));
	}

	/* One byte a symbol. Processes are no code. */
	function markSymbols(capture, matcher) {
		return Uint8Array.from(capture.symbols, (s) =>
			Capture.isCode(s) && matches(matcher, s) ? 1 : 0);
	}

	/* One byte a node. */
	function mark(tree, bySymbol) {
		const mask = new Uint8Array(tree.count);

		for (let i = 0; i < tree.count; i++)
			mask[i] = bySymbol[tree.symbol[i]];
		return mask;
	}

	/* Matching nodes of the stacks inside (of Tree.within()), and the weight that passes through any
	 * of them: a match within a match is not counted again. total: by node. */
	function sum(stacks, total, inside, bySymbol) {
		const {symbol, parent} = stacks;
		const covered = stacks.covered = stacks.covered || new Uint8Array(stacks.count);
		let frames = 0, samples = 0;

		for (let i = inside.from; i < inside.to; i++) {
			const above = i > inside.from ? covered[parent[i]] : 0, match = bySymbol[symbol[i]];

			covered[i] = 0; /* of the search before */
			if (!(match | above) || !total[i] || (inside.flags && !inside.flags[i]))
				continue;
			frames += match;
			if (!above)
				samples += total[i];
			covered[i] = 1;
		}
		return {frames, samples};
	}

	return {compile, matches, markSymbols, mark, sum};
})();

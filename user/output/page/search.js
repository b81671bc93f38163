/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* Which frames match, and how many samples they hold. Pure. */
const Search = (() => {
	/* Returns {test} or {error}; null for an empty text. Case is ignored. */
	function compile(text, regex) {
		if (!text)
			return null;
		if (!regex) {
			const plain = text.toLowerCase();

			return {test: (s) => s.toLowerCase().includes(plain)};
		}
		try {
			const pattern = new RegExp(text, 'iu');

			return {test: (s) => pattern.test(s)};
		} catch (e) {
			/* Browsers repeat the pattern before the reason. */
			return {error: 'not valid: ' + e.message.split(': ').pop()};
		}
	}

	/* One byte a node: 1 = the name or module of its code matches, or what a stack trace calls it.
	 * Processes are no code. */
	function mark(capture, tree, matcher) {
		const bySymbol = new Uint8Array(capture.symbols.length);
		const mask = new Uint8Array(tree.count);

		for (let i = 0; i < capture.ownFirst; i++) {
			const s = capture.symbols[i];

			bySymbol[i] = matcher.test(s.name) || matcher.test(s.module) ||
				matcher.test(s.member) ? 1 : 0;
		}
		for (let i = 0; i < tree.count; i++)
			mask[i] = bySymbol[tree.symbol[i]];
		return mask;
	}

	/* Matching frames below root, and the samples that pass through any of them: a match within
	 * a match is not counted again. */
	function sum(tree, mask, root) {
		let frames = 0, samples = 0, covered = root;

		for (let i = root; i < tree.end[root]; i++) {
			if (!mask[i])
				continue;
			frames++;
			if (i >= covered) {
				samples += tree.total[i];
				covered = tree.end[i];
			}
		}
		return {frames, samples};
	}

	return {compile, mark, sum};
})();

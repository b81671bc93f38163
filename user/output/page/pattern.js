/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * Regular expressions whose cost is bounded: no pattern takes longer than its size times the text,
 * while the browser's own may take for ever on a name that a stranger chose. Letters, ., [...], \d
 * \w \s and their opposites, ^ $, |, (...), (?:...), * + ? {m,n} and their lazy forms; case is
 * ignored. No look-around, no back-references, no \b. A pattern becomes states that are walked all
 * at once (Thompson, 1968); sets of states that were seen are kept, so that a name is mostly a
 * table look-up a character. Pure.
 */
const Pattern = (() => {
	const STATES_MAX = 3000; /* of a pattern; {m,n} is written out */
	const SETS_MAX = 2000;	 /* then they are forgotten */
	const BUILDS_MAX = 20000; /* nodes of a pattern as it is written out, those without a state too */
	const WORK_MAX = 30e6;	 /* states looked at, of all names together: about a second */
	const REPEAT_MAX = 200;
	const CLASSES = {
		d: [[48, 57]], w: [[48, 57], [65, 90], [95, 95], [97, 122]],
		s: [[9, 13], [32, 32], [160, 160], [0x2028, 0x2029]],
	};
	const CONTROL = {n: '\n', t: '\t', r: '\r', f: '\f', v: '\v', 0: '\0'};

	function fail(text) {
		throw new Error(text);
	}

	/* --- reading: {char: ranges, not} {seq: [...]} {either: [...]} {many: node, least, most} {edge} */

	function parse(text) {
		let at = 0;

		const more = () => at < text.length;
		const ranges = (c) => [[c.charCodeAt(0), c.charCodeAt(0)]];

		function either() {
			const options = [sequence()];

			while (more() && text[at] === '|') {
				at++;
				options.push(sequence());
			}
			return options.length === 1 ? options[0] : {either: options};
		}

		function sequence() {
			const list = [];

			while (more() && text[at] !== '|' && text[at] !== ')')
				list.push(repeated(atom()));
			return {seq: list};
		}

		function count() {
			const match = /^\{(\d{1,4})(?:(,)(\d{0,4}))?\}/.exec(text.slice(at));

			if (!match)
				return null;
			at += match[0].length;
			const least = Number(match[1]);
			const most = !match[2] ? least : match[3] ? Number(match[3]) : Infinity;

			if (least > REPEAT_MAX || (most !== Infinity && (most > REPEAT_MAX || most < least)))
				fail('{} counts from 0 to ' + REPEAT_MAX);
			return {least, most};
		}

		function repeated(node) {
			for (;;) {
				const simple = {'*': [0, Infinity], '+': [1, Infinity], '?': [0, 1]}[text[at]];
				let times = null;

				if (simple) {
					at++;
					times = {least: simple[0], most: simple[1]};
				} else if (text[at] === '{') {
					times = count() || fail('{ needs \\ before it');
				}
				if (!times)
					return node;
				if (node.edge)
					fail('nothing to repeat');
				if (text[at] === '?') /* lazy: what matches is the same */
					at++;
				node = {many: node, least: times.least, most: times.most};
			}
		}

		function group() {
			if (text.startsWith('?:', at))
				at += 2;
			else if (text[at] === '?')
				fail('(? is not known here');
			const node = either();

			if (text[at++] !== ')')
				fail('missing )');
			return node;
		}

		/* What stands behind a backslash, in or outside of [...]. */
		function escaped() {
			const c = text[at++];

			if (c === undefined)
				fail('\\ at the end');
			const lower = c.toLowerCase();

			if (CLASSES[lower])
				return {char: CLASSES[lower], not: c !== lower};
			if (CONTROL[c])
				return {char: ranges(CONTROL[c])};
			if (/[A-Za-z0-9]/.test(c))
				fail('\\' + c + ' is not known here');
			return {char: ranges(c)};
		}

		function bracket() {
			const not = text[at] === '^', list = [];

			if (not)
				at++;
			for (let first = true; first || text[at] !== ']'; first = false) {
				if (!more())
					fail('missing ]');
				let c = text[at++];

				if (c === '\\') {
					const e = escaped();

					if (e.not)
						fail('no opposites within []');
					if (e.char.length > 1 || e.char[0][0] !== e.char[0][1]) {
						list.push(...e.char);
						continue;
					}
					c = String.fromCharCode(e.char[0][0]);
				}
				let end = c;

				if (text[at] === '-' && at + 1 < text.length && text[at + 1] !== ']') {
					at++;
					end = text[at++];
					if (end === '\\')
						end = String.fromCharCode(escaped().char[0][0]);
				}
				if (end < c)
					fail('range out of order');
				list.push([c.charCodeAt(0), end.charCodeAt(0)]);
			}
			at++;
			return {char: list, not};
		}

		function atom() {
			const c = text[at++];

			switch (c) {
			case '(':
				return group();
			case '[':
				return bracket();
			case '.':
				return {char: [[0, 0xffff]]};
			case '^':
			case '$':
				return {edge: c};
			case '\\':
				return escaped();
			case '*':
			case '+':
			case '?':
				return fail('nothing to repeat');
			default:
				return {char: ranges(c)};
			}
		}

		const node = either();

		if (more())
			fail('unmatched )');
		return node;
	}

	/* --- states: {ranges, not, to} {split: [to, ...]} {edge, to} or null, the end ---------------- */

	function compile(node) {
		const states = [null];
		let builds = 0;

		function add(state) {
			if (states.length >= STATES_MAX)
				fail('too large');
			states.push(state);
			return states.length - 1;
		}

		/* The state at which a node begins, if `to` follows it. */
		function build(n, to) {
			if (++builds > BUILDS_MAX)
				fail('too large');
			if (n.char)
				return add({ranges: n.char, not: Boolean(n.not), to});
			if (n.edge)
				return add({edge: n.edge, to});
			if (n.seq)
				return n.seq.reduceRight((next, part) => build(part, next), to);
			if (n.either)
				return add({split: n.either.map((option) => build(option, to))});
			let next = to;

			if (n.most === Infinity) {
				next = add({split: [to]});
				states[next].split.push(build(n.many, next));
			} else {
				for (let i = n.least; i < n.most; i++)
					next = add({split: [to, build(n.many, next)]});
			}
			for (let i = 0; i < n.least; i++)
				next = build(n.many, next);
			return next;
		}

		return {states, start: build(node, 0)};
	}

	function holds(state, code, other) {
		const within = state.ranges.some(([a, b]) =>
			(code >= a && code <= b) || (other >= a && other <= b));

		return within !== state.not;
	}

	/* Puts a state and what follows it without a character into the set. */
	function reach(states, set, state, begin, end) {
		const open = [state];

		while (open.length) {
			const n = open.pop(), s = states[n];

			if (set.has(n))
				continue;
			set.add(n);
			if (s && s.split)
				open.push(...s.split);
			else if (s && s.edge && (s.edge === '^' ? begin : end))
				open.push(s.to);
		}
	}

	/* {test(text), isCostly()}; throws what is wrong with it. One that is costly finds nothing any
	 * more. */
	function create(text) {
		const {states, start} = compile(parse(text));
		let sets = new Map(), work = 0;

		/* A set of states that was not seen before: where each character leads, and whether the
		 * text may end here. */
		function setOf(members) {
			const key = [...members].sort((a, b) => a - b).join();
			let set = sets.get(key);

			if (!set) {
				if (sets.size >= SETS_MAX)
					sets = new Map();
				set = {members: [...members], ascii: new Array(128).fill(null), others: new Map(),
					done: members.has(0), atEnd: null};
				sets.set(key, set);
			}
			return set;
		}

		function step(set, code) {
			const c = String.fromCharCode(code), members = new Set();
			const lower = c.toLowerCase().charCodeAt(0), upper = c.toUpperCase().charCodeAt(0);
			const other = lower === code ? upper : lower;

			work += set.members.length;
			for (const n of set.members)
				if (states[n] && states[n].ranges && holds(states[n], code, other))
					reach(states, members, states[n].to, false, false);
			reach(states, members, start, false, false); /* a match may begin anywhere */
			work += members.size;
			const next = setOf(members);

			if (code < 128)
				set.ascii[code] = next;
			else
				set.others.set(code, next);
			return next;
		}

		function endsWell(set) {
			if (set.atEnd === null) {
				const members = new Set();

				for (const n of set.members)
					if (states[n] && states[n].edge === '$')
						reach(states, members, n, false, true);
				set.atEnd = members.has(0);
			}
			return set.atEnd;
		}

		const begin = new Set(), empty = new Set();

		reach(states, begin, start, true, false);
		reach(states, empty, start, true, true);
		return {
			test: (string) => {
				if (work > WORK_MAX)
					return false;
				if (!string.length)
					return empty.has(0);
				let set = setOf(begin);

				for (let i = 0; i < string.length && !set.done; i++) {
					const code = string.charCodeAt(i);

					set = (code < 128 ? set.ascii[code] : set.others.get(code)) || step(set, code);
				}
				return set.done || endsWell(set);
			},
			isCostly: () => work > WORK_MAX,
		};
	}

	return {create};
})();

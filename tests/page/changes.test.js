/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* A difference: the sides of one block, and what is said of a frame. */
const assert = require('node:assert');
const {test} = require('node:test');
const {block, capture} = require('./data.js');
const {Codec, Capture, Changes, Shown, State} = require('./load.js').load();

const DIFF = {names: ['a', 'b'], ticksOf: [1, 1], drift: [0.01, 0.01], seconds: [10, 10], report: '',
	kinds: ['request', 'share', 'cores'].map((per) => ({per, tick: [0.001, 0.001]})), document: '{"processes":[]}'};

function read(diff = DIFF) {
	const {document, columns} = capture();

	return Capture.read(Codec.open(block(Object.assign(document, {diff}), columns)));
}

test('what counting and drift explain is within the noise', () => {
	for (const [ticks, certain, step, what] of [
		[[100, 100], false, 0, 'the same'], [[100, 120], false, 0, '20 more are less than two errors of 14.8'],
		[[100, 140], true, 2, '40 more are more'], [[100, 40], true, -3, 'fell by over half'],
		[[1000, 1130], true, 1, 'a little, but of many'], [[0, 3], false, 0, 'new, but of three'],
		[[0, 50], true, 3, 'new'], [[50, 0], true, -3, 'gone'], [[0, 0], false, 0, 'nothing']]) {
		const seen = Changes.judge(DIFF, 0, ticks);

		assert.equal(seen.certain, certain, what);
		assert.equal(Changes.stepOf(seen), step, what);
	}
});

test('drift of what is large is no change, and a sample may stand for several ticks', () => {
	assert.equal(Changes.judge(DIFF, 0, [1e6, 1.02e6]).certain, false);
	assert.equal(Changes.judge(Object.assign({}, DIFF, {drift: [0, 0]}), 0, [1e6, 1.02e6]).certain, true);
	assert.equal(Changes.judge(Object.assign({}, DIFF, {ticksOf: [4, 4]}), 0, [100, 140]).certain, false);
});

test('figures are in the unit of their process: half the requests, twice the cost', () => {
	const seen = Changes.judge(Object.assign({}, DIFF, {kinds: [{tick: [0.001, 0.002]}]}), 0, [100, 100]);

	assert.deepEqual(seen.value, [0.1, 0.2]);
	assert.equal(Changes.stepOf(seen), 2);
});

test('the address says a side, and nothing else of time', () => {
	const c = read();

	for (const [hash, first] of [['', 1], ['#t=0-0', 0], ['#t=1-1', 1], ['#t=0-1', 1], ['#t=s0-0', 1], ['#t=9-9', 1]])
		assert.deepEqual(State.decode(hash, c).span, {kind: 'slices', first, last: first}, hash);
	assert.equal(State.decode('#view=threads', c).view, 'flame');
	assert.equal(State.decode('#workload=1', c).workload, false, 'kinds of processes have no workload: all would be one');
	assert.equal(State.decode('#recursion=1', c).recursion, true);
	assert.equal(State.decode('#colour=role', c).colour, 'change');
	assert.equal(State.decode('#colour=change', Capture.read(Codec.open(block(...Object.values(capture()))))).colour, 'kind');
});

test('both sides of each frame, also of folded stacks', () => {
	const c = read(), source = Shown.create(c), changes = Changes.create(c, source);

	for (const filters of [[], [{kind: 'merge', how: 'has', text: c.symbols[0].name}]]) {
		const sums = [0, 1].map((first) => {
			const state = Object.assign(State.initial(c), {process: null, filters, span: {kind: 'slices', first, last: first}});
			const shown = Shown.make(source, state);

			Changes.add(changes, shown, state);
			return Array.from({length: shown.folded.stacks.count}, (_, id) => {
				const {ticks, all} = shown.both(id);

				assert.equal(ticks[first], shown.sums.total[id], 'its own side');
				assert.equal(all[first], shown.sums.total[0]);
				return ticks;
			});
		});

		assert.deepEqual(sums[0], sums[1], 'whichever side is above');
		assert.ok(sums[0].some(([before, after]) => before > 0 || after > 0));
	}
});

test('frames keep their order on both sides', () => {
	const c = read(), state = Object.assign(State.initial(c), {process: null});
	const {tree} = Shown.make(Shown.create(c), state), at = Array.from(tree.id);

	assert.deepEqual(at, [...at].sort((a, b) => a - b));
});

/* A document as diff_json.c writes it, with a finding and a process of that name. */
function documentOf(name) {
	const fared = {cpus: 1, waiting_threads: null, throttled_threads: null, answers_per_s: null, p50_ns: null,
		p99_ns: null, slow_share: null, verdict: null};
	const value = {per: 'cores', before: 1, after: 2, change: 1, change_error: 0.1};

	return {changed: [Object.assign({process: name, method: name, module: null, of: 'self', of_mean_change: null,
		path: [name, 'Main'], path_more: 12}, value)], effects: [], tested: 1, certain: 1, methods_in_common: 1, too_short: false,
	processes: [Object.assign({process: name, certain: true, fared_before: fared, fared_after: fared}, value)]};
}

/* All text of the view of changes. */
function reportText(changes) {
	const element = (...parts) => ({parts, append: (...more) => parts.push(...more)});

	Object.assign(globalThis, {Table: {make: (...all) => all}, Dom: {make: (tag, style, ...parts) => element(...parts)}});
	try {
		return JSON.stringify(Changes.report(changes, () => 0));
	} finally {
		delete globalThis.Table;
		delete globalThis.Dom;
	}
}

test('what has no name is told as that', () => {
	const c = read(Object.assign({}, DIFF, {document: JSON.stringify(documentOf(null))}));
	const changes = Changes.create(c, Shown.create(c));

	assert.equal(Changes.top(changes, 5)[0].name, '(unknown)');
	assert.match(reportText(changes), /\(unknown\) ← Main ← … 12 more/);
});

test('a name that was cut is found by what is left of it', () => {
	const c = read(Object.assign({}, DIFF, {document: JSON.stringify(documentOf('Shop.Li…'))}));
	const [top] = Changes.top(Changes.create(c, Shown.create(c)), 5);

	assert.equal(top.name, 'Shop.Li…');
	assert.equal(top.find, 'Shop.Li');
});

test('a process is told in its own unit, though it is too small for the table of processes', () => {
	const c = read(), source = Shown.create(c), changes = Changes.create(c, source);
	const state = Object.assign(State.initial(c), {process: null}), shown = Shown.make(source, state);
	const {stacks} = shown.folded, seen = new Set();

	Changes.add(changes, shown, state);
	assert.deepEqual(changes.document.processes, []);
	for (let id = 1; id < stacks.count; id++) {
		assert.equal(shown.per(id), DIFF.kinds[stacks.process[id]].per);
		seen.add(shown.per(id));
	}
	assert.ok(seen.size > 1, 'of several processes');
	assert.equal(shown.per(0), 'cores', 'of all');
});

test('a side without samples is what there is to say', () => {
	for (const [before, after, text] of [[5, 5, ''], [5, 0, 'After has no samples: nothing to compare.'],
		[0, 5, 'Before has no samples: nothing to compare.'], [0, 0, 'Neither side has samples: nothing to compare.']])
		assert.equal(Changes.lacking({document: {before: {samples: before}, after: {samples: after}}}), text);
});

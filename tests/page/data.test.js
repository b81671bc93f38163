/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

const assert = require('node:assert');
const {test} = require('node:test');
const zlib = require('node:zlib');
const {block, capture} = require('./data.js');
const {Codec, Capture, Selection, Search, Seconds, Shown, State, Tree, Save} = require('./load.js').load();

function read(change) {
	const {document, columns} = capture();

	if (change)
		change(document, columns);
	return Capture.read(Codec.open(block(document, columns)));
}

function made(c, fields) {
	return Shown.make(Shown.create(c), Object.assign(State.initial(c), fields));
}

/* "name total/self" of each node, indented by its depth. */
function lines(c, tree) {
	return Array.from(tree.symbol, (row, i) => ' '.repeat(tree.depth[i]) + c.symbols[row].name + ' ' +
		tree.total[i] + (tree.self[i] ? '/' + tree.self[i] : '')).join('\n');
}

test('numbers of any size, and rises both ways', () => {
	const list = [0, 127, 128, 2 ** 32 - 1, 2 ** 40, 5, 0];
	const b = Codec.open(block({}, {'wide.a': list, 'cpu.slot': list, 'narrow.a': [1, 300]}));

	assert.deepEqual([...b.column('wide.a', false)], list);
	assert.deepEqual([...b.column('cpu.slot', true)], list);
	assert.ok(b.column('narrow.a', false) instanceof Uint32Array);
	assert.equal(b.column('unknown', false).length, 0);
});

test('a block as it stands in a page', async () => {
	const {document, columns} = capture();
	const text = zlib.deflateSync(block(document, columns)).toString('base64');

	assert.equal((await Codec.read(text.replace(/.{100}/g, '$&\n'))).json.samples, 13);
});

test('what is cut short or of another version is refused', () => {
	const {document, columns} = capture(), whole = block(document, columns);

	assert.throws(() => Codec.open(whole.subarray(0, whole.length - 1)), /cut short/);
	assert.throws(() => read((d) => { d.version = 3; }), /version 2/);
});

const IS = (kind, text) => ({kind, how: 'is', text});

test('stacks: processes below the root, the heaviest first', () => {
	const c = read(), tree = made(c, {}).tree;

	assert.equal(lines(c, tree), [
		'All processes 12', ' web (200) 7', '  loop 7/7', ' Shop (100) 5', '  main 5', '   handle 4', '    price 3/2',
		'     price 1/1', '    json 1', '     memcpy 1/1', '   gc 1/1'].join('\n'));
	assert.deepEqual([...c.stacks.process], [-1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
	assert.deepEqual([...c.stacks.end], [11, 9, 9, 8, 6, 6, 8, 8, 9, 11, 11]);
	assert.deepEqual([...tree.start], [0, 0, 0, 7, 7, 7, 7, 7, 10, 10, 11]);
});

test('spans: whole slices, and slots', () => {
	const c = read();
	const total = (span) => made(c, {span}).tree.total[0];

	assert.equal(total({kind: 'slices', first: 1, last: 1}), 4);
	assert.equal(total({kind: 'slices', first: 1, last: 2}), 9);
	assert.equal(total({kind: 'slots', first: 1, last: 51}), 4);
	assert.equal(total({kind: 'slots', first: 200, last: 300}), 0);
});

test('weights', () => {
	const c = read();
	const total = (fields) => made(c, fields).tree.total[0];

	assert.equal(total({weight: 'harm'}), 4, '3 waited at one, 1 at another; one is not known');
	assert.equal(total({weight: 'slow'}), 4, 'the second in which half of the requests were slow');
	assert.deepEqual(State.weights(c), ['cpu', 'harm', 'slow']);
	assert.deepEqual(State.weights(read((d) => { d.hasBlocked = true; })), ['cpu', 'harm', 'slow', 'blocked']);
});

test('blocked time is of samples of its own', () => {
	const c = read((d, columns) => {
		d.hasBlocked = true;
		Object.assign(columns, {'blocked.slot': [3, 60], 'blocked.node': [3, 9], 'blocked.thread': [0, 2],
			'blocked.weight': [800, 5e9], 'slice.blockedFrom': [0, 1, 2], 'slice.blockedTo': [1, 2, 2]});
	});

	assert.equal(made(c, {weight: 'blocked'}).tree.total[0], 5e9 + 800);
	assert.equal(made(c, {weight: 'blocked', span: {kind: 'slices', first: 0, last: 0}}).tree.total[0], 800);
});

test('filters of threads: of one kind they add up, kinds restrict each other', () => {
	const c = read();
	const total = (...filters) => made(c, {filters}).tree.total[0];

	assert.equal(total(IS('role', 'worker')), 3);
	assert.equal(total(IS('role', 'worker'), IS('role', 'gc')), 5);
	assert.equal(total(IS('role', 'worker'), IS('process', 'web')), 0);
	assert.equal(total(IS('thread', '20')), 7);
	assert.equal(total(IS('place', 'web-1')), 7);
	assert.equal(made(c, {process: 0}).tree.total[0], 5);
	assert.equal(made(c, {process: 0}).all, 12);
});

test('filters of frames', () => {
	const c = read();
	const text = (fields) => lines(c, made(c, Object.assign({process: 0}, fields)).tree);

	assert.equal(text({filters: [IS('hide', 'price')]}),
		'Shop (100) 2\n main 2\n  handle 1\n   json 1\n    memcpy 1/1\n  gc 1/1');
	assert.equal(text({filters: [IS('focus', 'price')]}), 'Shop (100) 3\n price 3/2\n  price 1/1');
	assert.equal(text({filters: [IS('merge', 'handle'), IS('merge', 'price')]}),
		'Shop (100) 5\n main 5/3\n  json 1\n   memcpy 1/1\n  gc 1/1');
	assert.equal(text({filters: [IS('collapse', 'handle')]}), 'Shop (100) 5\n main 5\n  handle 4/4\n  gc 1/1');
	assert.equal(text({filters: [IS('collapse', 'Shop')]}), 'Shop (100) 5\n main 5/5', 'by module');
	assert.equal(text({recursion: true}),
		'Shop (100) 5\n main 5\n  handle 4\n   price 3/3\n   json 1\n    memcpy 1/1\n  gc 1/1');
	assert.equal(text({cut: 30}), 'Shop (100) 5\n main 5\n  handle 4\n   price 3/2', 'its weight stays');
	assert.equal(text({filters: [{kind: 'hide', how: 're', text: '^(price|gc)$'}]}),
		'Shop (100) 1\n main 1\n  handle 1\n   json 1\n    memcpy 1/1');
});

test('just my code: what it calls is its own, what is nobody\'s stands by its module', () => {
	const c = read();

	assert.equal(lines(c, made(c, {mycode: true}).tree), ['All processes 12', ' web (200) 7', '  [framework] 7',
		'   web 7/7', ' Shop (100) 5', '  handle 4/1', '   price 3/2', '    price 1/1', '  [framework] 1',
		'   libcoreclr.so 1/1'].join('\n'));
});

test('processes of one workload are one, unless one is chosen', () => {
	const c = read((d) => { d.processes[1].workload = 'shop.service'; });

	assert.equal(lines(c, made(c, {workload: true, cut: 30}).tree), ['All processes 12', ' 2 × shop.service 12',
		'  loop 7/7', '  main 5', '   handle 4'].join('\n'));
	assert.equal(lines(c, made(c, {workload: true, process: 1}).tree), 'web (200) 7\n loop 7/7');
});

test('a filter that is no pattern does nothing, and is told', () => {
	const c = read(), shown = made(c, {filters: [{kind: 'hide', how: 're', text: '('}]});

	assert.equal(shown.tree.total[0], 12);
	assert.match(shown.wrong.get(0), /missing/);
});

test('a filter that takes too long is not applied at all, and is told; others are', (t) => {
	const c = read(), {compile} = Search, costly = {kind: 'hide', how: 're', text: 'slow'};
	const cheap = {kind: 'hide', how: 'is', text: 'gc'}, expected = made(c, {filters: [cheap]});

	/* One that finds all, until it has worked too much: patterns themselves are in pattern.test.js. */
	t.after(() => { Search.compile = compile; });
	Search.compile = (text, how) => {
		let work = 0;

		return text !== 'slow' ? compile(text, how)
			: {test: () => ++work <= 3, isCostly: () => work > 3};
	};
	const source = Shown.create(c), state = Object.assign(State.initial(c), {filters: [costly, cheap]});
	const shown = Shown.make(source, state);

	assert.ok(expected.tree.total[0] < 12);
	assert.equal(lines(c, shown.tree), lines(c, expected.tree));
	assert.deepEqual([...shown.wrong], [[0, 'takes too long, is not applied']]);
	assert.equal(lines(c, Shown.make(source, Object.assign(state, {weight: 'harm'})).tree),
		lines(c, made(c, {filters: [cheap], weight: 'harm'}).tree), 'nor later');
	for (const kind of ['focus', 'merge', 'thread'])
		assert.equal(made(c, {filters: [Object.assign({}, costly, {kind, text: 'slow'}), cheap]}).tree.total[0],
			expected.tree.total[0], kind);
});

test('who was seen in a frame, and when', () => {
	const c = read(), shown = made(c, {}), seen = Tree.seen(c, shown.folded, shown.tree, shown.selection);
	const at = (name) => Array.from(shown.tree.symbol, (row) => c.symbols[row].name).indexOf(name);

	assert.deepEqual([...seen.threads], [3, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1]);
	assert.deepEqual([seen.first[at('main')], seen.last[at('main')]], [0, 51]);
	assert.deepEqual([seen.first[at('loop')], seen.last[at('loop')]], [52, 149]);
	for (const name of ['main', 'loop', 'gc']) {
		const n = at(name);

		assert.deepEqual(shown.seenAt(shown.tree.id[n]),
			{threads: seen.threads[n], first: seen.first[n], last: seen.last[n]}, name);
	}
});

test('callers above, callees below; a method that calls itself counts once', () => {
	const c = read(), {tree} = made(c, {process: 0});
	const row = c.symbols.findIndex((s) => s.name === 'price');

	assert.equal(lines(c, Tree.callers(tree, row, 0)), 'price 3\n handle 3\n  main 3/3');
	assert.equal(lines(c, Tree.callees(tree, row, 0)), 'price 3/2\n price 1/1');
	assert.deepEqual(Tree.methods(c, tree, 0).find((m) => m.row === row), {row, self: 3, total: 3});
});

test('a zoomed frame is found again after a fold', () => {
	const c = read(), whole = c.stacks, {stacks} = made(c, {filters: [IS('merge', 'handle')]}).folded;
	const memcpy = Array.from(whole.symbol, (row) => c.symbols[row].name).indexOf('memcpy');

	assert.equal(c.symbols[stacks.symbol[Shown.follow(whole, memcpy, stacks)]].name, 'memcpy');
});

test('zoomed: its callers above it, and what is below', () => {
	const c = read(), shown = made(c, {zoom: 6, cut: 10}); /* json */

	assert.equal(lines(c, shown.tree), 'All processes 12\n Shop (100) 5\n  main 5\n   handle 4\n    json 1\n     memcpy 1/1'
		.replace('json 1\n     memcpy 1/1', 'json 1'), 'what is light of all is cut');
	assert.equal(lines(c, made(c, {zoom: 6}).tree),
		'All processes 12\n Shop (100) 5\n  main 5\n   handle 4\n    json 1\n     memcpy 1/1');
	assert.equal(shown.zoom, 4);
	assert.equal(made(c, {zoom: 6, process: 1}).zoom, 0, 'not of that process');
	assert.equal(made(c, {zoom: 99}).zoom, 0);
});

test('search counts a match within a match once, of what is zoomed into', () => {
	const c = read();
	const found = (text, fields) => {
		const {folded, sums, inside} = made(c, fields);

		return Search.sum(folded.stacks, sums.total, inside, Search.markSymbols(c, Search.compile(text, 'has')));
	};

	assert.deepEqual(found('price', {}), {frames: 2, samples: 3});
	assert.deepEqual(found('shop', {}), {frames: 4, samples: 5}, 'by module; a process is no code');
	assert.deepEqual(found('price', {zoom: 6}), {frames: 0, samples: 0});
	assert.deepEqual(found('price', {recursion: true}), {frames: 1, samples: 3});
});

test('requests of a span', () => {
	const c = read(), seconds = Seconds.make(c);
	const [all] = Seconds.ports(seconds, null);
	const [second] = Seconds.ports(seconds, {kind: 'slices', first: 1, last: 1});

	assert.deepEqual([all.answered, all.slow, all.stuck, all.abandoned, all.longestNs], [110, 5, 2, 1, 3.9e6]);
	assert.deepEqual([second.answered, second.perSecond, second.p50Ns], [10, 10, 3e6]);
	assert.equal(all.p50Ns, 1.55e6);
	assert.deepEqual(Seconds.ports(seconds, {kind: 'slices', first: 2, last: 2}), []);
});

test('who waited for whom, and who ran', () => {
	const c = read(), seconds = Seconds.make(c);

	assert.deepEqual(Seconds.waits(seconds, null), [{waiter: 1, runner: 0, weight: 0.5}]);
	assert.deepEqual(Seconds.waits(seconds, {kind: 'slices', first: 1, last: 1}), [{waiter: 1, runner: 0, weight: 1}]);
	assert.deepEqual(Seconds.processes(seconds, {kind: 'slices', first: 0, last: 1}),
		[{process: 0, cpu: 0.375, waiting: 0.05, throttled: 0}]);
	assert.deepEqual([...seconds.host.cpu], [1, 0, 2]);
});

test('slices that a stretch of time touches', () => {
	const seconds = Seconds.make(read());
	const of = (from, to) => {
		const s = Seconds.slicesOf(seconds, from, to);

		return s && [s.first, s.last];
	};

	assert.deepEqual(of(0, 1), [0, 0]);
	assert.deepEqual(of(0.5, 1.000001), [0, 1]);
	assert.deepEqual(of(2.9, 99), [2, 2]);
	assert.equal(of(3, 4), null);
});

test('the heat map has each sample once', () => {
	const c = read(), heat = made(c, {}).heat();

	assert.deepEqual([heat.seconds, heat.slots, heat.most], [3, 50, 5]);
	assert.equal(heat.weight.reduce((n, w) => n + w, 0), 12);
	assert.equal(heat.weight[149], 5);
});

test('an address says the state, and only what fits is read', () => {
	const c = read();
	const state = Object.assign(State.initial(c), {process: 1, view: 'bottom', weight: 'harm', span: {kind: 'slots', first: 3, last: 9},
		search: 'a&b=#<script>', regex: true, mycode: true, cut: 2.5,
		filters: [IS('focus', '</script>;:=~'), {kind: 'role', how: 're', text: '^x'}, {kind: 'hide', how: 'has', text: '%00\n'}]});

	assert.deepEqual(State.decode(State.encode(state, c), c), state);
	for (const bad of ['#process=2&view=x&weight=blocked&t=2-9&f=hide&f=evil:=x&f=hide:x&cut=NaN&method=99999&regex=2',
		'#t=s5-1&zoom=-1&process=__proto__', '#%', '#t=0-99999999999&cut=1e9'])
		assert.deepEqual(State.decode(bad, c), Object.assign(State.initial(c), {process: null,
			...bad.startsWith('#p') || bad.includes('__') ? {} : {process: c.first}}), bad);
});

test('folded stacks', () => {
	const c = read((d) => { d.strings[6] = 'a;b\nc'; });

	assert.equal(Save.folded(c, made(c, {}).tree), ['web (200);a:b\\x0ac 7', 'Shop (100);main;handle;price 2',
		'Shop (100);main;handle;price;price 1', 'Shop (100);main;handle;json;memcpy 1', 'Shop (100);main;gc 1', ''].join('\n'));
});

test('SVG: names are text, and characters that XML does not know are replaced', () => {
	assert.equal(Save.escape('<a href="x">&\u0001\ud800\u{1f525}\'\ufffe'), '&lt;a href=&quot;x&quot;&gt;&amp;\ufffd\ufffd\u{1f525}&#39;\ufffd');
});

test('very deep and very wide stacks', () => {
	const c = read((d, columns) => {
		const deep = 3000, wide = 3000;

		columns['node.up'] = [0, ...new Array(deep).fill(0), deep, ...new Array(wide - 1).fill(1)];
		columns['node.symbol'] = [0, ...new Array(deep).fill(0), ...new Array(wide).fill(1)];
		columns['cpu.node'] = [deep, deep, deep + 1, deep + 2, deep + wide, 1, 1, 1];
	});
	const {tree} = made(c, {recursion: true});

	assert.equal(tree.total[0], 12);
	assert.equal(made(c, {}).tree.count, 3005);
	assert.equal(Tree.callers(made(c, {}).tree, 0, 0).total[0], 9);
});

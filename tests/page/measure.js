/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * How long the flame graph page takes in Chromium here, and how large it is. usage: measure.js PAGE
 * HOTRUN_TEST_PAGES=DIR HOTRUN_TEST_HOUR=1 build/unit/output --filter 'flame/writes_pages' makes one
 * of 500,000 samples with 100,000 distinct stacks (DIR/hour.html).
 */
const fs = require('node:fs');
const path = require('node:path');
const {start} = require('./browser.js');

const MEASURES = `(async () => {
	const times = {};
	const timed = (what, act) => {
		const list = [];
		for (let i = 0; i < 5; i++) {
			const began = performance.now();
			act(i);
			Graph.draw(App.graph);
			list.push(performance.now() - began);
		}
		times[what] = list.sort((a, b) => a - b);
	};
	const n = App.capture.slices.count;
	timed('zoom', (i) => App.zoomTo(i % 2 ? 0 : Math.min(20, App.tree.count - 1)));
	App.zoomTo(0);
	timed('search', (i) => App.change({search: 'type' + i, regex: false}));
	timed('search, regular expression', (i) => App.change({search: 'type' + i + '.*async$', regex: true}));
	App.change({search: '', regex: false});
	timed('brush', (i) => App.change({span: {kind: 'slices', first: Math.floor(n * i / 20), last: Math.floor(n * (i + 10) / 20) - 1}}));
	timed('brush of all', (i) => App.change({span: i % 2 ? null : {kind: 'slices', first: 0, last: n - 1}}));
	App.change({span: null});
	timed('process', (i) => App.change({process: i % 2 ? null : 0, zoom: 0}));
	App.change({process: null, zoom: 0});
	timed('weight', (i) => App.change({weight: i % 2 ? 'cpu' : 'harm'}));
	App.change({weight: 'cpu'});
	timed('colour by role', (i) => App.change({colour: i % 2 ? 'kind' : 'role'}));
	App.change({colour: 'kind'});
	timed('filter: merge', (i) => App.change({filters: [{kind: 'merge', how: 'has', text: 'Type' + i}]}));
	timed('just my code', (i) => App.change({filters: [], mycode: i % 2 === 0}));
	App.change({filters: [], mycode: false});
	for (const view of State.VIEWS)
		timed('view ' + view, (i) => App.change({view, span: i % 2 ? null : {kind: 'slices', first: 0, last: n - 1}}));
	App.change({view: 'flame', span: null});
	timed('heat map', (i) => App.change({heat: i % 2 === 0}));
	return {nodes: App.capture.stacks.count, shown: App.tree.count, samples: App.capture.cpu.count, times};
})()`;

(async () => {
	const file = path.resolve(process.argv[2]), browser = await start(), first = [];
	let page;

	for (let i = 0; i < 3; i++) {
		if (page)
			await page.close();
		page = await browser.open({});
		await page.go('file://' + file);
		while (await page.eval('typeof App') !== 'object')
			await new Promise((done) => setTimeout(done, 10));
		first.push(await page.eval('App.ready.then(() => { Graph.draw(App.graph); return performance.now(); })'));
	}
	const seen = await page.eval(MEASURES);

	console.log(`${file}: ${fs.statSync(file).size} bytes; ${seen.samples} samples, ${seen.nodes} nodes of stacks, ${seen.shown} in the tree`);
	console.log(`first picture, from the start of the page: ${first.map((ms) => ms.toFixed(0)).join(', ')} ms`);
	for (const [what, list] of Object.entries(seen.times))
		console.log(`${what.padEnd(28)} median ${list[2].toFixed(1).padStart(7)} ms   worst of five ${list[4].toFixed(1).padStart(7)} ms`);
	await browser.close();
})();

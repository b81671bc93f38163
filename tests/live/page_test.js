/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The flame graph page in headless Chromium: driven from within (tests/page/checks.js), and by real
 * input. usage: page_test.js KIND WIDTH HEIGHT PAGE [KIND ...]... [picture FILE PAGE]
 */
const fs = require('node:fs');
const path = require('node:path');
const {start} = require('../page/browser.js');

const CHECKS = fs.readFileSync(path.join(__dirname, '../page/checks.js'), 'utf8');

async function ready(page) {
	for (let i = 0; i < 500 && await page.eval('typeof App') !== 'object'; i++)
		await new Promise((done) => setTimeout(done, 20));
	await page.eval('App.ready.then(() => 0)');
}

async function drive(browser, kind, width, height, file) {
	const page = await browser.open({width, height});
	let lines;

	await page.go('file://' + path.resolve(file));
	await ready(page);
	lines = await page.eval(CHECKS + '(' + JSON.stringify(kind) + ')');
	if (kind === 'small')
		lines.push(...await byHand(page));
	/* One is what checkPolicy() provokes. */
	const errors = page.errors.filter((e) => !e.includes('violates the following Content Security Policy'));

	lines.push(errors.length ? 'FAILED  script errors: ' + errors.join('; ') : 'ok      no script errors');
	const outside = page.requests.filter((url) => !/^(file|blob):/.test(url));

	lines.push(outside.length ? 'FAILED  asks for ' + outside.join() : 'ok      asks for nothing outside');
	for (const line of lines)
		console.log(`${kind} ${width},${height}  ${line}`);
	await page.close();
	return lines.length > 3 && !lines.some((l) => l.startsWith('FAILED'));
}

/* Mouse, keys and fingers as the browser gets them. */
async function byHand(page) {
	const lines = [];
	const mouse = (type, x, y, more) => page.call('Input.dispatchMouseEvent',
		Object.assign({type, x, y, button: 'left', buttons: 1, clickCount: 1}, more));
	const press = async (key, code) => {
		await page.call('Input.dispatchKeyEvent', {type: 'keyDown', key, code: code || key, text: key.length === 1 ? key : undefined});
		await page.call('Input.dispatchKeyEvent', {type: 'keyUp', key, code: code || key});
	};
	const is = async (what, expression, expected) => {
		const seen = await page.eval(expression);

		lines.push(seen === expected ? 'ok      ' + what
			: 'FAILED  ' + what + ': ' + JSON.stringify(seen) + ', not ' + JSON.stringify(expected));
	};
	/* Where a second of the strip, or a frame, is in the window. */
	const at = (second) => page.eval(`(() => { const r = byId('time-canvas').getBoundingClientRect();
		return [r.left + Strip.xOf(App.strip, ${second}), r.top + 30]; })()`);
	const frame = (name) => page.eval(`(() => { const n = Array.from(App.tree.symbol, (s) => App.capture.symbols[s].name)
		.indexOf(${JSON.stringify(name)}), b = Graph.box(App.graph, n), r = App.graph.scroller.getBoundingClientRect();
		return [r.left + b.x + b.width / 2, r.top + b.y - App.graph.scroller.scrollTop + b.height / 2]; })()`);

	await page.eval('globalThis.byId = (id) => document.getElementById(id); location.hash = "#process=all"; App.readHash(); App.render()');
	let [x, y] = await at(6.1);
	const [x2] = await at(8.9);

	await mouse('mousePressed', x, y);
	await mouse('mouseMoved', (x + x2) / 2, y);
	await mouse('mouseMoved', x2, y);
	await mouse('mouseReleased', x2, y);
	await is('a drag over the strip chooses the seconds that it touches', 'App.tree.total[0]', 300);
	await is('and says so in the address', 'location.hash', '#process=all&t=6-8');
	await mouse('mousePressed', x, y);
	await mouse('mouseReleased', x, y);
	await is('a click on them takes them back', 'App.tree.total[0]', 1000);
	[x, y] = await frame('nginx (200)');
	await mouse('mouseMoved', x, y);
	await is('the tip tells the frame', `byId('tip').textContent.startsWith('nginx (200)30.0 %')`, true);
	await mouse('mousePressed', x, y);
	await mouse('mouseReleased', x, y);
	await is('a click zooms', 'App.capture.symbols[App.tree.symbol[App.zoom]].name', 'nginx (200)');
	await press('Escape');
	await is('Escape goes back', 'App.zoom', 0);
	[x, y] = await frame('start_thread');
	await mouse('mousePressed', x, y, {button: 'right', buttons: 2});
	await mouse('mouseReleased', x, y, {button: 'right', buttons: 2});
	await is('a right click opens the menu', `byId('menu').querySelector('.title').textContent`, 'start_thread');
	await press('Escape');
	await is('Escape closes it', `byId('menu').hidden`, true);
	await press('7');
	await is('7 is the report', `byId('table').querySelector('h3').textContent.startsWith('Verdict')`, true);
	await press('1');
	[x, y] = await frame('nginx (200)');
	await page.call('Emulation.setTouchEmulationEnabled', {enabled: true});
	await page.call('Input.dispatchTouchEvent', {type: 'touchStart', touchPoints: [{x, y}]});
	await page.call('Input.dispatchTouchEvent', {type: 'touchEnd', touchPoints: []});
	await page.eval('new Promise((done) => setTimeout(done, 50))');
	await is('a touch zooms', 'App.capture.symbols[App.tree.symbol[App.zoom]].name', 'nginx (200)');
	return lines;
}

(async () => {
	const browser = await start(), list = process.argv.slice(2);
	let good = true;

	try {
		while (list.length) {
			const kind = list.shift();

			if (kind === 'picture') {
				const page = await browser.open({});

				await page.go('file://' + path.resolve(list[1]));
				await ready(page);
				await page.picture(list[0]);
				list.splice(0, 2);
				await page.close();
			} else {
				const [width, height, file] = list.splice(0, 3);

				good = await drive(browser, kind, Number(width), Number(height), file) && good;
			}
		}
	} finally {
		await browser.close();
	}
	process.exit(good ? 0 : 1);
})().catch((e) => {
	console.log('FAILED  ' + e.stack);
	process.exit(1);
});

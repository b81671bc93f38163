/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The flame graph page in headless Chromium: driven from within (tests/page/checks.js), and by real
 * input. usage: page_test.js KIND WIDTH HEIGHT PAGE [KIND ...]... [picture FILE PAGE]
 */
const fs = require('node:fs');
const os = require('node:os');
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
	if (kind === 'diff')
		lines.push(...await diffByHand(page));
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
		const text = key.length === 1 ? key : key === 'Enter' ? '\r' : undefined;

		await page.call('Input.dispatchKeyEvent', {type: 'keyDown', key, code: code || key, text});
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
	await press('h');
	[x, y] = await at(2.5);
	await mouse('mousePressed', x, y);
	await mouse('mouseMoved', x + 300, y + 10);
	await mouse('mouseReleased', x + 300, y + 10);
	await is('a drag over the heat map chooses fiftieths of seconds', 'App.state.span.kind', 'slots');
	await is('with the samples of these alone', `App.tree.total[0] === Array.from(App.capture.cpu.slot).filter((s) =>
		s >= App.state.span.first && s <= App.state.span.last).length && App.tree.total[0] > 100`, true);
	await page.call('Input.dispatchMouseEvent', {type: 'mousePressed', x, y, button: 'left', clickCount: 2});
	await page.call('Input.dispatchMouseEvent', {type: 'mouseReleased', x, y, button: 'left', clickCount: 2});
	await is('a double click takes it back', 'App.state.span', null);
	await press('h');
	lines.push(...await saved(page, press));
	await page.call('Emulation.setTouchEmulationEnabled', {enabled: true});
	[x, y] = await at(6.1);
	await page.call('Input.dispatchTouchEvent', {type: 'touchStart', touchPoints: [{x, y}]});
	for (const step of [0.3, 0.6, 1])
		await page.call('Input.dispatchTouchEvent', {type: 'touchMove', touchPoints: [{x: x + step * (x2 - x), y}]});
	/* At rest: while something is flung the browser takes a touch for a stop. */
	await new Promise((done) => setTimeout(done, 200));
	await page.call('Input.dispatchTouchEvent', {type: 'touchMove', touchPoints: [{x: x2, y}]});
	await page.call('Input.dispatchTouchEvent', {type: 'touchEnd', touchPoints: []});
	await is('a finger over the strip chooses seconds, too', 'App.tree.total[0]', 300);
	await page.eval('App.change({span: null})');
	[x, y] = await frame('nginx (200)');
	/* On a busy machine a touch may last until it is a long one. */
	for (let i = 0; i < 5 && !await page.eval('App.zoom'); i++) {
		await press('Escape');
		await page.call('Input.dispatchTouchEvent', {type: 'touchStart', touchPoints: [{x, y}]});
		await page.call('Input.dispatchTouchEvent', {type: 'touchEnd', touchPoints: []});
		await page.eval(`new Promise((done) => { const began = performance.now(), look = setInterval(() => {
			if (App.zoom || performance.now() - began > 2000) { clearInterval(look); done(); } }, 20); })`);
	}
	await is('a touch zooms', 'App.capture.symbols[App.tree.symbol[App.zoom]].name', 'nginx (200)');
	return lines;
}

/* Both graphs of a difference. */
async function diffByHand(page) {
	const lines = [];
	const press = async (key) => {
		const text = key.length === 1 ? key : key === 'Enter' ? '\r' : undefined;

		await page.call('Input.dispatchKeyEvent', {type: 'keyDown', key, code: key, text});
		await page.call('Input.dispatchKeyEvent', {type: 'keyUp', key, code: key});
	};
	const is = async (what, expression, expected) => {
		const seen = await page.eval(expression);

		lines.push(seen === expected ? 'ok      ' + what
			: 'FAILED  ' + what + ': ' + JSON.stringify(seen) + ', not ' + JSON.stringify(expected));
	};
	const mouse = (type, x, y, more) => page.call('Input.dispatchMouseEvent',
		Object.assign({type, x, y, button: 'left', buttons: 1, clickCount: 1}, more));
	const frame = (graph, name) => page.eval(`(() => { const g = ${graph}, n = Array.from(g.tree.symbol,
		(s) => App.capture.symbols[s].name).indexOf(${JSON.stringify(name)}), b = Graph.box(g, n),
		r = g.scroller.getBoundingClientRect();
		return [r.left + b.x + b.width / 2, r.top + b.y - g.scroller.scrollTop + b.height / 2]; })()`);
	const nameOf = (graph, node) => `App.capture.symbols[${graph}.tree.symbol[${node}]].name`;
	const other = 'App.changes.graph';

	await page.eval('globalThis.byId = (id) => document.getElementById(id); location.hash = "#process=all"; App.readHash(); App.render()');
	let [x, y] = await frame('App.graph', 'Shop.Orders.Price');

	await mouse('mouseMoved', x, y);
	await is('the pointer is shown in the other graph, too', nameOf(other, other + '.hover'), 'Shop.Orders.Price');
	await is('the tip tells both sides', `/before 50\\.0 %.* · after 60\\.0 %.* · change \\+50\\.0 %$/.test(byId('tip')
		.querySelector('.figures').textContent)`, true);
	[x, y] = await frame(other, 'Shop.Orders.List');
	await mouse('mouseMoved', x, y);
	await is('and the other way round', nameOf('App.graph', 'App.graph.hover'), 'Shop.Orders.List');
	await mouse('mousePressed', x, y);
	await mouse('mouseReleased', x, y);
	await is('a click in the other graph zooms this one', nameOf('App', 'App.zoom'), 'Shop.Orders.List');
	await is('and itself', nameOf(other, other + '.zoom'), 'Shop.Orders.List');
	await press('Escape');
	await is('Escape goes back in both', `${nameOf('App', 'App.zoom')} + ' ' + ${nameOf(other, other + '.zoom')}`,
		Array(2).fill('Microsoft.AspNetCore.Server.Kestrel.HttpProtocol.ProcessRequests').join(' '));
	await press('0');
	await press('t');
	await is('t goes to the other graph', 'document.activeElement.id', 'other');
	await press('ArrowDown');
	await press('ArrowDown');
	await press('Enter');
	await is('which is walked by keys, and zooms by Enter', `App.zoom > 0 && ${other}.zoom > 0`, true);
	await press('0');
	await press('w');
	await is('w takes the other side up', `byId('graph-title').textContent.startsWith('before: ')`, true);
	await is('with its samples', 'App.tree.total[0]', 2400);
	await press('w');
	[x, y] = await frame(other, 'Shop.Orders.List');
	await mouse('mousePressed', x, y, {button: 'right', buttons: 2});
	await mouse('mouseReleased', x, y, {button: 'right', buttons: 2});
	await is('a right click there opens the menu', `byId('menu').querySelector('.title').textContent`, 'Shop.Orders.List');
	await press('Escape');
	await press('7');
	await is('7 is what changed', `byId('table').querySelector('h3').textContent`, 'What changed for certain');
	[x, y] = await page.eval(`(() => { const r = byId('table').querySelector('tbody tr').getBoundingClientRect();
		return [r.left + 20, r.top + r.height / 2]; })()`);
	await mouse('mousePressed', x, y);
	await mouse('mouseReleased', x, y);
	await is('a click on a finding finds it', 'App.state.view + " " + App.state.search', 'flame Shop.Orders.Price');
	await is('in both graphs', `App.graph.mask.includes(1) && ${other}.mask.includes(1)`, true);
	return lines;
}

/* What the menu of `e` hands out, as files; and what is copied. */
async function saved(page, press) {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotrun-saved-')), lines = [];
	const file = (name) => path.join(folder, name);

	await page.root('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: folder});
	await page.root('Browser.grantPermissions', {permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite']});
	for (const [down, name, good] of [
		[0, 'hotrun-web-1.svg', (bytes) => bytes.toString().includes('</svg>')],
		[1, 'hotrun-web-1.png', (bytes) => bytes.readUInt32BE(0) === 0x89504e47],
		[2, 'hotrun-web-1.folded', (bytes) => bytes.toString().split('\n').reduce((n, l) => n + Number(/ (\d+)$/.exec(l)?.[1] || 0), 0) === 1000]]) {
		await press('e');
		for (let i = 0; i < down; i++)
			await press('ArrowDown');
		await press('Enter');
		for (let i = 0; i < 400 && !fs.existsSync(file(name)); i++)
			await new Promise((done) => setTimeout(done, 50));
		const there = fs.existsSync(file(name));

		lines.push((there && good(fs.readFileSync(file(name))) ? 'ok      ' : 'FAILED  ') + 'saved by keys: ' + name +
			(there ? '' : ', not there; but ' + fs.readdirSync(folder)));
	}
	await press('e');
	await press('ArrowUp');
	await press('Enter');
	await page.eval('new Promise((done) => setTimeout(done, 100))');
	const text = await page.eval('navigator.clipboard.readText()'), link = await page.eval('location.href');

	lines.push((text === link ? 'ok      ' : 'FAILED  ') + 'the link is copied' + (text === link ? '' : ': ' + text));
	fs.rmSync(folder, {recursive: true});
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

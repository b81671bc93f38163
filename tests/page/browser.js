/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * A headless Chromium that is spoken to through a pipe (Chrome DevTools protocol), without a
 * library: pages, real input, pictures. One of it serves many pages.
 */
const {spawn} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/* Where it is, or null. */
function find() {
	for (const folder of process.env.PATH.split(':'))
		for (const name of NAMES)
			if (fs.existsSync(path.join(folder, name)))
				return path.join(folder, name);
	return null;
}

async function start() {
	const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'hotrun-browser-'));
	const child = spawn(find(), ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
		'--disable-background-networking', '--disable-component-update', '--disable-sync', '--remote-debugging-pipe',
		'--hide-scrollbars', '--user-data-dir=' + profile],
	{stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
	const waiting = new Map(), listeners = [];
	let last = 0, held = Buffer.alloc(0);

	child.stdio[4].on('data', (bytes) => {
		held = Buffer.concat([held, bytes]);
		for (let end; (end = held.indexOf(0)) >= 0; held = held.subarray(end + 1)) {
			const message = JSON.parse(held.subarray(0, end).toString());

			if (message.id) {
				const {done, fail} = waiting.get(message.id);

				waiting.delete(message.id);
				message.error ? fail(new Error(message.error.message)) : done(message.result);
			} else {
				for (const listener of listeners)
					listener(message);
			}
		}
	});

	const send = (method, params, sessionId) => new Promise((done, fail) => {
		waiting.set(++last, {done, fail});
		child.stdio[3].write(JSON.stringify({id: last, method, params, sessionId}) + '\0');
	});

	return {
		open: (options) => openPage(send, listeners, options || {}),
		close: async () => {
			await send('Browser.close').catch(() => 0);
			if (child.exitCode === null)
				await new Promise((done) => child.once('exit', done));
			fs.rmSync(profile, {recursive: true, force: true, maxRetries: 5, retryDelay: 100});
		},
	};
}

/* options: {width, height, dark}. */
async function openPage(send, listeners, options) {
	const {targetId} = await send('Target.createTarget', {url: 'about:blank'});
	const {sessionId} = await send('Target.attachToTarget', {targetId, flatten: true});
	const call = (method, params) => send(method, params, sessionId);
	const errors = [], requests = [];

	listeners.push((message) => {
		if (message.sessionId !== sessionId)
			return;
		if (message.method === 'Runtime.exceptionThrown')
			errors.push(message.params.exceptionDetails.exception?.description || message.params.exceptionDetails.text);
		if (message.method === 'Network.requestWillBeSent')
			requests.push(message.params.request.url);
		if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error')
			errors.push(message.params.entry.text);
	});
	await call('Page.enable');
	await call('Runtime.enable');
	await call('Network.enable');
	await call('Log.enable');
	await call('Emulation.setDeviceMetricsOverride', {width: options.width || 1400, height: options.height || 800,
		deviceScaleFactor: 1, mobile: false});
	await call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: options.dark ? 'dark' : 'light'}]});

	const page = {
		errors, requests, call,
		/* Of the browser as a whole. */
		root: (method, params) => send(method, params),
		/* Value of an expression; a promise is awaited. */
		eval: async (expression) => {
			const r = await call('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});

			if (r.exceptionDetails)
				throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
			return r.result.value;
		},
		go: async (url) => {
			const loaded = new Promise((done) => {
				const listener = (m) => {
					if (m.sessionId === sessionId && m.method === 'Page.loadEventFired') {
						listeners.splice(listeners.indexOf(listener), 1);
						done();
					}
				};

				listeners.push(listener);
			});

			await call('Page.navigate', {url});
			await loaded;
		},
		picture: async (file) => {
			const {data} = await call('Page.captureScreenshot', {format: 'png'});

			fs.writeFileSync(file, Buffer.from(data, 'base64'));
		},
		close: () => send('Target.closeTarget', {targetId}),
	};

	return page;
}

module.exports = {find, start};

/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* A data block by hand: the writer of user/output/pack.c once more, for tests of what reads it. */

const RISING = /^(symbol\.(name|raw)|tier\.symbol|(cpu|blocked)\.slot|(account|contention|service|response)\.slice|slice\.(startNs|lengthNs|elapsedNs|cpuFrom|cpuTo|blockedFrom|blockedTo))$/;

function varints(list, rises) {
	const bytes = [];
	let last = 0;

	for (const number of list) {
		let value = number;

		if (rises) {
			value = number >= last ? 2 * (number - last) : 2 * (last - number) - 1;
			last = number;
		}
		for (; value > 0x7f; value = Math.floor(value / 128))
			bytes.push(value % 128 | 0x80);
		bytes.push(value);
	}
	return bytes;
}

/* columns: {name: numbers}. */
function block(document, columns) {
	const parts = Object.entries(columns).map(([name, list]) => [name, list, varints(list, RISING.test(name))]);
	const json = Buffer.from(JSON.stringify(Object.assign({}, document,
		{columns: parts.map(([name, list, bytes]) => [name, list.length, bytes.length])})));
	const length = Buffer.alloc(4);

	length.writeUInt32LE(json.length);
	return new Uint8Array(Buffer.concat([length, json, ...parts.map((p) => Buffer.from(p[2]))]));
}

/*
 * Two processes in three seconds, 100 Hz. shop: thread 10 (role worker) and 11 (role gc), web: 20.
 *	second 0: shop main>handle>price x2 (10), main>handle>price>price (11, 3 waited)
 *	second 1: shop main>handle>json>memcpy (10), shop main>gc (11), web loop x2 (20)
 *	second 2: web loop (20), weight 5
 */
function capture() {
	const strings = ['main', 'handle', 'price', 'json', 'memcpy', 'gc', 'loop', 'Shop', 'System.Text.Json', 'libc.so.6',
		'libcoreclr.so', 'web', 'worker', 'Tier1', 't10', 't11', 't20', ''];
	const symbol = (name) => strings.indexOf(name);
	const document = {
		format: 'hotrun-flame', version: 2, weight: 'cpu', hasBlocked: false, samples: 13, blockedMs: 0, cut: 0, first: null,
		slotNs: 20000000, justMyCode: false, rawNames: false, losses: [], books: {}, reasons: [], report: '', verdicts: '',
		host: {name: 'h', cpus: 2, hz: 100, durationNs: 3e9, startUnixMs: 0}, strings, responseSlotsNs: [0, 1e6, 2e6, 4e6],
		processes: [
			{pid: 100, name: 'Shop', comm: 'dotnet', unit: 'shop.service', container: '', workload: 'shop.service', samples: 5},
			{pid: 200, name: 'web', comm: 'web', unit: '', container: 'c1', pod: 'web-1', workload: 'web', samples: 8}],
		endpoints: [{process: 0, pid: 100, name: 'Shop', address: '::', port: 80, protocols: 'HTTP/1', slowNs: 5e8}],
	};
	const columns = {
		/* shop main handle price price json memcpy gc; web loop */
		'node.up': [0, 0, 0, 0, 0, 2, 0, 3, 3, 0], 'node.symbol': [0, 0, 1, 2, 2, 3, 4, 5, 1, 6],
		'symbol.name': [0, 1, 2, 3, 4, 5, 6], 'symbol.raw': [0, 1, 2, 3, 4, 5, 6],
		'symbol.module': [symbol('Shop'), symbol('Shop'), symbol('Shop'), symbol('System.Text.Json'), symbol('libc.so.6'),
			symbol('libcoreclr.so'), symbol('web')],
		'symbol.kind': [2, 3, 3, 3, 2, 2, 2], 'symbol.reason': [0, 0, 0, 0, 0, 0, 0],
		'symbol.application': [0, 1, 1, 0, 0, 0, 0], 'symbol.later': [0, 0, 0, 0, 0, 0, 0],
		'tier.symbol': [2], 'tier.name': [symbol('Tier1')], 'tier.frames': [3],
		'thread.process': [0, 0, 1], 'thread.tid': [10, 11, 20],
		'thread.name': [symbol('t10'), symbol('t11'), symbol('t20')], 'thread.role': [symbol('worker'), symbol('gc'), symbol('web')],
		'cpu.slot': [0, 1, 2, 50, 51, 52, 99, 149], 'cpu.node': [3, 3, 4, 6, 7, 9, 9, 9], 'cpu.thread': [0, 0, 1, 0, 1, 2, 2, 2],
		'cpu.weight': [1, 1, 1, 1, 1, 1, 1, 5], 'cpu.waiters': [1, 1, 4, 0, 1, 2, 1, 1],
		'slice.startNs': [0, 1e9, 2e9], 'slice.lengthNs': [1e9, 1e9, 1e9], 'slice.elapsedNs': [2e9, 2e9, 2e9],
		'slice.idleNs': [1e9, 2e9, 0], 'slice.stealNs': [0, 0, 0], 'slice.waitedNs': [5e8, 0, 0],
		'slice.throttledNs': [0, 0, 0], 'slice.sampleEvery': [1, 1, 5], 'slice.quiet': [0, 0, 1], 'slice.lost': [0, 0, 0],
		'slice.cpuFrom': [0, 3, 7], 'slice.cpuTo': [3, 7, 8],
		'account.slice': [0, 1], 'account.process': [0, 0], 'account.onCpuUs': [500000, 250000],
		'account.waitedUs': [100000, 0], 'account.throttledUs': [0, 0],
		'contention.slice': [0, 1], 'contention.runner': [1, 1], 'contention.waiter': [2, 2], 'contention.weight': [50000, 100000],
		'service.slice': [0, 1], 'service.endpoint': [0, 0], 'service.answered': [100, 10], 'service.slow': [0, 5],
		'service.abandoned': [0, 1], 'service.refused': [0, 0], 'service.timeUs': [100000, 20000], 'service.longestUs': [3000, 3900],
		'service.open': [0, 0], 'service.late': [0, 0], 'service.stuck': [0, 2],
		'response.slice': [0, 1], 'response.endpoint': [0, 0], 'response.slot': [1, 2], 'response.answers': [100, 10],
	};

	return {document, columns};
}

module.exports = {block, capture};

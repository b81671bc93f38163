/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The data block (format: flame.h) as symbols, processes, threads, stacks, samples and what is
 * known by second. Stacks are one tree of flat arrays in preorder: node 0 is the root, processes
 * are below it, the subtree of node i is i .. end[i] - 1. Pure.
 */
const Capture = (() => {
	const VERSION = 2;
	/* enum model_kind, then what only this page knows. */
	const KIND = {UNKNOWN: 0, KERNEL: 1, NATIVE: 2, JIT: 3, STUB: 4, IMAGE: 5, NOTE: 6,
		PROCESS: 7, ROOT: 8};
	const RISING = {
		symbol: ['name', 'raw'], tier: ['symbol'], cpu: ['slot'], blocked: ['slot'],
		slice: ['startNs', 'lengthNs', 'elapsedNs', 'cpuFrom', 'cpuTo', 'blockedFrom', 'blockedTo'],
		account: ['slice'], contention: ['slice'], service: ['slice'], response: ['slice'],
	};

	/* The columns of one table: {count, column: numbers, ...}. */
	function table(block, name, columns) {
		const rows = {count: 0};

		for (const column of columns)
			rows[column] = block.column(name + '.' + column,
				(RISING[name] || []).includes(column));
		rows.count = rows[columns[0]].length;
		return rows;
	}

	/* What a stack trace calls a method: get_Total of "int32 [Shop] Order::get_Total()". */
	function memberOf(raw) {
		const match = /::([^(]+)/.exec(raw);

		return match ? match[1] : '';
	}

	function readSymbols(block, strings) {
		const s = table(block, 'symbol', ['name', 'raw', 'module', 'kind', 'reason',
			'application', 'later']);
		const tiers = table(block, 'tier', ['symbol', 'name', 'frames']);
		const symbols = Array.from({length: s.count}, (_, i) => ({
			name: strings[s.name[i]] || '[unnamed]',
			raw: strings[s.raw[i]],
			member: memberOf(strings[s.raw[i]]),
			module: strings[s.module[i]],
			kind: s.kind[i],
			reason: s.reason[i],
			application: s.application[i] === 1,
			later: s.later[i],
			tiers: [],
		}));

		for (let i = 0; i < tiers.count; i++)
			symbols[tiers.symbol[i]].tiers.push(
				{name: strings[tiers.name[i]], frames: tiers.frames[i]});
		return symbols;
	}

	function readProcess(p, index) {
		const shown = {};

		for (const field of ['comm', 'unit', 'container', 'pod', 'namespace', 'cgroup', 'workload'])
			shown[field] = Format.visible(p[field] || '');
		return Object.assign({}, p, shown, {
			index,
			name: Format.visible(p.name || p.comm) || '[unnamed]',
			place: [shown.container, shown.unit].filter(Boolean).join(' · '),
		});
	}

	function readThreads(block, strings) {
		const t = table(block, 'thread', ['process', 'tid', 'name', 'role']);

		return {count: t.count, process: t.process, tid: t.tid,
			name: Array.from(t.name, (n) => strings[n] || '[unnamed]'),
			role: Array.from(t.role, (n) => strings[n] || '[unnamed]')};
	}

	function emptyStacks(count) {
		return {
			count,
			symbol: new Uint32Array(count),
			parent: new Int32Array(count).fill(-1),
			depth: new Uint16Array(count),
			end: new Uint32Array(count).fill(count),
			process: new Int32Array(count).fill(-1),
		};
	}

	/* The block has no root, and its processes are numbers of processes. */
	function readStacks(block, ownFirst) {
		const up = block.column('node.up'), symbol = block.column('node.symbol');
		const s = emptyStacks(up.length + 1);
		const open = [0]; /* by depth, the node whose children come now */

		s.symbol[0] = ownFirst.root;
		for (let i = 1; i < s.count; i++) {
			const depth = s.depth[i - 1] + 1 - up[i - 1];

			for (let d = open.length - 1; d >= depth; d--)
				s.end[open[d]] = i;
			open.length = depth;
			open[depth] = i;
			s.depth[i] = depth;
			s.parent[i] = open[depth - 1];
			s.process[i] = depth === 1 ? symbol[i - 1] : s.process[s.parent[i]];
			s.symbol[i] = depth === 1 ? ownFirst.process + symbol[i - 1] : symbol[i - 1];
		}
		return s;
	}

	function readSamples(block, name, extra) {
		const samples = table(block, name, ['slot', 'node', 'thread', 'weight', ...extra]);

		for (let i = 0; i < samples.count; i++)
			samples.node[i]++; /* behind the root */
		return samples;
	}

	/* Frames of the page's own: the processes and the whole. */
	function ownSymbol(name, kind) {
		return {name, raw: name, member: '', module: '', kind, reason: 0, application: false, later: 0,
			tiers: []};
	}

	/* Symbols of the page's own behind those of the block: processes, the root, and what folding
	 * needs (Folds). */
	function addOwn(capture) {
		capture.ownFirst = capture.symbols.length;
		for (const p of capture.processes)
			capture.symbols.push(Object.assign({process: p},
				ownSymbol(p.pid ? p.name + ' (' + p.pid + ')' : p.name, KIND.PROCESS)));
		capture.root = capture.symbols.length;
		capture.symbols.push(ownSymbol('All processes', KIND.ROOT));
	}

	/* Row of a symbol of the page's own, made where there is none yet. */
	function noteSymbol(capture, name, kind) {
		const key = kind + name;

		if (!capture.notes.has(key)) {
			capture.notes.set(key, capture.symbols.length);
			capture.symbols.push(Object.assign(ownSymbol(name, kind), {module: name}));
		}
		return capture.notes.get(key);
	}

	/* block: of Codec. */
	function read(block) {
		const data = block.json;

		if (data.format !== 'hotrun-flame' || data.version !== VERSION)
			throw new Error('the data block is not of version ' + VERSION);
		const strings = data.strings.map(Format.visible);
		const capture = Object.assign({}, data, {
			symbols: readSymbols(block, strings),
			processes: data.processes.map(readProcess),
			threads: readThreads(block, strings),
			ticksPerSample: data.host.ticksPerSample || 1,
			notes: new Map(),
			cpu: readSamples(block, 'cpu', ['waiters']),
			blocked: readSamples(block, 'blocked', []),
			slices: table(block, 'slice', ['startNs', 'lengthNs', 'cpuFrom', 'cpuTo', 'blockedFrom',
				'blockedTo', 'elapsedNs', 'idleNs', 'stealNs', 'waitedNs', 'throttledNs',
				'sampleEvery', 'quiet', 'lost']),
			accounts: table(block, 'account', ['slice', 'process', 'onCpuUs', 'waitedUs',
				'throttledUs']),
			contention: table(block, 'contention', ['slice', 'runner', 'waiter', 'weight']),
			services: table(block, 'service', ['slice', 'endpoint', 'answered', 'slow', 'abandoned',
				'refused', 'timeUs', 'longestUs', 'open', 'late', 'stuck']),
			responses: table(block, 'response', ['slice', 'endpoint', 'slot', 'answers']),
		});

		capture.endpoints = data.endpoints.map((e) => Object.assign({}, e,
			{name: Format.visible(e.name), address: Format.visible(e.address)}));
		addOwn(capture);
		capture.stacks = readStacks(block, {process: capture.ownFirst, root: capture.root});
		capture.stacks.ordered = Boolean(data.diff);
		return capture;
	}

	/* --- what symbols are -------------------------------------------------------------------- */

	/* Ever shorter forms of a symbol's name; file names and addresses have but one. */
	function shortForms(symbol) {
		const managed = symbol.kind === KIND.JIT || symbol.kind === KIND.IMAGE;

		if (symbol.reason || symbol.name === symbol.module ||
		    !(managed || symbol.kind === KIND.NATIVE))
			return [symbol.name];
		return Format.shortForms(symbol.name, managed ? '.' : '::');
	}

	/* Type.Method, or what there is. */
	function shortName(symbol) {
		const forms = shortForms(symbol);

		return forms[Math.min(1, forms.length - 1)];
	}

	const STYLES = ['unknown', 'kernel', 'native', 'jit', 'stub', 'image', 'note', 'process', 'root'];

	/* What kind of frame it is, by name (colours, legend). */
	function styleOf(symbol) {
		return symbol.kind === KIND.JIT && symbol.application ? 'application'
			: STYLES[symbol.kind] || 'unknown';
	}

	/* A process as it is called; kinds of them have no number. */
	function processName(process) {
		return process.pid ? process.name + ' ' + process.pid : process.name;
	}

	/* Processes and the whole are no code. */
	function isCode(symbol) {
		return symbol.kind < KIND.PROCESS;
	}

	return {KIND, read, noteSymbol, shortForms, shortName, styleOf, processName, isCode};
})();

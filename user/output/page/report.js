/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The report as tables: what was judged, and why; what happened in the span that is chosen; the
 * books; and the text of hotrun report as a whole. Who reads this page may have nothing else.
 */
const Report = (() => {
	/* The verdicts of report --json, or null. */
	function verdicts(capture) {
		try {
			return JSON.parse(capture.verdicts);
		} catch {
			return null;
		}
	}

	/* Processes whose verdict holds for a part of the time: {name, verdict, from, to, hurt}. */
	function episodes(capture) {
		const v = verdicts(capture);

		return !v ? [] : v.processes.filter((p) => p.from_s !== null && p.to_s !== null &&
			(p.hurt || p.passing)).map((p) => ({
			name: Format.visible((p.name || '') + ' ' + p.pid), verdict: p.verdict, from: p.from_s,
			to: p.to_s, hurt: p.hurt}));
	}

	function figure(value, unit) {
		if (value === null || value === undefined)
			return 'n/a';
		if (unit === 'share')
			return Format.percent(value, 1);
		if (unit === 'ns')
			return Format.seconds(value / 1e9);
		return Number(value.toFixed(2)).toLocaleString('en-US') + (unit === 'threads' ? ' threads'
			: unit === 'times' ? ' times' : '');
	}

	function evidence(v) {
		return Dom.make('ul', 'evidence', ...v.evidence.map((e) => {
			const item = Dom.make('li', e.bad ? 'bad' : '', e.figure.replace(/-/g, ' ') + ': ' +
				figure(e.value, e.unit) +
				(e.limit ? ' (limit ' + figure(e.limit, e.unit) + ')' : ''));

			return item;
		}));
	}

	function verdictSection(capture) {
		const v = verdicts(capture);

		if (!v)
			return [Dom.make('p', 'muted', 'This page has no verdicts.')];
		const list = [Dom.make('p', 'verdict' + (v.host.hurt ? ' bad' : ''), Dom.make('b', '',
			v.host.verdict), v.host.missing ? ': ' + v.host.missing
			: v.host.requests_off ? ': requests not measured: ' + v.host.requests_off : ''), evidence(v.host)];

		if (v.host.remedy)
			list.push(Dom.make('p', '', '→ ' + v.host.remedy));
		const rows = v.processes.filter((p) => p.verdict !== 'healthy').map((p) => ({
			cells: [p.verdict + (p.at_limit ? ', at its limit' : ''), Format.visible(p.name || '') + ' ' + p.pid,
				when(p), evidence(p), p.remedy || '',
				(p.waited_behind || []).map((w) => Format.visible(w.name) + ' ' + w.pid + ' ' +
					Format.percent(w.share, 1)).join(', ')],
		}));

		if (rows.length)
			list.push(Table.make('Verdict of each process that is not healthy', [{title: 'Verdict', name: true},
				{title: 'Process'}, {title: 'When'}, {title: 'Evidence'}, {title: 'What to do'},
				{title: 'Waited behind'}], rows, false));
		return list;
	}

	function when(p) {
		return p.from_s === null || p.from_s === undefined ? ''
			: Format.moment(p.from_s) + ' to ' + Format.moment(p.to_s) + ', hurt in ' +
				p.hurt_slices + ' of ' + p.slices + ' s';
	}

	function requestsSection(capture, seconds, span) {
		if (capture.requestsOff)
			return [Dom.make('p', 'muted', 'n/a: ' + capture.requestsOff)];
		const rows = Seconds.ports(seconds, span).map((p) => ({
			cells: [p.endpoint.name + ' ' + p.endpoint.pid, p.endpoint.address + ':' + p.endpoint.port,
				p.endpoint.protocols, Format.count(p.answered), p.perSecond.toFixed(1),
				Format.percent(p.slow + p.late, p.answered + p.late), Format.count(p.stuck),
				Format.seconds(p.p50Ns / 1e9), Format.seconds(p.p99Ns / 1e9),
				Format.seconds(p.longestNs / 1e9), Format.count(p.abandoned), Format.count(p.refused)],
		}));

		return rows.length ? [Table.make('Requests by process and port', [{title: 'Process', name: true},
			{title: 'Port'}, {title: 'Protocol'}, {title: 'Answered', number: true},
			{title: 'a second', number: true},
			{title: 'Slow', number: true, tip: 'of answered and late ones, over the port\'s threshold'},
			{title: 'Stuck', number: true, tip: 'without an answer for 10 s, at the most'},
			{title: 'p50', number: true}, {title: 'p99', number: true}, {title: 'Longest', number: true},
			{title: 'Abandoned', number: true}, {title: 'Refused', number: true}], rows, false)]
			: [Dom.make('p', 'muted', 'No request was seen.')];
	}

	function processName(capture, index) {
		return index < 0 ? 'others' : capture.processes[index].name + ' ' + capture.processes[index].pid;
	}

	function waitsSection(capture, seconds, span) {
		if (capture.waitsOff)
			return [Dom.make('p', 'muted', 'n/a: ' + capture.waitsOff)];
		const rows = Seconds.waits(seconds, span).filter((w) => w.weight >= 0.005).map((w) => ({
			cells: [processName(capture, w.waiter), processName(capture, w.runner),
				w.weight.toFixed(2)],
		}));

		return rows.length ? [Table.make('Threads that were ready, by who of others ran meanwhile; estimated from samples',
			[{title: 'Who waited', name: true}, {title: 'Who ran'}, {title: 'Threads', number: true,
				tip: 'mean number that waited'}], rows, false)]
			: [Dom.make('p', 'muted', 'Nobody waited.')];
	}

	function processSection(capture, seconds, span) {
		const rows = Seconds.processes(seconds, span).map((p) => ({
			cells: [processName(capture, p.process), capture.processes[p.process].place,
				p.cpu.toFixed(2), p.waiting.toFixed(2), p.throttled.toFixed(2)],
		}));

		return rows.length ? [Table.make('Processes with most samples: mean threads', [{title: 'Process', name: true},
			{title: 'Runs in'}, {title: 'Running', number: true}, {title: 'Waiting', number: true},
			{title: 'Throttled', number: true}], rows, false)] : [];
	}

	function booksSection(capture) {
		const rows = capture.losses.map((l) => ({
			cells: [l.text, Format.count(l.count), l.samples ? 'samples' : 'records', l.remedy]}));

		return [Dom.make('p', '', Header.booksText(capture)), ...rows.length
			? [Table.make('Losses', [{title: 'What', name: true}, {title: 'Count', number: true},
				{title: 'of'}, {title: 'What to do'}], rows, false)] : []];
	}

	function section(title, note, ...parts) {
		const heading = Dom.make('h3', '', title, Dom.make('span', 'muted', note ? ' ' + note : ''));
		const s = Dom.make('section', '', heading);

		s.append(...parts);
		return s;
	}

	/* Of a span: what has a row a second; the verdicts, books and text are of all of it. */
	function make(capture, seconds, span) {
		const bounds = Seconds.bounds(seconds, Seconds.touched(seconds, span));
		const of = span ? Format.moment(bounds.from) + ' to ' + Format.moment(bounds.to) : 'whole recording';
		const report = Dom.make('div', 'report',
			section('Verdict', span ? 'whole recording' : '', ...verdictSection(capture)),
			section('Requests', of, ...requestsSection(capture, seconds, span)),
			section('Who waits for whom', of, ...waitsSection(capture, seconds, span)),
			section('Processes', of, ...processSection(capture, seconds, span)),
			section('Books and losses', span ? 'whole recording' : '', ...booksSection(capture)));

		if (capture.report) {
			const text = Dom.make('pre', '', Format.visibleLines(capture.report));

			text.tabIndex = 0;
			report.append(section('hotrun report', span ? 'whole recording' : '', text));
		}
		return report;
	}

	return {make, episodes};
})();

/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* The line at the top: host, time, size of the capture, losses. Written once. */
const Header = (() => {
	function factTexts(capture) {
		const h = capture.host;
		const list = [];

		if (h.startUnixMs)
			list.push(Format.utc(h.startUnixMs));
		list.push(Format.seconds(h.durationNs / 1e9));
		list.push(Format.plural(capture.samples, 'sample'));
		list.push(Format.count(h.hz) + ' Hz on ' + Format.plural(h.cpus, 'CPU'));
		if (capture.hasBlocked)
			list.push(Format.seconds(capture.blockedMs / 1000) + ' blocked' +
				(capture.idle ? ', idle waits, too' : ''));
		if (h.event && h.event !== 'cpu-clock')
			list.push(h.event);
		if (h.kernel)
			list.push('Linux ' + Format.visible(h.kernel) + ' ' + Format.visible(h.machine));
		if (h.filter)
			list.push('only ' + Format.visible(h.filter));
		return list;
	}

	function lossSummary(capture) {
		const others = capture.losses.filter((l) => !l.samples).length;
		const b = capture.books, lost = b.missed + b.dropped;
		const first = !b.known ? 'losses unknown'
			: b.lostPerMillion ? Format.plural(lost, 'sample') + ' lost (' + lostShare(b) + ')'
			: '0 samples lost';

		return first + (others ? ' · ' + Format.plural(others, 'other gap') : '');
	}

	function lostShare(books) {
		return Format.percent(books.lostPerMillion, 1e6);
	}

	/* The account of the sampling ticks, in a sentence. */
	function booksText(capture) {
		const b = capture.books;

		if (!b.known)
			return 'The capture has no account of the CPUs to check its samples against.';
		return Format.count(b.expected) + ' samples expected by CPU time, ' +
			Format.count(b.taken) + ' taken' +
			(b.filtered ? ', ' + Format.count(b.filtered) + ' outside the filter' : '') +
			(b.dropped ? ', ' + Format.count(b.dropped) + ' of these dropped' : '') + '; ' +
			Format.count(capture.samples) + ' on this page.';
	}

	function fillLosses(element, capture) {
		const sheet = element.querySelector('.sheet');

		element.querySelector('summary').textContent = lossSummary(capture);
		element.classList.toggle('some', capture.losses.length > 0 || !capture.books.known ||
			capture.books.lostPerMillion > 0);
		Dom.fill(sheet, Dom.make('p', '', booksText(capture)), Dom.make('table', '',
			Dom.make('tbody', '', ...capture.losses.map((l) =>
				Dom.make('tr', '', Dom.make('td', 'number', Format.count(l.count)),
					 Dom.make('td', '', l.text, Dom.make('div', 'muted', l.remedy)))))));
	}

	function show(capture) {
		const facts = Dom.byId('facts');
		const host = Format.visible(capture.host.name || '');

		document.title = 'hotrun: ' + (host || 'capture') + (capture.weight === 'blocked' ? ', blocked time' : '');
		Dom.fill(Dom.byId('host'), Dom.make('bdi', '', host));
		Dom.fill(facts, ...factTexts(capture).map((text) => Dom.make('li', '', text)));
		if (capture.host.taken)
			facts.append(Dom.make('li', '', 'taken because: ' + Format.visible(capture.host.taken)));
		if (!capture.host.complete)
			facts.append(Dom.make('li', 'warn', 'the recording was cut off: figures up to its ' +
				'last slice'));
		for (const off of capture.host.off || [])
			facts.append(Dom.make('li', 'warn', `${Format.visible(off.what)} off: ` +
				`${Format.visible(off.why)}; ${Format.visible(off.lost)}`));
		if (capture.host.switchesOff)
			facts.append(Dom.make('li', 'warn', capture.host.switchesOff));
		if (capture.cut)
			facts.append(Dom.make('li', 'warn', Format.plural(capture.cut, 'stack') +
				' cut short: too many different ones'));
		if (capture.rawNames)
			facts.append(Dom.make('li', '', 'raw names, as the runtime writes them'));
		if (capture.books.samplesGap)
			Dom.byId('gap').textContent = 'Shares do not hold: ' + lostShare(capture.books) +
				' of the samples that should be here are missing (see the losses at the top).';
		Dom.byId('gap').hidden = !capture.books.samplesGap;
		fillLosses(Dom.byId('losses'), capture);
	}

	return {show, booksText};
})();

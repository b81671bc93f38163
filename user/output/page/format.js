/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* Numbers, times and names as text. Pure; the locale of the reader is never consulted. */
const Format = (() => {
	const grouped = new Intl.NumberFormat('en-US');
	const Z_95 = 1.96; /* two-sided 95 % of a normal distribution */
	let ticksPerSample = 1;
	let kind = 'cpu', hz = 1;

	/* Bytes of strangers that could hide or reorder what stands beside them: C0, DEL, C1, zero
	 * width and direction controls, line separators. */
	const UNSEEN =
		/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

	function visible(text) {
		return text.replace(UNSEEN, (c) => {
			const code = c.charCodeAt(0);

			return code < 0x100 ? '\\x' + code.toString(16).padStart(2, '0')
				: '\\u{' + code.toString(16) + '}';
		});
	}

	/* Text of several lines. */
	function visibleLines(text) {
		return text.split('\n').map(visible).join('\n');
	}

	function count(n) {
		return grouped.format(n);
	}

	function plural(n, word) {
		return count(n) + ' ' + word + (n === 1 ? '' : 's');
	}

	function percent(part, whole) {
		const pct = whole ? 100 * part / whole : 0;

		return pct.toFixed(pct && pct < 0.1 ? 2 : 1) + ' %';
	}

	/* Samples count for so many ticks on average: they are as sure as so many times fewer. */
	function setTicksPerSample(ticks) {
		ticksPerSample = ticks;
	}

	/* What is counted: samples ('cpu', 'slow'), threads that waited at samples ('harm'), ms of
	 * blocked time. How far shares of the last two can be off is not told here, since that depends
	 * on which of them were found together. */
	function setWeight(weight, samplesHz) {
		kind = weight;
		hz = samplesHz || 1;
	}

	function weight(n) {
		if (kind === 'blocked')
			return seconds(n / 1000) + ' blocked';
		return kind === 'harm' ? seconds(n / hz) + ' waited' : plural(n, 'sample');
	}

	function hasError() {
		return kind === 'cpu' || kind === 'slow';
	}

	/* A weight in a narrow column. */
	function amount(n) {
		return kind === 'blocked' ? seconds(n / 1000) : kind === 'harm' ? seconds(n / hz) : count(n);
	}

	/* Half of the 95 % interval of a share of samples, in percent points: Wilson's score interval,
	 * as model/share.h has it, so that page and report agree. */
	function error(part, whole) {
		if (!whole)
			return 100;
		const p = part / whole, n = whole / ticksPerSample, z2 = Z_95 * Z_95;

		return 100 * Z_95 / (1 + z2 / n) * Math.sqrt(p * (1 - p) / n + z2 / (4 * n * n));
	}

	function share(part, whole) {
		const e = error(part, whole);

		if (!hasError())
			return percent(part, whole);
		return percent(part, whole) + ' ±' + e.toFixed(e && e < 0.1 ? 2 : 1);
	}

	function seconds(s) {
		if (s >= 100)
			return count(Math.round(s)) + ' s';
		return s >= 1 ? s.toFixed(1) + ' s' : s >= 0.001 || !s ? Math.round(s * 1000) + ' ms'
			: Math.round(s * 1e6) + ' µs';
	}

	/* A time since the start, to what it is known. */
	function moment(s) {
		return s.toFixed(s % 1 > 0.005 && s % 1 < 0.995 ? 2 : 1) + ' s';
	}

	function utc(unixMs) {
		return new Date(unixMs).toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
	}

	/* Where the parts of a qualified name begin: separators outside of brackets. A dot that
	 * follows a dot belongs to the name (Type..ctor). */
	function nameParts(name, separator) {
		const starts = [0];
		let depth = 0;

		for (let i = 0; i < name.length; i++) {
			if ('<[({'.includes(name[i]))
				depth++;
			else if ('>])}'.includes(name[i]))
				depth = Math.max(0, depth - 1);
			else if (!depth && i && name.startsWith(separator, i) &&
				 name[i - 1] !== separator[0])
				starts.push(i + separator.length);
		}
		return starts;
	}

	/* What says nothing without the part before it: Total.get, Main.<lambda 2>. */
	const DEPENDENT = /^(get|set|add|remove|<(lambda|finally|call of base|closure)\b.*|\.c?ctor)$/;

	/* Ever shorter forms of a name: whole, Type.Method, Method. */
	function shortForms(name, separator) {
		const starts = nameParts(name, separator);
		const last = DEPENDENT.test(name.slice(starts[starts.length - 1])) ? 2 : 1;
		const forms = [name];

		for (const back of [last + 1, last])
			if (starts.length > back)
				forms.push(name.slice(starts[starts.length - back]));
		return forms;
	}

	return {visible, visibleLines, count, plural, percent, share, seconds, moment, utc,
		shortForms, setTicksPerSample, setWeight, weight, amount};
})();

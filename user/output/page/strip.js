/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The time strip: CPU, waiting and requests of each second with bands and marks, or samples by
 * second and fiftieth of it (the heat map). A stretch of it is chosen by pointer or keys; choose()
 * is called with a span of Selection, or null for all.
 */
const Strip = (() => {
	const GUTTER = 104, RIGHT = 12, AXIS = 15, MARKS = 11, LANE = 26, HEAT_SLOT = 2;
	const MARKS_MAX = 4;
	const STEAL_SHARE = 0.05, THROTTLED_THREADS = 0.05;

	function create(box, canvas, tip, choose) {
		const t = {box, canvas, tip, choose, context: canvas.getContext('2d'), shown: null, drag: null,
			hover: -1, theme: null, width: 0, height: 0, lanes: []};

		canvas.addEventListener('pointerdown', (e) => begin(t, e));
		canvas.addEventListener('pointermove', (e) => move(t, e));
		canvas.addEventListener('pointerup', (e) => end(t, e));
		canvas.addEventListener('pointercancel', () => { t.drag = null; draw(t); });
		canvas.addEventListener('pointerleave', () => { t.hover = -1; t.tip.hidden = true; draw(t); });
		canvas.addEventListener('dblclick', () => choose(null));
		box.addEventListener('keydown', (e) => onKey(t, e));
		return t;
	}

	/* --- what is known of each second -------------------------------------------------------- */

	/* [{name, colour, test(i), text(i)}] of what makes figures of a second doubtful or bad. */
	function bands(shown) {
		const s = shown.capture.slices, h = shown.seconds.host, cpus = shown.capture.host.cpus || 1;
		const quiet = s.quiet.some((q) => q) && s.quiet.some((q) => !q);

		return [
			{name: 'throttled', colour: 'throttled', test: (i) => h.throttled[i] > THROTTLED_THREADS,
				text: (i) => h.throttled[i].toFixed(2) + ' threads throttled by a CPU limit'},
			{name: 'stolen', colour: 'stolen', test: (i) => h.steal[i] > STEAL_SHARE * cpus,
				text: (i) => h.steal[i].toFixed(2) + ' CPUs taken by the hypervisor'},
			{name: 'quiet gear', colour: 'quiet', test: (i) => quiet && s.quiet[i] === 1,
				text: () => 'quiet gear: nobody looked at switches'},
			{name: 'fewer samples', colour: 'quiet', test: (i) => s.sampleEvery[i] > 1,
				text: (i) => 'one sample for ' + s.sampleEvery[i] + ' ticks'},
			{name: 'losses', colour: 'lost', test: (i) => s.lost[i] > 0,
				text: (i) => Format.plural(s.lost[i], 'sample') + ' lost'},
		].filter((b) => Array.from({length: s.count}, (_, i) => i).some(b.test));
	}

	/* Verdicts that hold for a part of the recording, and what it was taken for. */
	function marks(shown) {
		const list = shown.episodes.map((e) => ({from: e.from, to: e.to, bad: e.hurt, label: e.name,
			text: e.verdict + ': ' + e.name + ', ' + Format.moment(e.from) + ' to ' +
				Format.moment(e.to)}));
		const since = /since (\d\d):(\d\d):(\d\d) UTC/.exec(shown.capture.host.taken || '');

		if (since && shown.capture.host.startUnixMs) {
			const day = Math.floor(shown.capture.host.startUnixMs / 86400e3) * 86400;
			const at = day + Number(since[1]) * 3600 + Number(since[2]) * 60 + Number(since[3]) -
				shown.capture.host.startUnixMs / 1000;

			if (at >= 0 && at <= Seconds.length(shown.seconds))
				list.push({from: at, to: at, bad: true, label: 'trigger', text: 'captured for what began here'});
		}
		return list;
	}

	/* [{label, series, most: the scale, over: a part of it, overName, overBad}] */
	function lanes(shown) {
		const {capture, seconds, process} = shown, h = seconds.host, list = [];
		const own = Seconds.processOf(seconds, process);
		const named = own ? capture.processes[process].name : '';
		const top = (series) => series.reduce((m, v) => Math.max(m, v), 0);

		if (!seconds.count)
			return list;
		if (capture.slices.elapsedNs.some((ns) => ns > 0))
			list.push({label: 'CPU', series: h.cpu, most: Math.max(capture.host.cpus || 1, top(h.cpu)),
				over: own && own.cpu, overName: named});
		if (!capture.waitsOff)
			list.push({label: 'waiting', series: h.waiting, most: Math.max(1, top(h.waiting)),
				over: own && own.waiting, overName: named, threads: true});
		const of = own && Seconds.requestsOf(seconds, process).any ? process : null;
		const r = Seconds.requestsOf(seconds, of);

		if (r.any) {
			const rate = (series) => Float64Array.from(series, (n, i) =>
				n / Math.max(0.001, seconds.endS[i] - seconds.startS[i]));
			const all = rate(r.answered);

			list.push({label: 'requests/s', series: all, most: Math.max(1, top(all)),
				over: Float64Array.from(all, (n, i) => n * Seconds.slowShare(r, i)), overName: 'slow',
				overBad: true, requests: r});
		}
		return list;
	}

	/* --- geometry ---------------------------------------------------------------------------- */

	function length(t) {
		return Math.max(0.001, t.shown.heat ? t.shown.heat.seconds : Seconds.length(t.shown.seconds));
	}

	function xOf(t, second) {
		return GUTTER + (t.width - GUTTER - RIGHT) * second / length(t);
	}

	function secondAt(t, x) {
		const s = (x - GUTTER) * length(t) / Math.max(1, t.width - GUTTER - RIGHT);

		return Math.max(0, Math.min(length(t) - 1e-6, s));
	}

	/* The slot under a point of the heat map. */
	function slotAt(t, x, y) {
		const slots = t.shown.heat.slots, second = Math.floor(secondAt(t, x));
		const within = slots - 1 - Math.floor(y / HEAT_SLOT);

		return second * slots + Math.max(0, Math.min(slots - 1, within));
	}

	function spanBetween(t, a, b) {
		if (t.shown.heat) {
			const one = slotAt(t, a.x, a.y), other = slotAt(t, b.x, b.y);

			return {kind: 'slots', first: Math.min(one, other), last: Math.max(one, other)};
		}
		const from = secondAt(t, Math.min(a.x, b.x)), to = secondAt(t, Math.max(a.x, b.x));

		return Seconds.slicesOf(t.shown.seconds, from, Math.max(to, from + 1e-6));
	}

	/* --- painting ---------------------------------------------------------------------------- */

	function readTheme(t) {
		const css = getComputedStyle(document.documentElement);
		const value = (name) => css.getPropertyValue('--' + name).trim();

		t.theme = {};
		for (const name of ['text', 'muted', 'line', 'page', 'accent', 'strip-cpu', 'strip-over', 'strip-bad',
			'band-throttled', 'band-stolen', 'band-quiet', 'band-lost', 'heat', 'sans', 'dim'])
			t.theme[name] = value(name);
	}

	function area(t, series, most, y, height, colour) {
		const c = t.context, s = t.shown.seconds;

		c.fillStyle = colour;
		for (let i = 0; i < s.count; i++) {
			const x = xOf(t, s.startS[i]), h = height * Math.min(1, series[i] / most);

			if (h > 0)
				c.fillRect(x, y + height - h, Math.max(1, xOf(t, s.endS[i]) - x - (s.count < 200 ? 1 : 0)), h);
		}
	}

	function paintLanes(t) {
		const c = t.context;
		let y = t.top;

		for (const lane of t.lanes) {
			area(t, lane.series, lane.most, y, LANE - 3, t.theme['strip-cpu']);
			if (lane.over)
				area(t, lane.over, lane.most, y, LANE - 3, t.theme[lane.overBad ? 'strip-bad' : 'strip-over']);
			c.fillStyle = t.theme.line;
			c.fillRect(GUTTER, y + LANE - 3, t.width - GUTTER - RIGHT, 1);
			c.fillStyle = t.theme.muted;
			c.textAlign = 'right';
			c.fillText(lane.label, GUTTER - 8, y + 8);
			c.fillText('≤ ' + (lane.most >= 100 ? Format.count(Math.round(lane.most))
				: Number(lane.most.toFixed(1))), GUTTER - 8, y + 19);
			y += LANE;
		}
	}

	function paintBands(t) {
		const c = t.context, s = t.shown.seconds;
		let y = 2;

		c.textAlign = 'right';
		for (const mark of t.marks.slice(0, MARKS_MAX)) {
			const x = xOf(t, mark.from);

			c.fillStyle = t.theme[mark.bad ? 'strip-bad' : 'muted'];
			c.fillRect(x, y, Math.max(3, xOf(t, mark.to) - x), MARKS - 5);
			c.fillStyle = t.theme.muted;
			c.fillText(mark.label.slice(0, 22), GUTTER - 8, y + 3, GUTTER - 10);
			y += MARKS;
		}
		for (const band of t.bands) {
			c.fillStyle = t.theme['band-' + band.colour];
			for (let i = 0; i < s.count; i++)
				if (band.test(i))
					c.fillRect(xOf(t, s.startS[i]), y,
						xOf(t, s.endS[i]) - xOf(t, s.startS[i]) + 0.5, MARKS - 5);
			c.fillStyle = t.theme.muted;
			c.fillText(band.name, GUTTER - 8, y + 3, GUTTER - 10);
			y += MARKS;
		}
	}

	function paintHeat(t) {
		const c = t.context, heat = t.shown.heat;
		const width = Math.max(1, xOf(t, 1) - xOf(t, 0));

		for (let i = 0; i < heat.weight.length; i++) {
			if (!heat.weight[i])
				continue;
			c.globalAlpha = 0.15 + 0.85 * Math.sqrt(heat.weight[i] / heat.most);
			c.fillStyle = t.theme.heat;
			c.fillRect(xOf(t, Math.floor(i / heat.slots)),
				(heat.slots - 1 - i % heat.slots) * HEAT_SLOT, Math.max(1, width - (width > 5 ? 1 : 0)), HEAT_SLOT);
		}
		c.globalAlpha = 1;
		c.fillStyle = t.theme.muted;
		c.textAlign = 'right';
		c.fillText('within the', GUTTER - 8, 40);
		c.fillText('second', GUTTER - 8, 52);
		c.fillText('+1 s', GUTTER - 8, 8);
		c.fillText('0', GUTTER - 8, heat.slots * HEAT_SLOT - 5);
	}

	function paintAxis(t) {
		const c = t.context, all = length(t), y = t.height - AXIS + 9;
		const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600].find((s) =>
			xOf(t, s) - xOf(t, 0) >= 70) || 7200;

		c.fillStyle = t.theme.muted;
		c.textAlign = 'center';
		for (let s = 0; s <= all + 1e-9; s += step)
			c.fillText(step >= 60 ? Math.round(s / 60) + ' min' : Number(s.toFixed(1)) + ' s', xOf(t, s), y);
	}

	function paintSpan(t) {
		const c = t.context, span = t.drag ? t.drag.span : t.shown.span;
		const bottom = t.height - AXIS;

		if (!span)
			return;
		if (t.shown.heat && span.kind === 'slots') {
			const heat = t.shown.heat;

			c.fillStyle = t.theme.dim;
			for (let s = 0; s < heat.seconds; s++) {
				const from = Math.max(span.first, s * heat.slots), to = Math.min(span.last, s * heat.slots + heat.slots - 1);
				const x = xOf(t, s), w = xOf(t, s + 1) - x;

				if (from > to) {
					c.fillRect(x, 0, w, bottom);
					continue;
				}
				c.fillRect(x, 0, w, (heat.slots - 1 - to % heat.slots) * HEAT_SLOT);
				c.fillRect(x, (heat.slots - from % heat.slots) * HEAT_SLOT, w, (from % heat.slots) * HEAT_SLOT);
			}
			return;
		}
		const {from, to} = Seconds.bounds(t.shown.seconds, span);

		c.fillStyle = t.theme.dim;
		c.fillRect(GUTTER, 0, xOf(t, from) - GUTTER, bottom);
		c.fillRect(xOf(t, to), 0, t.width - RIGHT - xOf(t, to), bottom);
		c.strokeStyle = t.theme.accent;
		c.lineWidth = 1.5;
		c.strokeRect(xOf(t, from), 0.75, Math.max(2, xOf(t, to) - xOf(t, from)), bottom - 1.5);
	}

	function draw(t) {
		const c = t.context, scale = window.devicePixelRatio || 1;

		if (!t.shown || !t.width)
			return;
		if (!t.theme)
			readTheme(t);
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.clearRect(0, 0, t.width, t.height);
		c.font = '10.5px ' + t.theme.sans;
		c.textBaseline = 'middle';
		if (t.shown.heat)
			paintHeat(t);
		else {
			paintBands(t);
			paintLanes(t);
		}
		paintAxis(t);
		paintSpan(t);
	}

	function resize(t) {
		const scale = window.devicePixelRatio || 1;
		const above = (Math.min(MARKS_MAX, t.marks.length) + t.bands.length) * MARKS;

		t.top = above ? above + 3 : 2;
		t.width = t.box.clientWidth;
		t.height = (t.shown.heat ? t.shown.heat.slots * HEAT_SLOT : t.top + t.lanes.length * LANE) + AXIS;
		t.canvas.style.width = t.width + 'px';
		t.canvas.style.height = t.height + 'px';
		t.canvas.width = Math.round(t.width * scale);
		t.canvas.height = Math.round(t.height * scale);
		draw(t);
	}

	/* --- input ------------------------------------------------------------------------------- */

	function point(t, e) {
		const r = t.canvas.getBoundingClientRect();

		return {x: e.clientX - r.left, y: e.clientY - r.top};
	}

	function begin(t, e) {
		if (e.button)
			return;
		const at = point(t, e);

		t.drag = {from: at, span: spanBetween(t, at, at)};
		/* One that a test made up is not to be had. */
		try {
			t.canvas.setPointerCapture(e.pointerId);
		} catch { /* then the pointer has to stay within */ }
		draw(t);
	}

	function move(t, e) {
		const at = point(t, e);

		if (t.drag) {
			t.drag.span = spanBetween(t, t.drag.from, at);
			draw(t);
		}
		const lines = tipLines(t, at);

		t.tip.hidden = !lines.length;
		if (lines.length) {
			Dom.fill(t.tip, ...lines.map((l, i) => Dom.make('div', i ? 'figures' : '', l)));
			Details.placeTip(t.tip, e.clientX, e.clientY);
		}
	}

	function end(t, e) {
		const drag = t.drag, at = point(t, e);

		t.drag = null;
		if (!drag)
			return;
		const span = spanBetween(t, drag.from, at), now = t.shown.span;
		const clicked = Math.abs(at.x - drag.from.x) < 3 && Math.abs(at.y - drag.from.y) < 3;

		/* A click on what is chosen already takes the choice back. */
		t.choose(clicked && now && span && now.kind === span.kind && span.first >= now.first &&
			span.last <= now.last ? null : span);
	}

	/* ← → move the span by a second, with Shift its end; Escape takes it away. */
	function onKey(t, e) {
		const step = {ArrowLeft: -1, ArrowRight: 1}[e.key], s = t.shown.seconds;

		if (e.key === 'Escape' && t.shown.span) {
			t.choose(null);
		} else if (step && s.count) {
			const now = Seconds.touched(s, t.shown.span);
			const whole = !t.shown.span;
			const limit = (i) => Math.max(0, Math.min(s.count - 1, i));
			let first = whole ? (step > 0 ? 0 : s.count - 1) : e.shiftKey ? now.first : limit(now.first + step);
			let last = whole ? first : limit(now.last + step);

			if (!whole && !e.shiftKey && last - first !== now.last - now.first)
				[first, last] = [now.first, now.last]; /* at the end */
			t.choose({kind: 'slices', first, last: Math.max(first, last)});
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}

	/* What is known of the moment under the pointer. */
	function tipLines(t, at) {
		const s = t.shown.seconds, second = secondAt(t, at.x);

		if (at.x < GUTTER || at.x > t.width - RIGHT)
			return [];
		if (t.shown.heat) {
			const slot = slotAt(t, at.x, at.y), slotS = t.shown.capture.slotNs / 1e9;

			return [(slot * slotS).toFixed(2) + ' to ' + ((slot + 1) * slotS).toFixed(2) + ' s',
				Format.weight(t.shown.heat.weight[slot] || 0)];
		}
		let i = 0;

		while (i < s.count && s.endS[i] <= second)
			i++;
		if (i >= s.count)
			return [];
		const lines = [s.startS[i].toFixed(1) + ' to ' + s.endS[i].toFixed(1) + ' s' + clock(t, s.startS[i])];

		for (const lane of t.lanes)
			lines.push(laneText(lane, i));
		lines.push(...t.bands.filter((b) => b.test(i)).map((b) => b.text(i)));
		lines.push(...t.marks.filter((m) => m.from <= s.endS[i] && m.to >= s.startS[i]).map((m) => m.text));
		return lines;
	}

	function clock(t, second) {
		const start = t.shown.capture.host.startUnixMs;

		return start ? ' · ' + Format.utc(start + second * 1000).slice(11) : '';
	}

	function laneText(lane, i) {
		if (lane.requests) {
			const r = lane.requests;

			return Format.count(Math.round(lane.series[i])) + ' requests/s, ' +
				Format.percent(Seconds.slowShare(r, i), 1) + ' slow' +
				(r.stuck[i] ? ', ' + Format.count(r.stuck[i]) + ' stuck' : '');
		}
		return (lane.threads ? lane.series[i].toFixed(2) + ' threads waiting'
			: lane.series[i].toFixed(2) + ' CPUs busy') +
			(lane.over ? ', ' + lane.over[i].toFixed(2) + ' of ' + lane.overName : '');
	}

	/* shown: {capture, seconds, process, span, heat: of Seconds or null, episodes}. */
	function show(t, shown) {
		const same = t.shown && t.shown.heat === shown.heat && t.shown.process === shown.process;

		if (same && t.shown.span === shown.span)
			return;
		t.shown = shown;
		if (same) {
			draw(t);
			return;
		}
		t.lanes = lanes(shown);
		t.bands = bands(shown);
		t.marks = marks(shown);
		t.box.hidden = !shown.heat && !t.lanes.length;
		t.canvas.setAttribute('aria-label', 'Time: ' + t.lanes.map((l) => l.label).join(', '));
		resize(t);
	}

	function themeChanged(t) {
		t.theme = null;
		draw(t);
	}

	return {create, show, resize, themeChanged, xOf};
})();

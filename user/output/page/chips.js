/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* What is left out or folded, each as a chip that can be taken away, and the sheet that adds one. */
const Chips = (() => {
	const KIND_TEXT = {
		process: 'only process', thread: 'only thread', role: 'only role', place: 'only in',
		focus: 'focus on', hide: 'without stacks of', merge: 'merged into callers:',
		collapse: 'collapsed:',
	};
	const HOW_TEXT = {is: '', has: '', re: ' (regular expression)'};

	function chip(text, title, remove, wrong) {
		const button = Dom.make('button', 'chip' + (wrong ? ' wrong' : ''), Dom.make('bdi', '', text),
			Dom.make('span', 'x', '×'));

		button.type = 'button';
		button.title = title;
		button.setAttribute('aria-label', 'Take away: ' + text);
		button.addEventListener('click', remove);
		return button;
	}

	function filterText(filter) {
		const text = filter.how === 're' ? '/' + filter.text + '/'
			: filter.how === 'has' ? '…' + filter.text + '…' : filter.text;

		return KIND_TEXT[filter.kind] + ' ' + text.slice(0, 80);
	}

	/* change(fields) sets parts of the state; shown: of Shown. */
	function show(box, state, shown, change) {
		const {capture, wrong} = shown, list = [];

		if (state.process !== null)
			list.push(chip('process ' + Capture.processName(capture.processes[state.process]), 'Show all processes', () => change({process: null, zoom: 0})));
		if (state.span && !capture.diff)
			list.push(chip(spanText(shown), 'Show the whole recording (Esc in the time strip)',
				() => change({span: null})));
		state.filters.forEach((filter, i) => {
			const error = wrong.get(i);

			list.push(chip(filterText(filter) + (error ? ': ' + error : ''),
				KIND_TEXT[filter.kind] + ' ' + filter.text + HOW_TEXT[filter.how],
				() => change({filters: state.filters.filter((_, n) => n !== i)}), error));
		});
		if (state.mycode)
			list.push(chip('just my code', 'Framework, runtime and kernel are in whose code called them',
				() => change({mycode: false})));
		if (state.recursion)
			list.push(chip('recursion folded', 'A method that calls itself is one frame',
				() => change({recursion: false})));
		if (state.workload && state.process === null)
			list.push(chip('by workload', 'Processes of one workload are one',
				() => change({workload: false})));
		if (state.cut)
			list.push(chip('below ' + state.cut + ' % cut', 'Frames of a smaller share are left out',
				() => change({cut: 0})));
		Dom.fill(box, ...list);
		box.hidden = !list.length;
	}

	function spanText(shown) {
		const bounds = Seconds.bounds(shown.seconds, shown.span);

		return Format.moment(bounds.from) + ' to ' + Format.moment(bounds.to);
	}

	/* The sheet: kind, text, how. add(filter) or, for a share, cut(percent). */
	function listen(add, flag, cut) {
		const form = Dom.byId('filter-form'), text = Dom.byId('filter-text');
		const sheet = Dom.byId('filter-sheet'), button = Dom.byId('filter-button');

		const toggle = (open) => {
			sheet.hidden = !open;
			button.setAttribute('aria-expanded', String(open));
			/* Within the window. */
			sheet.style.left = '0';
			sheet.style.left = Math.min(0, innerWidth - 8 - sheet.getBoundingClientRect().right) + 'px';
			(open ? text : button).focus();
		};

		button.addEventListener('click', () => toggle(sheet.hidden));
		sheet.addEventListener('keydown', (e) => {
			if (e.key === 'Escape') {
				toggle(false);
				e.stopPropagation();
			}
		});
		document.addEventListener('pointerdown', (e) => {
			if (!sheet.hidden && !Dom.byId('filter').contains(e.target)) {
				sheet.hidden = true;
				button.setAttribute('aria-expanded', 'false');
			}
		});
		form.addEventListener('submit', (e) => {
			const kind = Dom.byId('filter-kind').value;

			e.preventDefault();
			if (!text.value)
				return;
			if (kind === 'cut')
				cut(Number(text.value.replace('%', '')));
			else
				add({kind, how: Dom.byId('filter-regex').checked ? 're' : 'has', text: text.value});
			text.value = '';
			toggle(false);
		});
		for (const name of ['mycode', 'recursion', 'workload'])
			Dom.byId('filter-' + name).addEventListener('click', () => { flag(name); toggle(false); });
		return {open: () => toggle(true)};
	}

	return {show, listen, filterText};
})();

/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The list of processes by samples, with a filter. choose(process) is called with an index or null
 * for all. Options are made for the first MAX matches only.
 */
const Chooser = (() => {
	const MAX = 300;

	function create(capture, choose) {
		const c = {
			capture, choose, current: null, active: 0, options: [],
			box: Dom.byId('chooser'), button: Dom.byId('chooser-button'),
			sheet: Dom.byId('chooser-sheet'), filter: Dom.byId('chooser-filter'),
			list: Dom.byId('chooser-list'), more: Dom.byId('chooser-more'),
		};

		c.button.addEventListener('click', () => c.sheet.hidden ? open(c) : close(c, true));
		c.filter.addEventListener('input', () => render(c));
		c.filter.addEventListener('keydown', (e) => onKey(c, e));
		c.list.addEventListener('mousedown', (e) => e.preventDefault());
		c.list.addEventListener('click', (e) => {
			const option = e.target.closest('[role="option"]');

			if (option)
				pick(c, c.options.indexOf(option));
		});
		document.addEventListener('pointerdown', (e) => {
			if (!c.sheet.hidden && !c.box.contains(e.target))
				close(c, false);
		});
		return c;
	}

	function matches(p, text) {
		return !text || [p.name, p.comm, p.place, p.pid ? String(p.pid) : '']
			.some((s) => s.toLowerCase().includes(text));
	}

	function makeOption(c, index, name, pid, place, samples, onCpuNs) {
		const option = Dom.make('li', '',
			Dom.make('span', 'name', Dom.make('bdi', '', name),
				 Dom.make('span', 'where', place)),
			Dom.make('span', '', pid),
			Dom.make('span', 'share', Format.percent(samples, c.capture.samples)),
			Dom.make('span', '', Format.seconds(onCpuNs / 1e9)));
		const fill = Dom.make('i', 'fill');

		fill.style.width = 100 * samples / Math.max(1, c.capture.samples) + '%';
		option.append(fill);
		option.id = 'process-' + (index === null ? 'all' : index);
		option.title = Format.plural(samples, 'sample') + ', ' +
			Format.share(samples, c.capture.samples) + ' of all';
		option.setAttribute('role', 'option');
		option.setAttribute('aria-selected', String(index === c.current));
		option.process = index;
		return option;
	}

	function render(c) {
		const text = c.filter.value.trim().toLowerCase();
		const found = c.capture.processes.filter((p) => matches(p, text));
		const onCpuNs = c.capture.processes.reduce((n, p) => n + p.onCpuNs, 0);

		c.options = found.slice(0, MAX).map((p) =>
			makeOption(c, p.index, p.name, p.pid ? 'pid ' + p.pid : '', p.place, p.samples, p.onCpuNs));
		if (!text)
			c.options.unshift(makeOption(c, null, 'All processes', '', '', c.capture.samples,
				onCpuNs));
		Dom.fill(c.list, ...c.options);
		c.more.textContent = found.length > MAX
			? 'and ' + Format.count(found.length - MAX) + ' more with less: filter to find them'
			: found.length ? '' : 'no such process among those with samples';
		activate(c, Math.max(0, c.options.findIndex((o) => o.process === c.current)));
	}

	function activate(c, i) {
		c.active = Math.max(0, Math.min(i, c.options.length - 1));
		c.options.forEach((o, n) => o.classList.toggle('active', n === c.active));
		const option = c.options[c.active];

		if (option) {
			option.scrollIntoView({block: 'nearest'});
			c.filter.setAttribute('aria-activedescendant', option.id);
		} else {
			c.filter.removeAttribute('aria-activedescendant');
		}
	}

	function pick(c, i) {
		if (c.options[i]) {
			close(c, true);
			c.choose(c.options[i].process);
		}
	}

	function onKey(c, e) {
		const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10}[e.key];

		if (step)
			activate(c, c.active + step);
		else if (e.key === 'Enter')
			pick(c, c.active);
		else if (e.key === 'Escape')
			close(c, true);
		else if (e.key === 'Tab')
			close(c, false);
		else
			return;
		if (e.key !== 'Tab')
			e.preventDefault();
		e.stopPropagation();
	}

	function open(c) {
		c.sheet.hidden = false;
		c.button.setAttribute('aria-expanded', 'true');
		c.filter.value = '';
		render(c);
		c.filter.focus();
	}

	function close(c, focusButton) {
		c.sheet.hidden = true;
		c.button.setAttribute('aria-expanded', 'false');
		if (focusButton)
			c.button.focus();
	}

	/* Shows which process the page is about. */
	function show(c, process) {
		const p = process === null ? null : c.capture.processes[process];

		c.current = process;
		Dom.fill(c.button,
			Dom.make('span', 'name', Dom.make('bdi', '', p ? p.name : 'All processes')),
			Dom.make('span', 'muted', p
				? (p.pid ? 'pid ' + p.pid + ' · ' : '') + Format.percent(p.samples, c.capture.samples)
				: Format.plural(c.capture.processes.length, 'process').replace('processs', 'processes')));
	}

	return {create, open, show};
})();

/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* A menu at a point: items {text, act, hint}, '-' a line. Arrows, Enter, Escape, a click beside. */
const Menu = (() => {
	let opener = null;

	function box() {
		return Dom.byId('menu');
	}

	function item(entry) {
		if (entry === '-')
			return Dom.make('li', 'line');
		const li = Dom.make('li', '', Dom.make('span', '', entry.text),
			Dom.make('kbd', entry.hint ? '' : 'none', entry.hint || ''));

		li.setAttribute('role', 'menuitem');
		li.tabIndex = -1;
		li.addEventListener('click', () => { close(); entry.act(); });
		return li;
	}

	function open(title, entries, x, y) {
		const menu = box();

		opener = document.activeElement;
		Dom.fill(menu, Dom.make('li', 'title', Dom.make('bdi', '', title)), ...entries.map(item));
		menu.querySelector('.title').setAttribute('role', 'presentation');
		menu.hidden = false;
		menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 6)) + 'px';
		menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 6)) + 'px';
		items()[0].focus();
	}

	function items() {
		return [...box().querySelectorAll('[role="menuitem"]')];
	}

	function close() {
		if (box().hidden)
			return;
		box().hidden = true;
		if (opener && opener.isConnected)
			opener.focus();
	}

	function onKey(e) {
		const all = items(), at = all.indexOf(document.activeElement);
		const step = {ArrowDown: 1, ArrowUp: -1}[e.key];

		if (step)
			all[(at + step + all.length) % all.length].focus();
		else if (e.key === 'Enter' || e.key === ' ')
			all[at].click();
		else if (e.key === 'Escape' || e.key === 'Tab')
			close();
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}

	function listen() {
		box().addEventListener('keydown', onKey);
		document.addEventListener('pointerdown', (e) => {
			if (!box().contains(e.target))
				close();
		});
	}

	return {open, listen};
})();

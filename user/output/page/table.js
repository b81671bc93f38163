/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * Tables, and trees as tables whose rows open: real ones, for screen readers and for the keyboard
 * (up, down, right opens, left closes, Enter acts). Rows are made when they are first seen; of
 * many siblings those beyond MAX are asked for by a button.
 */
const Table = (() => {
	const MAX = 200;
	const HOT = 0.6;

	/* columns: [{title, number: bool, tip}]; a row is {cells: [text or element...], level, kids:
	 * () => rows or null, act: () => ..., menu: (x, y) => ..., title, mark: 0..1 a bar behind}. */
	function make(caption, columns, rows, isTree) {
		const table = Dom.make('table', 'grid'), body = Dom.make('tbody', '');

		table.append(Dom.make('caption', '', caption), Dom.make('thead', '', Dom.make('tr', '',
			...columns.map((c) => {
				const cell = Dom.make('th', c.number ? 'number' : '', c.title);

				cell.scope = 'col';
				cell.title = c.tip || '';
				return cell;
			}))), body);
		if (isTree)
			table.setAttribute('role', 'treegrid');
		const g = {table, body, columns, isTree};

		append(g, rows, 1, null);
		body.addEventListener('keydown', (e) => onKey(g, e));
		body.addEventListener('click', (e) => onClick(g, e));
		body.addEventListener('contextmenu', (e) => {
			const tr = e.target.closest('tr');

			if (tr && tr.row && tr.row.menu) {
				e.preventDefault();
				tr.row.menu(e.clientX, e.clientY);
			}
		});
		const first = body.querySelector('tr');

		if (first)
			first.tabIndex = 0;
		return table;
	}

	/* Puts rows of a level behind a row (null: at the end). */
	function append(g, rows, level, behind) {
		const list = rows.slice(0, MAX).map((row) => element(g, row, level));

		if (rows.length > MAX)
			list.push(more(g, rows.slice(MAX), level));
		if (behind)
			behind.after(...list);
		else
			g.body.append(...list);
	}

	function more(g, rows, level) {
		const tr = Dom.make('tr', 'more'), cell = Dom.make('td', '');
		const button = Dom.make('button', '', Format.count(rows.length) + ' more');

		button.type = 'button';
		button.addEventListener('click', (e) => {
			e.stopPropagation();
			append(g, rows, level, tr);
			tr.remove();
		});
		cell.colSpan = g.columns.length;
		cell.append(button);
		tr.append(cell);
		tr.level = level;
		return tr;
	}

	function element(g, row, level) {
		const tr = Dom.make('tr', row.act || row.kids ? 'does' : '');

		row.cells.forEach((content, i) => {
			const column = g.columns[i], named = !column.number && !row.named;
			const cell = Dom.make(column.name ? 'th' : 'td', column.number ? 'number' : '',
				...(typeof content === 'string' ? [Dom.make('bdi', '', content)] : [content]));

			if (column.name) {
				cell.scope = 'row';
				cell.style.paddingLeft = 4 + 14 * Math.min(level - 1, 40) + 'px';
				if (g.isTree)
					cell.prepend(Dom.make('span', 'twist', row.kids ? '▸' : ''));
			}
			if (named && row.title)
				cell.title = row.title;
			if (i === 0 && row.mark > 0) {
				const bar = Dom.make('i', 'bar');

				bar.style.width = Math.min(100, 100 * row.mark) + '%';
				cell.classList.add('marked');
				cell.append(bar);
			}
			tr.append(cell);
		});
		tr.row = row;
		tr.level = level;
		tr.tabIndex = -1;
		if (g.isTree) {
			tr.setAttribute('aria-level', level);
			if (row.kids)
				tr.setAttribute('aria-expanded', 'false');
		}
		return tr;
	}

	function isOpen(tr) {
		return tr.getAttribute('aria-expanded') === 'true';
	}

	function open(g, tr) {
		if (!tr.row || !tr.row.kids || isOpen(tr))
			return;
		const rows = tr.row.kids();

		tr.setAttribute('aria-expanded', 'true');
		tr.querySelector('.twist').textContent = '▾';
		append(g, rows, tr.level + 1, tr);
			/* The way that most of it goes is opened to where it divides. */
		if (tr.level < 200 && rows.length && rows[0].mark > HOT * tr.row.mark)
			open(g, tr.nextElementSibling);
	}

	function close(tr) {
		tr.setAttribute('aria-expanded', 'false');
		tr.querySelector('.twist').textContent = '▸';
		while (tr.nextElementSibling && tr.nextElementSibling.level > tr.level)
			tr.nextElementSibling.remove();
	}

	function focus(g, tr) {
		if (!tr)
			return;
		for (const other of g.body.querySelectorAll('tr[tabindex="0"]'))
			other.tabIndex = -1;
		tr.tabIndex = 0;
		tr.focus();
	}

	function parent(tr) {
		let up = tr.previousElementSibling;

		while (up && up.level >= tr.level)
			up = up.previousElementSibling;
		return up;
	}

	function onKey(g, e) {
		const tr = e.target.closest('tr');

		if (!tr || !tr.row || e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.key === 'ArrowDown')
			focus(g, tr.nextElementSibling);
		else if (e.key === 'ArrowUp')
			focus(g, tr.previousElementSibling);
		else if (e.key === 'ArrowRight' && tr.row.kids)
			isOpen(tr) ? focus(g, tr.nextElementSibling) : open(g, tr);
		else if (e.key === 'ArrowLeft' && g.isTree)
			isOpen(tr) ? close(tr) : focus(g, parent(tr));
		else if (e.key === 'Enter' && (tr.row.act || tr.row.kids))
			tr.row.act ? tr.row.act() : toggle(g, tr);
		else if ((e.key === 'ContextMenu' || e.key === 'm' || (e.key === 'F10' && e.shiftKey)) && tr.row.menu) {
			const r = tr.getBoundingClientRect();

			tr.row.menu(r.left + 60, r.bottom);
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}

	function toggle(g, tr) {
		if (isOpen(tr))
			close(tr);
		else
			open(g, tr);
	}

	function onClick(g, e) {
		const tr = e.target.closest('tr');

		if (!tr || !tr.row)
			return;
		focus(g, tr);
		if (tr.row.kids)
			toggle(g, tr);
		else if (tr.row.act)
			tr.row.act();
	}

	return {make};
})();

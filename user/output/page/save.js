/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * What is shown, for elsewhere: folded stacks and SVG as text (pure), and what the browser has to
 * do: hand out a file, copy.
 */
const Save = (() => {
	const ROW = 18, FONT = 11, LEAST = 0.25, TITLE = 44;

	/* One line a stack, `;` between frames, as flamegraph.pl reads it: a `;` of a name is `:`. */
	function folded(capture, tree) {
		const lines = [], words = [];

		for (let i = 0; i < tree.count; i++) {
			words.length = tree.depth[i];
			words.push(capture.symbols[tree.symbol[i]].name.replace(/;/g, ':'));
			if (tree.self[i] > 0 && i)
				lines.push(words.slice(1).join(';') + ' ' + tree.self[i]);
			else if (tree.self[i] > 0)
				lines.push(words[0] + ' ' + tree.self[i]);
		}
		return lines.join('\n') + '\n';
	}

	/* XML 1.0 knows no other characters, not even escaped. */
	function escape(text) {
		return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/gu, (c) => c.codePointAt(0) > 0xffff ? c : '\ufffd')
			.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
			.replace(/"/g, '&quot;').replace(/'/g, '&#39;');
	}

	/* A picture of a tree from a node on. look: {width, title, note, page, text, edge, rootBelow,
	 * fill(node)}. */
	function svg(capture, tree, root, look) {
		const k = look.width / Math.max(1, tree.total[root]), boxes = [];
		let deepest = 0;

		for (let i = root; i < tree.end[root];) {
			if (tree.total[i] * k < LEAST) {
				i = tree.end[i];
				continue;
			}
			deepest = Math.max(deepest, tree.depth[i] - tree.depth[root]);
			boxes.push(i++);
		}
		const height = TITLE + (deepest + 1) * ROW + 8;
		const parts = boxes.map((i) => {
			const depth = tree.depth[i] - tree.depth[root], w = tree.total[i] * k;
			const row = look.rootBelow ? deepest - depth : depth;
			const x = ((tree.start[i] - tree.start[root]) * k).toFixed(2), y = TITLE + row * ROW;
			const name = capture.symbols[tree.symbol[i]].name;
			const room = Math.floor((w - 6) / (FONT * 0.6));
			const text = room < 3 ? '' : label(capture, tree.symbol[i], room);

			return `<g><title>${escape(name + ', ' + Format.share(tree.total[i], tree.total[root]) + ', ' +
				Format.weight(tree.total[i]))}</title><rect x="${x}" y="${y}" width="${Math.max(0.2, w - 0.4).toFixed(2)}" ` +
				`height="${ROW - 1}" fill="${escape(look.fill(i))}"/>` + (text
				? `<text x="${(Number(x) + 3).toFixed(2)}" y="${y + ROW - 6}">${escape(text)}</text>` : '') + '</g>';
		});

		return `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http:` + `//www.w3.org/2000/svg" width="${look.width}" height="${height}" ` +
			`viewBox="0 0 ${look.width} ${height}" font-family="monospace" font-size="${FONT}" fill="${escape(look.text)}">` +
			`<rect width="100%" height="100%" fill="${escape(look.page)}"/>` +
			`<text x="6" y="17" font-size="14">${escape(look.title)}</text><text x="6" y="34">${escape(look.note)}</text>\n` +
			parts.join('\n') + '\n</svg>\n';
	}

	function label(capture, row, room) {
		const forms = Capture.shortForms(capture.symbols[row]);
		const fits = forms.find((f) => f.length <= room);

		return fits || forms[forms.length - 1].slice(0, room - 1) + '…';
	}

	/* --- by the browser ---------------------------------------------------------------------- */

	function hand(blob, name) {
		const link = document.createElement('a'), url = URL.createObjectURL(blob);

		link.href = url;
		link.download = name.replace(/[^A-Za-z0-9._-]+/g, '-');
		link.hidden = true;
		document.body.append(link);
		link.click();
		link.remove();
		setTimeout(() => URL.revokeObjectURL(url), 10000);
	}

	function text(content, name, type) {
		hand(new Blob([content], {type}), name);
	}

	/* The same picture in pixels, drawn by hand: a picture of an SVG would need a source that the
	 * policy of this page does not allow. */
	function png(capture, tree, root, look, name) {
		const k = look.width / Math.max(1, tree.total[root]), canvas = document.createElement('canvas');
		const c = canvas.getContext('2d'), boxes = [];
		let deepest = 0;

		for (let i = root; i < tree.end[root];) {
			if (tree.total[i] * k < LEAST) {
				i = tree.end[i];
				continue;
			}
			deepest = Math.max(deepest, tree.depth[i] - tree.depth[root]);
			boxes.push(i++);
		}
		const scale = 2, height = Math.min(8000, TITLE + (deepest + 1) * ROW + 8);

		canvas.width = look.width * scale;
		canvas.height = height * scale;
		c.scale(scale, scale);
		c.fillStyle = look.page;
		c.fillRect(0, 0, look.width, height);
		c.fillStyle = look.text;
		c.font = '14px monospace';
		c.fillText(look.title, 6, 17);
		c.font = FONT + 'px monospace';
		c.fillText(look.note, 6, 34);
		for (const i of boxes) {
			const depth = tree.depth[i] - tree.depth[root], w = tree.total[i] * k;
			const x = (tree.start[i] - tree.start[root]) * k;
			const y = TITLE + (look.rootBelow ? deepest - depth : depth) * ROW;
			const room = Math.floor((w - 6) / (FONT * 0.6));

			c.fillStyle = look.fill(i);
			c.fillRect(x, y, Math.max(0.2, w - 0.4), ROW - 1);
			if (room >= 3) {
				c.fillStyle = look.text;
				c.fillText(label(capture, tree.symbol[i], room), x + 3, y + ROW - 6, w - 4);
			}
		}
		return new Promise((done) => canvas.toBlob((blob) => { if (name) hand(blob, name); done(blob); }));
	}

	/* True where it could be done. */
	async function copy(content) {
		try {
			await navigator.clipboard.writeText(content);
			return true;
		} catch {
			const box = document.createElement('textarea');

			box.value = content;
			document.body.append(box);
			box.select();
			const done = document.execCommand('copy');

			box.remove();
			return done;
		}
	}

	return {folded, svg, png, text, copy, escape};
})();

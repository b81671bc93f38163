/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * What is shown, for elsewhere: folded stacks and SVG as text (pure), and what the browser has to
 * do: hand out a file, copy.
 */
const Save = (() => {
	const ROW = 18, FONT = 11, LEAST = 0.25, TITLE = 44;
	const HIGHEST = 8000; /* px: browsers make no larger pictures */

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
		return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
			.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
			.replace(/"/g, '&quot;').replace(/'/g, '&#39;');
	}

	/* The boxes of a tree from a node on that can be seen in a width: {list: [{node, x, y, width,
	 * text}], height}. */
	function boxes(capture, tree, root, look) {
		const k = look.width / Math.max(1, tree.total[root]), list = [];
		let deepest = 0;

		for (let i = root; i < tree.end[root];) {
			if (tree.total[i] * k < LEAST) {
				i = tree.end[i];
				continue;
			}
			deepest = Math.max(deepest, tree.depth[i] - tree.depth[root]);
			list.push({node: i, x: (tree.start[i] - tree.start[root]) * k, width: tree.total[i] * k});
			i++;
		}
		for (const box of list) {
			const depth = tree.depth[box.node] - tree.depth[root];
			const room = Math.floor((box.width - 6) / (FONT * 0.6));

			box.y = TITLE + (look.rootBelow ? deepest - depth : depth) * ROW;
			box.text = room < 3 ? '' : label(capture, tree.symbol[box.node], room);
			box.width = Math.max(0.2, box.width - 0.4);
		}
		return {list, height: TITLE + (deepest + 1) * ROW + 8};
	}

	/* A picture of it. look: {width, title, note, page, text, rootBelow, fill(node)}. */
	function svg(capture, tree, root, look) {
		const {list, height} = boxes(capture, tree, root, look), {width} = look;
		const parts = list.map((box) => {
			const i = box.node, name = capture.symbols[tree.symbol[i]].name;
			const title = name + ', ' + Format.share(tree.total[i], tree.total[root]) + ', ' +
				Format.weight(tree.total[i]);
			const text = box.text && `<text x="${(box.x + 3).toFixed(2)}" y="${box.y + ROW - 6}">` +
				escape(box.text) + '</text>';

			return `<g><title>${escape(title)}</title><rect x="${box.x.toFixed(2)}" y="${box.y}" ` +
				`width="${box.width.toFixed(2)}" height="${ROW - 1}" fill="${escape(look.fill(i))}"/>` +
				text + '</g>';
		});

		/* In two pieces: whoever looks for addresses in this page finds none. */
		return '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http:' + '//www.w3.org/2000/svg" ' +
			`width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
			`font-family="monospace" font-size="${FONT}" fill="${escape(look.text)}">` +
			`<rect width="100%" height="100%" fill="${escape(look.page)}"/>` +
			`<text x="6" y="17" font-size="14">${escape(look.title)}</text>` +
			`<text x="6" y="34">${escape(look.note)}</text>\n` + parts.join('\n') + '\n</svg>\n';
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
	 * policy of this page does not allow. Returns the file; it is handed out where it has a name. */
	function png(capture, tree, root, look, name) {
		const {list, height} = boxes(capture, tree, root, look);
		const canvas = document.createElement('canvas'), c = canvas.getContext('2d');
		const scale = 2;

		canvas.width = look.width * scale;
		canvas.height = Math.min(HIGHEST, height) * scale;
		c.scale(scale, scale);
		c.fillStyle = look.page;
		c.fillRect(0, 0, look.width, height);
		c.fillStyle = look.text;
		c.font = '14px monospace';
		c.fillText(look.title, 6, 17);
		c.font = FONT + 'px monospace';
		c.fillText(look.note, 6, 34);
		for (const box of list) {
			c.fillStyle = look.fill(box.node);
			c.fillRect(box.x, box.y, box.width, ROW - 1);
			c.fillStyle = look.text;
			if (box.text)
				c.fillText(box.text, box.x + 3, box.y + ROW - 6, box.width - 4);
		}
		return new Promise((done) => canvas.toBlob((blob) => {
			if (name)
				hand(blob, name);
			done(blob);
		}));
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

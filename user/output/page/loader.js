/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* Puts the style and the code of the page to use, which are kept as the data is: deflated, in
 * base64. The policy of the page lets them, since they get the nonce of this script. */
(async (nonce) => {
	async function add(id, tag) {
		const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
		const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
		const element = document.createElement(tag);

		element.nonce = nonce;
		element.textContent = await new Response(stream).text();
		document.head.append(element);
	}

	try {
		await add('style', 'style');
		document.body.hidden = false;
		await add('code', 'script');
	} catch (e) {
		document.body.textContent = 'This page cannot be shown: the file may be cut short, or the browser is ' +
			'older than 2023 (' + e.message + ').';
		document.body.hidden = false;
	}
})(document.currentScript.nonce);

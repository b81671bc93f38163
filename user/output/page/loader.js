/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* Runs the code of the page, which is kept as the data is: deflated, in base64. The policy of the
 * page lets it run, since it gets the nonce of this script. */
(async (nonce) => {
	const text = document.getElementById('code').textContent;

	try {
		const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
		const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
		const script = document.createElement('script');

		script.nonce = nonce;
		script.textContent = await new Response(stream).text();
		document.body.append(script);
	} catch (e) {
		const empty = document.getElementById('empty');

		empty.textContent = 'This page cannot be shown: the file may be cut short, or the browser is older ' +
			'than 2023 (' + e.message + ').';
		empty.hidden = false;
	}
})(document.currentScript.nonce);

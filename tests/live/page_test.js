/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * Drives the flame graph page as an analyst would; test_page.sh puts it into a copy of the page.
 * TEST_PAGE says which: 'small', 'blocked', 'gap', 'large' and 'empty' are made by
 * tests/unit/output/test_flame.c, 'any' is a capture that nothing is known about. Everything runs at once, before the load event ends: results
 * are lines of #test-results.
 */
(() => {
	const lines = [];
	const byId = (id) => document.getElementById(id);

	function check(what, ok, seen) {
		lines.push((ok ? 'ok      ' : 'FAILED  ') + what + (ok ? '' : ': ' + JSON.stringify(seen)));
	}

	function equal(what, seen, expected) {
		check(what, seen === expected, seen);
	}

	function key(target, name, fields) {
		target.dispatchEvent(new KeyboardEvent('keydown', Object.assign(
			{key: name, bubbles: true, cancelable: true}, fields)));
	}

	function type(text) {
		byId('search-text').value = text;
		byId('search-text').dispatchEvent(new Event('input', {bubbles: true}));
		return byId('search-result').textContent;
	}

	function page() {
		return App.snapshot();
	}

	/* First node whose symbol has that name, in the tree shown. */
	function find(name) {
		const p = page();

		for (let i = 0; i < p.tree.count; i++)
			if (p.capture.symbols[p.tree.symbol[i]].name === name)
				return i;
		return -1;
	}

	function point(type, node) {
		const p = page(), b = Graph.box(p.graph, node);
		const r = p.graph.scroller.getBoundingClientRect();
		const where = {bubbles: true, clientX: r.left + b.x + b.width / 2,
			clientY: r.top + b.y - p.graph.scroller.scrollTop + b.height / 2};

		p.graph.scroller.dispatchEvent(type === 'click' ? new MouseEvent('click', where)
			: new PointerEvent(type, where));
	}

	function choose(filter) {
		byId('chooser-button').click();
		byId('chooser-filter').value = filter;
		byId('chooser-filter').dispatchEvent(new Event('input', {bubbles: true}));
		const count = byId('chooser-list').children.length;
		key(byId('chooser-filter'), 'Enter');
		return count;
	}

	/* --- what holds for every page ---------------------------------------------------------- */

	function checkSafety() {
		equal('no element comes from a name',
		      document.querySelectorAll('img, iframe, object, embed, svg, a, link').length, 0);
		equal('scripts are the page\'s own (and the two of this test)',
		      document.querySelectorAll('script').length, 4);
		check('title is the host\'s', document.title.startsWith('hotrun: '), document.title);
	}

	function checkTree(what) {
		const {tree, capture} = page();
		let bad = 0;

		for (let i = 1; i < tree.count; i++)
			if (tree.start[i] < tree.start[tree.parent[i]] || tree.start[i] + tree.total[i] >
			    tree.start[tree.parent[i]] + tree.total[tree.parent[i]] ||
			    tree.end[i] > tree.end[tree.parent[i]] || tree.threads[i] < 1 ||
			    tree.threads[i] > tree.threads[tree.parent[i]])
				bad++;
		equal(what + ': every frame lies within its caller', bad, 0);
		equal(what + ': self samples add up', tree.self.reduce((n, s) => n + s, 0), tree.total[0]);
		check(what + ': no more than the capture', tree.total[0] <= capture.samples, tree.total[0]);
	}

	function checkPixels() {
		const {graph} = page();

		Graph.draw(graph);
		const image = graph.context.getImageData(0, 0, graph.canvas.width, graph.canvas.height);
		const colours = new Set(new Uint32Array(image.data.buffer));

		check('the graph is drawn', colours.size > 10, colours.size);
		equal('the canvas fills the graph', graph.canvas.clientWidth, graph.scroller.clientWidth);
		check('nothing sticks out of the window sideways',
		      document.documentElement.scrollWidth <= innerWidth,
		      [document.documentElement.scrollWidth, innerWidth]);
	}

	function checkAny() {
		const {capture} = page();

		equal('all processes first', page().state.process, null);
		equal('says when framework frames are folded',
		      byId('facts').textContent.includes('just my code'), capture.justMyCode);
		checkTree('all processes');
		checkPixels();
		equal('processes listed', choose(''), Math.min(300, capture.processes.length) + 1);
		equal('chosen by keyboard: all', page().state.process, null);
		byId('chooser-button').click();
		byId('chooser-list').children[1].click();
		equal('chosen by click: the one with most samples', page().state.process, 0);
		checkTree('first process');
		const samples = page().tree.total[0];
		check('every sample matches .', type('').length === 0 &&
			(byId('search-regex').click(), type('.').startsWith('matched 100.0 %')),
			byId('search-result').textContent);
		byId('search-regex').click();
		type('');
		point('click', 1);
		equal('a click zooms', page().state.zoom, 1);
		check('the zoomed frame fills the width',
		      Math.abs(Graph.box(page().graph, 1).width - page().graph.width) < 0.01);
		key(document.body, '0');
		equal('0 shows the whole process', page().state.zoom, 0);
		equal('and loses nothing', page().tree.total[0], samples);
		key(document.body, 'p');
		choose('');
	}

	/* --- the capture of build_page_capture() -------------------------------------------------- */

	function checkHeader() {
		const facts = byId('facts').textContent;

		equal('host', byId('host').textContent, 'web-1');
		for (const part of ['2026-11-21 10:00:00 UTC', '10.0 s', '1,000 samples', '99 Hz on 2 CPUs'])
			check('header tells ' + part, facts.includes(part), facts);
		equal('losses', byId('losses').querySelector('summary').textContent,
		      '37 samples lost (3.6 %) · 1 other gap');
		equal('no alarm for that', byId('gap').hidden, true);
		check('losses say what to do', byId('losses').textContent.includes('priority'));
	}

	function checkChooser() {
		equal('three processes and all', choose(''), 4);
		equal('filter by pid', choose('200'), 1);
		equal('nginx is shown', page().state.process, 1);
		equal('in the address, too', location.hash, '#process=1');
		equal('filter by container', choose('3f2a'), 1);
		equal('Shop.Api is shown', page().state.process, 0);
		equal('no such process', choose('nobody'), 0);
		equal('nothing changes then', page().state.process, 0);
		key(byId('chooser-filter'), 'Escape');
		equal('Escape closes the list', byId('chooser-sheet').hidden, true);
	}

	function checkSearch() {
		equal('nested matches count once', type('pricing'), 'matched 50.0 % ±4.0 · 3 frames');
		equal('by module', type('[kernel]'), 'matched 13.3 % ±2.7 · 2 frames');
		equal('no match', type('nowhere'), 'no match');
		equal('nothing is dimmed then', page().graph.mask, null);
		byId('search-regex').click();
		equal('as regular expression', type('^(memcpy|tcp_.*)$'), 'matched 30.0 % ±3.7 · 2 frames');
		check('a wrong one says so', type('(') === 'not valid: Unterminated group' &&
			byId('search-text').getAttribute('aria-invalid') === 'true' &&
			page().mask === null, byId('search-result').textContent);
		byId('search-regex').click();
		type('pricing');
		key(byId('search-text'), 'Enter');
		const first = page().graph.focus;

		equal('Enter goes to the first match', first, find('Shop.Api.Orders.Pricing.Total<System.__Canon>'));
		key(byId('search-text'), 'Enter');
		check('and on to the next', page().graph.focus > first, page().graph.focus);
		key(byId('search-text'), 'Enter', {shiftKey: true});
		equal('and back', page().graph.focus, first);
	}

	function checkZoom() {
		const handle = find('Shop.Api.Orders.OrderController.Handle');
		const json = find('System.Text.Json.JsonSerializer.Serialize');

		point('click', handle);
		equal('click zooms into the frame', page().state.zoom, handle);
		equal('search counts within the view', byId('search-result').textContent,
		      'matched 60.0 % ±4.3 of view · 3 frames');
		equal('the path names the ancestors', byId('path').textContent,
		      'Shop.Api (100)›start_thread›OrderController.Handle');
		equal('details of the zoomed frame', byId('details-title').textContent,
		      'Shop.Api.Orders.OrderController.Handle');
		check('with raw form, share and tier', /OrderController::Handle\(class Order\)/
			.test(byId('details').textContent) && /83\.3 % ±3\.0/.test(byId('details').textContent) &&
			/OptimizedTier1/.test(byId('details').textContent), byId('details').textContent);
		point('click', json);
		equal('and deeper', page().state.zoom, json);
		equal('the address has it', location.hash, '#process=0&zoom=' + json + '&search=pricing');
		byId('path').querySelectorAll('button')[2].click();
		equal('path buttons zoom out', page().state.zoom, handle);
		key(document.body, 'Escape');
		equal('Escape clears the search first', page().state.search, '');
		equal('and keeps the zoom', page().state.zoom, handle);
		key(document.body, 'Escape');
		check('then zooms out a step', page().state.zoom < handle, page().state.zoom);
		byId('reset').click();
		equal('reset shows all', page().state.zoom, 0);
		equal('reset is done', byId('reset').disabled, true);
	}

	function checkHottest() {
		const rows = [...byId('hottest-list').querySelectorAll('button')];

		equal('hottest by self, heaviest first', rows.map((r) => r.textContent).join(' | '),
		      '33.3 %Pricing.Total<System.__Canon>Shop.Api | ' +
		      '26.7 %System.Private.CoreLib.dll+0x1230System.Private.CoreLib.dll | ' +
		      '16.7 %memcpylibc.so.6 | 13.3 %tcp_sendmsg[kernel] | 10.0 %[anon]');
		rows[2].click();
		equal('a click finds it', byId('search-result').textContent,
		      'matched 16.7 % ±3.0 · 1 frame');
		type('');
	}

	function checkKeys() {
		const area = byId('graph');

		key(area, 'ArrowDown');
		equal('first arrow takes the root', page().graph.focus, 0);
		key(area, 'ArrowDown');
		key(area, 'ArrowDown');
		key(area, 'ArrowRight');
		equal('down, down, right', page().graph.focus, find('PreStub'));
		check('it is announced', byId('announce').textContent.startsWith('PreStub, 10.0 %'),
		      byId('announce').textContent);
		key(area, 'Enter');
		equal('Enter zooms', page().state.zoom, find('PreStub'));
		key(area, 'Backspace');
		key(area, '0');
		key(area, 'i');
		equal('i turns the graph', byId('flip').getAttribute('aria-pressed'), 'true');
		check('root at the bottom', Graph.box(page().graph, 0).y > Graph.box(page().graph, 1).y);
		key(area, 'i');
		key(area, '/');
		equal('/ goes to the search', document.activeElement, byId('search-text'));
		key(area, '?');
		equal('? opens the help', byId('help').open, true);
		byId('help').close();
	}

	function checkReasons() {
		point('pointermove', find('[anon]'));
		check('a frame without a name has its reason and remedy',
		      /^No name: .+ → .+/.test(byId('details-reason').textContent),
		      byId('details-reason').textContent);
		equal('the tip is there', byId('tip').hidden, false);
		byId('graph').dispatchEvent(new PointerEvent('pointerleave'));
		equal('and goes', byId('tip').hidden, true);
	}

	function checkHostile() {
		choose('300');
		equal('hostile process chosen', page().state.process, 2);
		const {tree, capture} = page();

		for (let node = 0; node < tree.count; node++)
			point('pointermove', node);
		const last = capture.symbols[tree.symbol[tree.count - 1]];

		equal('an empty name is spelled out', last.name, '[unnamed]');
		point('pointermove', 1);
		check('markup is shown as text', byId('tip').textContent.startsWith('</script><img'),
		      byId('tip').textContent);
		check('control bytes are spelled out', find('\\x1b[31mred\\x1b]0;title\\x07') > 0);
		check('direction marks, too', find('right\\u{202e}to left\\u{2028} separator') > 0);
		type('</script>');
		checkSafety();
		type('');
	}

	function checkAddress() {
		location.hash = '#process=1&search=epoll&flip=1';
		window.dispatchEvent(new Event('popstate'));
		equal('an address restores process', page().state.process, 1);
		equal('... and search', byId('search-result').textContent, 'matched 33.3 % ±5.3 · 2 frames');
		equal('... and direction', page().graph.rootBelow, true);
		for (const hash of ['#process=99&zoom=1e9', '#process=-1', '#zoom=NaN&process=%00', '#%E0%A4%A']) {
			location.hash = hash;
			window.dispatchEvent(new Event('popstate'));
			check('a wrong address does no harm: ' + hash, page().state.zoom === 0, page().state);
		}
	}

	function checkPolicy() {
		const script = document.createElement('script');

		script.textContent = 'document.title = "owned"';
		document.body.append(script);
		script.remove();
		check('a script without the nonce does not run', document.title !== 'owned', document.title);
	}

	/* --- the others -------------------------------------------------------------------------- */

	function timed(what, limitMs, action) {
		const start = performance.now();

		action();
		Graph.draw(page().graph);
		const ms = performance.now() - start;

		check(what + ' within ' + limitMs + ' ms (' + ms.toFixed(1) + ')', ms <= limitMs, ms);
	}

	function checkLarge() {
		check('about 100,000 nodes', page().tree.count > 90000, page().tree.count);
		timed('process', 250, () => choose('Large'));
		timed('search', 250, () => type('type5'));
		timed('search on', 250, () => type('type5.'));
		timed('zoom', 250, () => point('click', 20));
		timed('reset', 250, () => byId('reset').click());
		timed('next match', 250, () => key(byId('search-text'), 'Enter'));
		timed('turn', 250, () => byId('flip').click());
		type('');
	}

	function checkGap() {
		check('lost samples are told above the graph',
		      /^Shares do not hold: \d+\.\d % of the samples/.test(byId('gap').textContent) &&
			!byId('gap').hidden, byId('gap').textContent);
		check('and at the top', byId('losses').textContent.startsWith('390 samples lost'),
		      byId('losses').textContent);
	}

	/* The same capture, its samples read as milliseconds. */
	function checkBlocked() {
		const facts = byId('facts').textContent;

		check('the title says what it is', document.title.endsWith(', blocked time'), document.title);
		check('weights are times', /\d (s|ms) blocked/.test(facts), facts);
		check('of no sampling rate', !facts.includes('Hz'), facts);
		check('without idle waits', facts.includes('without idle waits'), facts);
		equal('no losses of samples', byId('losses').hidden, true);
		equal('no error of a sample', byId('details').textContent.includes('±'), false);
		equal('no CPU time', byId('details').textContent.includes('CPU time'), false);
		equal('what is listed', byId('hottest-title').textContent, 'Most blocked time in this view');
	}

	function checkEmpty() {
		check('an empty capture says so',
		      byId('empty').textContent.startsWith('No samples in this capture'),
		      byId('empty').textContent);
		equal('no tools without samples', byId('bar').hidden, true);
	}

	const suites = {
		small: [checkSafety, checkAny, checkHeader, checkChooser, checkSearch, checkZoom, checkHottest,
			checkKeys,
			checkReasons, checkHostile, checkAddress, checkPolicy],
		large: [checkSafety, checkAny, checkLarge],
		blocked: [checkSafety, checkBlocked],
		gap: [checkSafety, checkGap],
		empty: [checkSafety, checkEmpty],
		any: [checkSafety, checkAny],
	};

	for (const suite of suites[TEST_PAGE]) {
		try {
			suite();
		} catch (e) {
			check(suite.name, false, String(e.stack));
		}
	}
	equal('no script errors', testErrors.join('; '), '');
	const results = document.createElement('pre');

	results.id = 'test-results';
	results.textContent = '\n' + lines.join('\n') + '\ndone\n';
	document.body.replaceChildren(results);
})();

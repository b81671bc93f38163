/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * Drives the flame graph page as an analyst would, within the page; tests/live/page_test.js lets it
 * run there. kind: 'small', 'blocked', 'gap', 'large' and 'empty' are made by
 * tests/unit/output/test_flame.c, 'any' is a capture that nothing is known about. Returns lines.
 */
(async (kind) => {
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
		return App;
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
		equal('scripts are the page\'s own',
		      document.querySelectorAll('script').length, 4);
		check('title is the host\'s, or of the captures', document.title.startsWith(kind === 'diff' ? 'hotrun diff: '
			: 'hotrun: '), document.title);
	}

	function checkTree(what) {
		const {capture, shown} = page(), tree = shown.full();
		const {threads} = Tree.seen(capture, shown.folded, tree, shown.selection);
		let bad = 0;

		for (let i = 1; i < tree.count; i++)
			if (tree.start[i] < tree.start[tree.parent[i]] || tree.start[i] + tree.total[i] >
			    tree.start[tree.parent[i]] + tree.total[tree.parent[i]] ||
			    tree.end[i] > tree.end[tree.parent[i]] || threads[i] < 1 ||
			    threads[i] > threads[tree.parent[i]])
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
		equal('just my code as it was asked for', page().state.mycode, capture.justMyCode);
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
		equal('a click zooms', page().zoom, 1);
		check('the zoomed frame fills the width',
		      Math.abs(Graph.box(page().graph, 1).width - page().graph.width) < 0.01);
		key(document.body, '0');
		equal('0 shows the whole process', page().zoom, 0);
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
		equal('nested matches count once', type('pricing'), 'matched 50.0 % ±4.0 · 300 samples · 3 frames');
		equal('by module', type('[kernel]'), 'matched 13.3 % ±2.7 · 80 samples · 2 frames');
		equal('no match', type('nowhere'), 'no match');
		equal('nothing is dimmed then', page().graph.mask, null);
		byId('search-regex').click();
		equal('as regular expression', type('^(memcpy|tcp_.*)$'), 'matched 30.0 % ±3.7 · 180 samples · 2 frames');
		check('a wrong one says so', type('(') === 'not valid: missing )' &&
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
		const json = find('System.Text.Json.JsonSerializer.Serialize'), jsonId = page().tree.id[json];

		point('click', handle);
		equal('click zooms into the frame', page().zoom, handle);
		equal('search counts within the view', byId('search-result').textContent,
		      'matched 60.0 % ±4.3 of view · 300 samples · 3 frames');
		equal('the path names the ancestors', byId('path').textContent,
		      'Shop.Api (100)›start_thread›OrderController.Handle');
		equal('details of the zoomed frame', byId('details-title').textContent,
		      'Shop.Api.Orders.OrderController.Handle');
		check('with raw form, share and tier', /OrderController::Handle\(class Order\)/
			.test(byId('details').textContent) && /83\.3 % ±3\.0/.test(byId('details').textContent) &&
			/OptimizedTier1/.test(byId('details').textContent), byId('details').textContent);
		point('click', find('System.Text.Json.JsonSerializer.Serialize'));
		equal('and deeper', page().tree.id[page().zoom], jsonId);
		equal('the address has it', location.hash, '#process=0&zoom=' + jsonId + '&search=pricing');
		byId('path').querySelectorAll('button')[2].click();
		equal('path buttons zoom out', page().zoom, handle);
		key(document.body, 'Escape');
		equal('Escape clears the search first', page().state.search, '');
		equal('and keeps the zoom', page().zoom, handle);
		key(document.body, 'Escape');
		check('then zooms out a step', page().zoom < handle, page().zoom);
		byId('reset').click();
		equal('reset shows all', page().zoom, 0);
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
		      'matched 16.7 % ±3.0 · 100 samples · 1 frame');
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
		equal('Enter zooms', page().zoom, find('PreStub'));
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
		equal('... and search', byId('search-result').textContent, 'matched 33.3 % ±5.3 · 100 samples · 2 frames');
		equal('... and direction', page().graph.rootBelow, true);
		for (const hash of ['#process=99&zoom=1e9', '#process=-1', '#zoom=NaN&process=%00', '#%E0%A4%A',
			'#view=<script>&t=9-2&f=focus:~(&f=x:=y&weight=__proto__&colour=1&cut=-3&method=1e3&t=s1-']) {
			location.hash = hash;
			window.dispatchEvent(new Event('popstate'));
			check('a wrong address does no harm: ' + hash, page().zoom === 0 &&
				page().tree.total[0] === 1000, page().state);
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
		check('about 100,000 nodes', page().shown.full().count > 90000, page().shown.full().count);
		timed('process', 1500, () => choose('Large'));
		timed('search', 1000, () => type('type5'));
		timed('search on', 1000, () => type('type5.'));
		timed('zoom', 1000, () => point('click', 20));
		timed('reset', 1000, () => byId('reset').click());
		timed('next match', 1000, () => key(byId('search-text'), 'Enter'));
		timed('turn', 1000, () => byId('flip').click());
		type('');
	}

	function checkGap() {
		check('lost samples are told above the graph',
		      /^Shares do not hold: \d+\.\d % of the samples/.test(byId('gap').textContent) &&
			!byId('gap').hidden, byId('gap').textContent);
		check('and at the top', byId('losses').textContent.startsWith('390 samples lost'),
		      byId('losses').textContent);
	}

	/* The same capture, with blocked time, which was asked for. */
	function checkBlocked() {
		check('the title says what it is', document.title.endsWith(', blocked time'), document.title);
		equal('the weight is blocked time', page().state.weight, 'blocked');
		equal('0.8 s in each of six seconds', page().tree.total[0], 4800);
		check('weights are times', byId('details').textContent.includes('4.8 s'), byId('details').textContent);
		equal('no error of a sample', byId('details').textContent.includes('±'), false);
		equal('no CPU time', byId('details').textContent.includes('CPU time'), false);
		equal('what is listed', byId('hottest-title').textContent, 'Most blocked time in this view');
		App.change({span: {kind: 'slices', first: 2, last: 3}});
		equal('of two seconds', page().tree.total[0], 1600);
		App.change({weight: 'cpu'});
		equal('CPU beside it', page().tree.total[0], 200);
		App.change({span: null});
	}

	/* What a former version did not keep is left out, and said. */
	function checkOlder() {
		equal('no strip of time', byId('time').hidden, true);
		equal('weights: none of blocked time, none of requests',
		      [...byId('weight').options].map((o) => o.value).join(), 'cpu,harm');
		check('and why', byId('weight').title.includes('blocked time n/a: nobody looked'), byId('weight').title);
		equal('all samples are there', page().tree.total[0], 600);
		key(document.body, 'h');
		check('a heat map all the same', !byId('time').hidden && page().shown.heat().most > 0);
		key(document.body, 'h');
		for (const view of State.VIEWS) {
			App.change({view});
			check('view ' + view, document.querySelector('#graph, #sandwich, #table').isConnected);
		}
		check('the report says what is n/a', /Requests[^]*n\/a: [^]*Who waits for whom[^]*n\/a: /.test(byId('table').textContent),
		      byId('table').textContent.slice(0, 400));
		App.change({view: 'flame'});
	}

	function checkEmpty() {
		check('an empty capture says so',
		      byId('empty').textContent.startsWith('No samples in this capture'),
		      byId('empty').textContent);
		equal('no tools without samples', byId('bar').hidden, true);
	}

	/* --- time, weights, filters -------------------------------------------------------------- */

	function checkTime() {
		App.change({filters: [], process: null, zoom: 0, span: {kind: 'slices', first: 6, last: 8}});
		equal('a span has its samples and no others', page().tree.total[0], 300);
		equal('all of nginx', page().capture.symbols[page().tree.symbol[1]].name, 'nginx (200)');
		equal('in the address', location.hash, '#process=all&t=6-8');
		check('as a chip', byId('chips').textContent.includes('6.0 s to 9.0 s'), byId('chips').textContent);
		equal('a band for losses', page().strip.bands.map((b) => b.name).join(), 'losses');
		App.change({span: {kind: 'slots', first: 305, last: 309}});
		equal('a span of a tenth of a second', page().tree.total[0], 10);
		byId('chips').querySelectorAll('button')[0].click();
		equal('a chip is taken away', page().state.span, null);
		equal('all is back', page().tree.total[0], 1000);
		key(byId('time'), 'ArrowRight');
		key(byId('time'), 'ArrowRight');
		key(byId('time'), 'ArrowRight', {shiftKey: true});
		equal('by keys: the second and third second', JSON.stringify(page().state.span),
		      '{"kind":"slices","first":1,"last":2}');
		equal('have their samples', page().tree.total[0], 200);
		key(byId('time'), 'Escape');
		equal('Escape: all', page().state.span, null);
		key(document.body, 'h');
		check('the heat map has all samples', page().state.heat &&
			page().shown.heat().weight.reduce((n, w) => n + w, 0) === 1000);
		key(document.body, 'h');
	}

	function checkWeights() {
		equal('weights of this capture', [...byId('weight').options].map((o) => o.value).join(), 'cpu,harm,slow');
		App.change({weight: 'slow'});
		equal('samples of the slow second', page().tree.total[0], 100);
		App.change({weight: 'harm'});
		equal('two waited at each of the newest hundred', page().tree.total[0], 200);
		App.change({weight: 'cpu'});
		for (const colour of ['assembly', 'tier', 'role', 'kind']) {
			App.change({colour});
			Graph.draw(page().graph);
			check('a legend by ' + colour, byId('legend').children.length > 1, byId('legend').textContent);
		}
	}

	function names() {
		const {tree, capture} = page();

		return Array.from(tree.symbol, (row) => capture.symbols[row].name);
	}

	function filter(kind, text, regex) {
		byId('filter-button').click();
		byId('filter-kind').value = kind;
		byId('filter-text').value = text;
		byId('filter-regex').checked = Boolean(regex);
		byId('filter-form').requestSubmit();
	}

	function takeAway() {
		for (let chip; (chip = byId('chips').querySelector('button'));)
			chip.click();
	}

	function checkFilters() {
		App.change({process: null, zoom: 0});
		byId('filter-button').click();
		const sheet = byId('filter-sheet').getBoundingClientRect();

		check('the sheet is within the window', sheet.left >= 0 && sheet.right <= innerWidth, sheet);
		byId('filter-button').click();
		filter('hide', 'memcpy');
		equal('hide leaves stacks out', page().tree.total[0], 900);
		filter('focus', '^shop\\.api\\.orders\\.pricing', true);
		equal('focus: only stacks with it', page().tree.total[0], 200);
		equal('from it on', names()[2], 'Shop.Api.Orders.Pricing.Total<System.__Canon>');
		const shared = location.hash;

		takeAway();
		equal('all chips gone, all is back', page().tree.total[0], 1000);
		location.hash = shared;
		window.dispatchEvent(new Event('popstate'));
		equal('the address brings them back', page().tree.total[0], 200);
		takeAway();
		filter('merge', 'pricing');
		check('merge: the frame is gone, its samples are not', page().tree.total[0] === 1000 &&
			!names().some((n) => n.includes('Pricing')), names());
		takeAway();
		filter('collapse', 'OrderController');
		check('collapse: nothing below it', page().tree.total[0] === 1000 && !names().includes('memcpy'), names());
		takeAway();
		filter('role', 'nginx');
		equal('one role', page().tree.total[0], 300);
		takeAway();
		filter('place', 'shop.service');
		equal('one unit', page().tree.total[0], 600);
		filter('thread', '101');
		equal('one thread of it', page().tree.total[0], 200);
		takeAway();
		filter('cut', '15');
		check('small shares are cut', !names().includes('PreStub') && page().tree.total[0] === 1000, names());
		takeAway();
		filter('hide', '(', true);
		check('a wrong pattern is told and does nothing', byId('chips').textContent.includes('missing )') &&
			page().tree.total[0] === 1000, byId('chips').textContent);
		takeAway();
		key(document.body, 'r');
		equal('recursion folded', names().filter((n) => n.includes('Pricing')).length, 1);
		key(document.body, 'r');
		key(document.body, 'j');
		check('just my code', page().tree.total[0] === 1000 && !names().includes('start_thread') &&
			names().includes('[framework]'), names());
		key(document.body, 'j');
		key(document.body, 'g');
		check('by workload: a chip; here each is one already', byId('chips').textContent.includes('by workload') &&
			page().tree.total[0] === 1000, names());
		key(document.body, 'g');
		equal('no chip is left', byId('chips').hidden, true);
	}

	/* --- views ------------------------------------------------------------------------------- */

	function rows() {
		return [...byId('table').querySelectorAll('tbody tr')].map((tr) =>
			[...tr.children].map((cell) => cell.textContent).join('|'));
	}

	function checkViews() {
		App.change({process: 0, zoom: 0});
		key(document.body, '3');
		equal('call tree: what all of it goes through is open', rows().slice(0, 3).join(' '),
		      '100.0 %|600|0|2|0.0–6.0 s|▾Shop.Api (100) 93.3 %|560|0|2|0.0–5.6 s|▾start_threadlibc.so.6 ' +
			'83.3 %|500|0|2|0.0–5.0 s|▾OrderController.HandleShop.Api');
		const first = byId('table').querySelector('tbody tr');

		key(first, 'ArrowLeft');
		equal('left closes', rows().length, 1);
		key(first, 'ArrowRight');
		check('right opens', rows().length > 2, rows().length);
		key(document.body, '4');
		equal('bottom up', rows()[0], '33.3 %|200|▸Pricing.Total<System.__Canon>Shop.Api');
		byId('table').querySelector('tbody tr').click();
		check('its callers below', rows()[1].includes('Pricing.Total'), rows()[1]);
		key(document.body, '5');
		equal('roles', rows()[0], '66.7 %|400|▸main thread|1 thread||only these');
		byId('table').querySelectorAll('button.small')[1].click();
		equal('only that role', page().tree.total[0], 200);
		takeAway();
		App.change({process: 0});
		key(document.body, '6');
		equal('modules', rows()[0], '33.3 %|200||▸Shop.Api');
		key(document.body, '7');
		for (const part of ['Requests', '0.0.0.0:8080', 'Who waits for whom', 'Books and losses', 'samples dropped: ring full'])
			check('the report tells ' + part, byId('table').textContent.includes(part));
		check('and the text of hotrun report', byId('table').querySelector('pre').textContent.startsWith('web-1 '));
		App.change({span: {kind: 'slices', first: 2, last: 2}});
		check('requests of that second: all slow', rows().some((r) => /8080\|.*\|100\|.*\|100\.0 %/.test(r)), rows());
		check('who waited then', rows().includes('nginx 200|Shop.Api 100|0.50'), rows());
		App.change({span: null});
		key(document.body, '2');
		equal('sandwich: of the hottest', byId('sandwich-title').textContent,
		      'Shop.Api.Orders.Pricing.Total<System.__Canon> 50.0 % ±4.0 · 300 samples · self 200');
		key(document.body, '1');
		checkMenu();
	}

	function checkMenu() {
		const area = byId('graph');

		page().graph.focus = find('memcpy');
		key(area, 'm');
		equal('m opens the menu of the frame', byId('menu').hidden, false);
		const items = [...byId('menu').querySelectorAll('[role="menuitem"]')];

		equal('the first item has the focus', document.activeElement, items[0]);
		items.find((i) => i.textContent.startsWith('Leave stacks')).click();
		equal('leaves its stacks out', page().tree.total[0], 500);
		equal('and the menu is closed', byId('menu').hidden, true);
		takeAway();
		App.change({process: 0});
		page().graph.focus = find('memcpy');
		key(area, 's');
		equal('s: callers and callees of it', page().state.view, 'sandwich');
		equal('its callers are the shop', page().capture.symbols[Tree.callers(page().tree,
			page().state.method, 0).symbol[1]].name, 'Shop.Api.Orders.Pricing.Total<System.__Canon>');
		key(document.body, '1');
	}

	/* --- what is saved ----------------------------------------------------------------------- */

	async function checkSave() {
		App.change({process: null, zoom: 0});
		const {capture, tree} = page();
		const folded = Save.folded(capture, tree).trim().split('\n');
		const look = {width: 800, title: '</svg><script>alert(1)</script>', note: '&', page: '#fff', text: '#000',
			rootBelow: false, fill: () => '#abc'};
		const svg = Save.svg(capture, tree, 0, look);
		const read = new DOMParser().parseFromString(svg, 'image/svg+xml');

		equal('folded stacks have all samples', folded.reduce((n, l) =>
			n + Number(/ (\d+)$/.exec(l)[1]), 0), 1000);
		equal('no name makes a line of its own', folded.every((l) => /^[^\u0000-\u001f]+ \d+$/.test(l)), true);
		equal('SVG is well-formed, hostile names and all', read.querySelectorAll('parsererror').length, 0);
		equal('and has no script', read.querySelectorAll('script, img, foreignObject, a').length, 0);
		check('names are text there', [...read.querySelectorAll('title')].some((t) => t.textContent.startsWith('</script><img')));
		const png = await Save.png(capture, tree, 0, look, null);

		check('PNG is one', png.type === 'image/png' && png.size > 2000, png && png.size);
	}

	/* --- a difference ------------------------------------------------------------------------- */

	function checkDiff() {
		const p = page(), rows = () => [...byId('table').querySelectorAll('section')];
		const step = (name) => p.shown.step(p.tree.id[find(name)]);

		App.change({process: null, zoom: 0, search: '', filters: [], span: {kind: 'slices', first: 1, last: 1}});
		equal('after is above', byId('graph-title').textContent.startsWith('after: tuesday.hotrun'), true);
		equal('with its samples', p.tree.total[0], 3000);
		equal('before is below', p.changes.shown.tree.total[0], 2400);
		equal('what grew is so', step('Shop.Orders.Price'), 2);
		equal('what calls it, too', step('Shop.Orders.List'), 2);
		equal('what did not is within the noise', p.shown.step(p.tree.id[Array.from(p.tree.symbol)
			.findIndex((s) => p.capture.symbols[s].name.startsWith('get'))]), 0);
		equal('its own colour says so', p.colours.by, 'change');
		equal('there is no time to choose', byId('time').hidden, true);
		equal('nor threads', byId('views').querySelector('[data-view="threads"]').hidden, true);
		equal('the legend tells colours', byId('legend').children.length, 7);
		equal('the list is of findings', byId('hottest-list').textContent.includes('Shop.Orders.Price'), true);
		App.change({filters: [{kind: 'focus', how: 'is', text: 'Shop.Orders.Price'}]});
		equal('a filter holds for both', p.tree.total[0] + ' ' + p.changes.shown.tree.total[0], '1800 1200');
		App.change({filters: []});
		App.change({view: 'tree'});
		check('the tree has both sides', /Before.*After.*Change/.test(byId('table').textContent), byId('table').textContent);
		App.change({view: 'report'});
		check('the findings have their interval', /^\+50\.0 % ± \d/.test(rows()[0].querySelector('tbody td').textContent),
			rows()[0].textContent);
		check('requests stand beside them', /2\.?\d* ms/.test(rows()[1].textContent), rows()[1].textContent);
		check('and the text', rows()[2].textContent.includes('Shop.Orders.Price'), rows()[2].textContent);
		App.change({view: 'sandwich'});
		check('its legend is of its colours', /JIT, application/.test(byId('legend').textContent), byId('legend').textContent);
		for (const view of ['bottom', 'modules', 'flame'])
			App.change({view});
		equal('the legend is of changes again', byId('legend').children.length, 7);
		equal('hostile names are text', document.querySelectorAll('main b:not(.grid b), main script').length, 0);
	}

	const suites = {
		small: [checkSafety, checkAny, checkHeader, checkChooser, checkSearch, checkZoom, checkHottest,
			checkKeys,
			checkReasons, checkHostile, checkAddress, checkPolicy, checkTime, checkWeights, checkFilters,
			checkViews, checkSave, checkSafety],
		large: [checkSafety, checkAny, checkLarge],
		blocked: [checkSafety, checkBlocked],
		older: [checkSafety, checkOlder],
		gap: [checkSafety, checkGap],
		empty: [checkSafety, checkEmpty],
		any: [checkSafety, checkAny],
		diff: [checkSafety, checkDiff, checkSafety],
	};

	for (const suite of suites[kind]) {
		try {
			await suite();
		} catch (e) {
			check(suite.name, false, String(e.stack));
		}
	}
	return lines;
})

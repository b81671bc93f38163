/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Behind speedscope's own page: as soon as it has read a file, its "save" (Ctrl-S) hands out what it made of it. Of
 * that, sums go into the page, for --dump-dom: profiles, their unit, and weight with a stack.
 */
(async () => {
	const errors = [], pre = document.createElement('pre');
	let saved = null;

	addEventListener('error', (e) => errors.push(e.message));
	URL.createObjectURL = (blob) => {
		saved = blob;
		return '#';
	};
	for (let i = 0; i < 300 && !saved; i++) {
		await new Promise((resolve) => setTimeout(resolve, 100));
		dispatchEvent(new KeyboardEvent('keydown', {key: 's', ctrlKey: true}));
	}
	const file = saved ? JSON.parse(await saved.text()) : {profiles: []};
	let weight = 0, deepest = 0;
	for (const profile of file.profiles) {
		let depth = 0, last = profile.startValue;

		for (const event of profile.events) {
			weight += depth ? event.at - last : 0;
			last = event.at;
			depth += event.type === 'O' ? 1 : -1;
			deepest = Math.max(deepest, depth);
		}
	}
	pre.id = 'results';
	pre.textContent = [file.profiles.length, file.profiles[0]?.unit, weight, deepest, ...errors].join(' ');
	document.body.append(pre);
})();

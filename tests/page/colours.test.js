/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * Colours of frames can be told apart by eyes that lack a kind of cone, and text on them be read.
 * How such eyes see: Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of
 * color vision deficiency" (2009), severity 1. Distances are of CIELAB (1976); contrast as WCAG 2
 * has it.
 */
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');

const CSS = fs.readFileSync(path.join(__dirname, '../../user/output/page/flame.css'), 'utf8');
const EYES = {
	usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
	'no red': [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
	'no green': [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
	'no blue': [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

function linear(c) {
	return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

function rgbOfHsl(h, s, l) {
	const a = s / 100 * Math.min(l / 100, 1 - l / 100);

	return [0, 8, 4].map((n) => {
		const k = (n + h / 30) % 12;

		return linear(l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
	});
}

function rgbOfHex(hex) {
	return [1, 3, 5].map((i) => linear(parseInt(hex.slice(i, i + 2), 16) / 255));
}

function brightness([r, g, b]) {
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function lab([r, g, b]) {
	const f = (t) => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116;
	const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), y = f(brightness([r, g, b]));
	const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);

	return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function seen(eyes, rgb) {
	return lab([0, 3, 6].map((row) => Math.max(0, rgb.reduce((sum, c, i) => sum + EYES[eyes][row + i] * c, 0))));
}

function theme(name) {
	const [light, rest] = CSS.split('@media (prefers-color-scheme: dark)');
	const text = name === 'light' ? light : rest.slice(0, rest.indexOf('* {'));
	const all = (prefix) => [...text.matchAll(new RegExp(`--(${prefix}-\\w+): (\\d+) (\\d+) (\\d+);`, 'g'))]
		.map((m) => ({name: m[1], rgb: rgbOfHsl(...m.slice(2).map(Number))}));

	return {kinds: all('kind'), hues: all('hue'), changes: [...all('grew'), ...all('fell')], text: rgbOfHex(/--frame-text: (#\w{6})/.exec(text)[1])};
}

for (const name of ['light', 'dark']) {
	const {kinds, hues, changes, text} = theme(name);
	const apart = (eyes, a, b, least) => {
		const [p, q] = [seen(eyes, a.rgb), seen(eyes, b.rgb)];
		const distance = Math.hypot(...p.map((v, n) => v - q[n]));

		assert.ok(distance >= least, `${a.name} and ${b.name}: ${distance.toFixed(1)}`);
	};
	const code = kinds.filter((k) => !/note|process|root/.test(k.name));

	for (const eyes of Object.keys(EYES))
		test(`${name}, eyes: ${eyes}`, () => {
			assert.equal(code.length + hues.length, 15);
			for (const set of [code, hues])
				set.forEach((a, i) => set.slice(i + 1).forEach((b) => apart(eyes, a, b, 19)));
			/* What grew is not taken for what fell, nor either for noise; steps are shades of one. */
			const noise = kinds.find((k) => k.name === 'kind-unknown');

			assert.equal(changes.length, 6);
			for (const a of changes) {
				apart(eyes, a, noise, 8);
				for (const b of changes)
					if (a !== b)
						apart(eyes, a, b, a.name.slice(0, 4) === b.name.slice(0, 4) ? 8 : 16);
			}
		});
	test(`${name}: text can be read`, () => {
		for (const {name: colour, rgb} of [...kinds, ...hues, ...changes]) {
			const [dark, bright] = [brightness(rgb), brightness(text)].sort((a, b) => a - b);

			assert.ok((bright + 0.05) / (dark + 0.05) >= 4.5, `${colour}: ${(bright + 0.05) / (dark + 0.05)}`);
		}
	});
}

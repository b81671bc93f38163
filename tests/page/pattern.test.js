/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

const assert = require('node:assert');
const {test} = require('node:test');
const {Pattern, Search} = require('./load.js').load();

/* What both know has to be found in the same texts as by the browser's own. */
const PATTERNS = ['abc', '^abc', 'abc$', '^$', '', 'a|bc|', 'a*b', '(ab)+c', 'a?b?c', '[a-c]x', '[^a-c]x',
	'^(memcpy|tcp_.*)$', '\\d+', '\\w\\s\\w', '\\S\\D', 'a{2}', 'a{2,3}b', 'x{0,2}y', 'a.c', '\\.', '[.\\]]',
	'(a|b)*c$', '(?:ab|c)d', 'a+?b', '[a\\d_]z', '.*foo.*bar', '((a|b)|c)+$', '^.{3}$', '[]a]', 'a|^b$'];
const TEXTS = ['', 'abc', 'ABC', 'xabcx', 'ab', 'abab c', 'ababc', 'memcpy', 'tcp_sendmsg', 'xtcp_', 'a b', '42',
	'aab', 'aaab', 'axc', 'a\nc', '.', ']', 'cd', 'abd', 'foo bar', 'barfoo', 'dx', 'ax', 'az', '1z', 'y', 'xxy',
	'cbabc', 'b', 'Ünïcode'];

test('finds what regular expressions find', () => {
	for (const pattern of PATTERNS) {
		/* There, a dot is no line break, and ] may not come first: neither is worth a difference. */
		const peer = new RegExp(pattern.replace('[]a]', '[\\]a]'), 'is'), own = Pattern.create(pattern);

		for (const text of TEXTS)
			assert.equal(own.test(text), peer.test(text), JSON.stringify([pattern, text]));
	}
});

test('tells what is wrong', () => {
	for (const [pattern, why] of [['(', 'missing )'], ['a)', 'unmatched )'], ['[a', 'missing ]'], ['*a', 'nothing to repeat'],
		['\\', 'at the end'], ['(?=a)', 'not known'], ['\\b', 'not known'], ['a{999}', 'counts'], ['[z-a]', 'out of order'],
		['((a{200}){200})', 'too large'], ['a{', 'needs']])
		assert.match(Search.compile(pattern, 're').error, new RegExp(why.replace(/[)\]{]/g, '\\$&')), pattern);
});

test('no pattern takes for ever', () => {
	const began = performance.now();

	for (const empty of ['(){200}{200}{200}{200}{200}', '((((){200}){200}){200}){200}', '(?:){200}'.repeat(150)])
		assert.match(Search.compile(empty, 're').error, /too large/, empty);
	const costly = Pattern.create('a.{60}q');

	/* Letters without any order: hardly a set of states is seen twice. */
	for (let i = 0, random = 1; i < 30000 && !costly.isCostly(); i++)
		costly.test(Array.from({length: 80}, () => {
			random = random * 48271 % 0x7fffffff;
			return random & 64 ? 'a' : 'b';
		}).join(''));
	assert.ok(costly.isCostly());
	assert.equal(costly.test('a' + 'b'.repeat(60) + 'q'), false, 'it finds nothing any more');
	assert.ok(performance.now() - began < 20000, 'took ' + (performance.now() - began) + ' ms');
});

test('no name makes a pattern take for ever', () => {
	const name = 'a'.repeat(16384) + '!';
	const began = performance.now();

	for (const pattern of ['(a+)+$', '(a|aa)+$', '(.*)*x', 'a?'.repeat(100) + 'a{100}$', '(.*a){20}b'])
		Pattern.create(pattern).test(name);
	assert.ok(performance.now() - began < 5000, 'took ' + (performance.now() - began) + ' ms');
});

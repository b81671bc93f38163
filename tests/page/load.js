/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* The pure modules of the flame graph page under node, as they are: one script, no build. */
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const FOLDER = path.join(__dirname, '../../user/output/page');
const PURE = {Format: 'format', Pattern: 'pattern', Codec: 'codec', Capture: 'capture', Search: 'search',
	Seconds: 'seconds', Selection: 'selection', Folds: 'folds', Tree: 'tree', State: 'state', Shown: 'shown', Save: 'save',
	Changes: 'changes'};

function load() {
	const source = Object.values(PURE).map((file) =>
		fs.readFileSync(path.join(FOLDER, file + '.js'), 'utf8')).join('\n');

	return vm.runInThisContext('(() => {' + source + '\nreturn {' + Object.keys(PURE).join() + '};})()');
}

/* The data block of a page file, decoded. */
async function readPage(modules, file) {
	const page = fs.readFileSync(file, 'utf8');
	const text = /<script type="text\/plain" id="data">([^<]*)<\/script>/.exec(page)[1];

	return modules.Capture.read(await modules.Codec.read(text));
}

module.exports = {load, readPage};

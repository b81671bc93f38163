/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/* Elements by hand: strings of targets only ever become text nodes, never markup. */
const Dom = (() => {
	function byId(id) {
		return document.getElementById(id);
	}

	/* A new element; children are elements or strings (text). */
	function make(tag, className, ...children) {
		const element = document.createElement(tag);

		if (className)
			element.className = className;
		element.append(...children);
		return element;
	}

	function fill(element, ...children) {
		element.replaceChildren(...children);
		return element;
	}

	return {byId, make, fill};
})();

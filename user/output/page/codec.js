/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';

/*
 * The data block as it is written (flame.h): base64, deflate, a JSON document, columns of numbers.
 * Nothing here knows what they mean. Runs under node, too.
 */
const Codec = (() => {
	function fromBase64(text) {
		const binary = atob(text);
		const bytes = new Uint8Array(binary.length);

		for (let i = 0; i < bytes.length; i++)
			bytes[i] = binary.charCodeAt(i);
		return bytes;
	}

	async function inflate(bytes) {
		const stream = new Blob([bytes]).stream()
			.pipeThrough(new DecompressionStream('deflate'));

		return new Uint8Array(await new Response(stream).arrayBuffer());
	}

	/* count numbers of seven bits a byte; null where one is larger than 32 bits and wide is not
	 * set. A number beyond 2^53 is not exact. */
	function numbers(bytes, at, count, rise, wide) {
		const list = wide ? new Float64Array(count) : new Uint32Array(count);
		let last = 0;

		for (let i = 0; i < count; i++) {
			let value = bytes[at++];

			if (value > 0x7f) {
				let scale = 128, byte;

				value &= 0x7f;
				do {
					byte = bytes[at++];
					value += (byte & 0x7f) * scale;
					scale *= 128;
				} while (byte > 0x7f);
			}
			if (rise) {
				const half = Math.floor(value / 2);

				value = last += value % 2 ? -half - 1 : half;
			}
			if (!wide && (value > 0xffffffff || value < 0))
				return null;
			list[i] = value;
		}
		return list;
	}

	/* {json, column(name, rise): its numbers, none where the block has no such column}. */
	function open(bytes) {
		const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
		const json = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
		const places = new Map();
		let at = 4 + length;

		for (const [name, count, size] of json.columns || []) {
			places.set(name, {at, count});
			at += size;
		}
		if (at > bytes.length)
			throw new Error('it is cut short');
		return {
			json,
			column: (name, rise) => {
				const place = places.get(name);

				if (!place)
					return new Uint32Array(0);
				return numbers(bytes, place.at, place.count, rise, false) ||
					numbers(bytes, place.at, place.count, rise, true);
			},
		};
	}

	async function read(text) {
		return open(await inflate(fromBase64(text)));
	}

	return {open, read};
})();

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROTOCOL_BPF_H
#define HOTRUN_PROTOCOL_BPF_H
/*
 * What comes in on a connection: the payload of a segment, the protocol by its first bytes, and
 * which data begins no request: what HTTP/2 clients send to run the connection, and the goodbyes of
 * TLS. All of it is written by clients: bounded reads of what is there, and a wrong guess only
 * blurs figures of that connection.
 */
#include "request.bpf.h"

/* A kernel function (net/core/filter.c), open to tracing programs since 6.12. */
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags,
			       struct bpf_dynptr *ptr) __ksym __weak;

extern const volatile bool reads_pages;

/* As far as a request for a WebSocket names it: browsers send their tokens first. */
#define OPENING_BYTES 2048

struct opening {
	__u8 data[OPENING_BYTES];
	__u64 behind; /* zeros, when data is looked through in words */
};

/* The payload of a segment. */
struct segment {
	__u32 seq, bytes;
	__u32 at; /* in the segment */
};

static __always_inline bool segment_read(struct sk_buff *skb, __u32 at, void *to, __u32 bytes)
{
	struct bpf_dynptr ptr;

	if (skb->len - skb->data_len >= at + bytes)
		return !bpf_probe_read_kernel(to, bytes, skb->data + at);
	if (!reads_pages || bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &ptr))
		return false;
	return !bpf_dynptr_read(to, bytes, &ptr, at, 0);
}

/* bytes: 1..OPENING_BYTES. */
static __always_inline bool segment_read_most(struct sk_buff *skb, __u32 at, __u8 *to, __u32 bytes)
{
	asm volatile("" : "+r"(bytes));
	if (!bytes || bytes > OPENING_BYTES)
		return false;
	return segment_read(skb, at, to, bytes);
}

/* Of an established connection: what the kernel has noted of the header (tcp_v4_fill_cb()), which
 * the segment still begins with. */
static __always_inline struct segment segment_of(struct sk_buff *skb)
{
	struct tcp_skb_cb *noted = (void *)skb->cb;
	struct segment segment = {.seq = noted->seq};
	__u32 flags = noted->tcp_flags;

	segment.bytes =
		noted->end_seq - segment.seq - !!(flags & TCPHDR_FIN) - !!(flags & TCPHDR_SYN);
	if (segment.bytes > skb->len)
		segment.bytes = 0;
	segment.at = skb->len - segment.bytes;
	return segment;
}

#define WORD(a, b, c, d) ((__u32)(a) << 24 | (__u32)(b) << 16 | (__u32)(c) << 8 | (__u32)(d))

/* RFC 9110, section 9, without CONNECT, behind which something else is talked; RFC 9113, section
 * 3.4; RFC 8446, section 5.1. */
static __always_inline __u8 protocol_of(const __u8 *data, __u32 bytes)
{
	if (bytes >= 3 && data[0] >= 0x14 && data[0] <= 0x17 && data[1] == 3 && data[2] <= 4)
		return PROTOCOL_TLS;
	if (bytes < 4)
		return PROTOCOL_OTHER;
	switch (WORD(data[0], data[1], data[2], data[3])) {
	case WORD('G', 'E', 'T', ' '):
	case WORD('P', 'O', 'S', 'T'):
	case WORD('P', 'U', 'T', ' '):
	case WORD('H', 'E', 'A', 'D'):
	case WORD('D', 'E', 'L', 'E'):
	case WORD('P', 'A', 'T', 'C'):
	case WORD('O', 'P', 'T', 'I'):
	case WORD('T', 'R', 'A', 'C'):
		return PROTOCOL_HTTP1;
	case WORD('P', 'R', 'I', ' '):
		return PROTOCOL_HTTP2;
	default:
		return PROTOCOL_OTHER;
	}
}

#define HTTP2_FRAME_BYTES 9
#define HTTP2_FRAME_MOST  16384 /* unless a setting allows more, which few make use of */
#define HTTP2_TYPE_MOST	  9

/* The same for a connection whose beginning was not seen: a frame of HTTP/2, a masked one of a
 * WebSocket (RFC 6455, section 5.2). */
static __always_inline __u8 protocol_of_older(const __u8 *data, __u32 bytes)
{
	__u8 opcode = data[0] & 0xf;

	if (bytes >= HTTP2_FRAME_BYTES && WORD(0, data[0], data[1], data[2]) <= HTTP2_FRAME_MOST &&
	    data[3] <= HTTP2_TYPE_MOST && !(data[5] & 0x80))
		return PROTOCOL_HTTP2;
	if (bytes >= 6 && !(data[0] & 0x30) && (opcode <= 2 || (opcode >= 8 && opcode <= 10)) &&
	    data[1] & 0x80)
		return PROTOCOL_HTTP1 | PROTOCOL_WEBSOCKET;
	return PROTOCOL_OTHER;
}

struct search {
	const struct opening *opening;
	__u64 window; /* the last eight bytes */
	bool found;
};

static long search_step(__u32 i, void *ctx)
{
	struct search *search = ctx;

	if (i >= OPENING_BYTES)
		return 1;
	search->window = search->window << 8 | search->opening->data[i] | 0x20;
	search->found = search->window == 0x6164653a20776562;
	return search->found;
}

/* Looks for "ade: web", of Upgrade: websocket (RFC 6455, section 4.1), in letters of any case. By a
 * helper of 5.17: as a plain loop it takes the verifier longer than all else. */
static __always_inline bool asks_for_websocket(const struct opening *opening, __u32 bytes)
{
	struct search search = {.opening = opening};

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		bpf_loop(bytes, search_step, &search, 0);
	return search.found;
}

/* --- where a header of HTTP/1 ends: at a blank line (RFC 9112, section 2.1) ------------------- */

#define HEADER_END	 0x0a0d0a0du /* CR LF CR LF, in memory */
#define HEADER_END_BYTES 4
#define WINDOW_STEP	 5 /* of eight bytes, in which so many places begin */

struct blank_search {
	const struct opening *opening;
	__u32 bytes;
	bool found;
};

static long blank_step(__u32 i, void *ctx)
{
	struct blank_search *search = ctx;
	__u32 at = i * WINDOW_STEP;
	__u64 word;

	if (i >= OPENING_BYTES / WINDOW_STEP || at >= search->bytes)
		return 1;
	word = *(__u64 *)(search->opening->data + at);
	for (int k = 0; k < WINDOW_STEP; k++)
		if ((__u32)(word >> 8 * k) == HEADER_END) {
			search->found = true;
			return 1;
		}
	return 0;
}

/* Of the header's end, how many bytes a text ends with, after so many before one more. */
static __always_inline __u32 header_tail(__u32 tail, __u8 byte)
{
	if (byte == '\n')
		return tail & 1 ? tail + 1 : 0;
	if (byte == '\r')
		return tail == 2 ? 3 : 1;
	return 0;
}

/* In the first bytes; true where that cannot be told, as in data that is longer. */
static __always_inline bool has_blank_line(struct sk_buff *skb, struct segment segment,
					   struct opening *opening)
{
	struct blank_search search = {.opening = opening, .bytes = segment.bytes};

	if (segment.bytes > OPENING_BYTES ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop) ||
	    !segment_read_most(skb, segment.at, opening->data, segment.bytes))
		return true;
	if (segment.bytes < OPENING_BYTES)
		*(__u64 *)(opening->data + segment.bytes) = 0;
	opening->behind = 0;
	bpf_loop(OPENING_BYTES / WINDOW_STEP, blank_step, &search, 0);
	return search.found;
}

/*
 * More of a header comes, the first part included. 0: it ends here; else connection.header. Mostly
 * the segment ends with it.
 */
static __always_inline __u32 header_goes_on(struct sk_buff *skb, struct segment segment,
					    struct opening *opening, __u32 header)
{
	__u32 tail = header ? header - 1 : 0, bytes = segment.bytes;
	__u8 ends[HEADER_END_BYTES] = {};

	if (bytes >= HEADER_END_BYTES) {
		if (!segment_read(skb, segment.at + bytes - HEADER_END_BYTES, ends, sizeof(ends)))
			return 0;
		if (*(__u32 *)ends == HEADER_END)
			return 0;
	}
	/* What began in the segment before. */
	if (tail || bytes < HEADER_END_BYTES)
		for (__u32 i = 0; i < HEADER_END_BYTES - 1 && i < bytes; i++) {
			__u8 byte;

			if (!segment_read(skb, segment.at + i, &byte, 1))
				return 0;
			tail = header_tail(tail, byte);
			if (tail == HEADER_END_BYTES)
				return 0;
		}
	if (bytes < HEADER_END_BYTES)
		return 1 + tail;
	if (has_blank_line(skb, segment, opening))
		return 0;
	tail = 0;
	for (int i = 0; i < HEADER_END_BYTES; i++)
		tail = header_tail(tail, ends[i]);
	return 1 + tail;
}

#define HTTP2_PREFACE_BYTES 24
#define HTTP2_HEADERS	    1
#define HTTP2_FRAMES_MAX    4

/* HEADERS begins one (RFC 9113, section 4.1): among the first frames of a segment that starts with
 * one. Windows, pings, settings and data do not. */
static __always_inline bool http2_is_request(struct sk_buff *skb, struct segment segment,
					     bool first)
{
	__u32 at = first ? HTTP2_PREFACE_BYTES : 0;
	__u8 frame[HTTP2_FRAME_BYTES];

	for (int i = 0; i < HTTP2_FRAMES_MAX; i++) {
		if (at + HTTP2_FRAME_BYTES > segment.bytes ||
		    !segment_read(skb, segment.at + at, frame, sizeof(frame)))
			return false;
		if (frame[3] == HTTP2_HEADERS)
			return true;
		at += HTTP2_FRAME_BYTES + ((__u32)frame[0] << 16 | (__u32)frame[1] << 8 | frame[2]);
	}
	return false;
}

/* Smaller than any HTTP/1 request in a record: 27 bytes, and 22 around them (TLS 1.3). Alerts,
 * HTTP/2's windows, pings and settings are not larger; with 1.2, 29 bytes around. */
#define TLS_LEAST_BYTES 49
/* A change of cipher and the client's last message of the handshake, nothing behind it. */
#define TLS_FINISHED_MOST    80
#define TLS_CHANGE_OF_CIPHER 0x14

/* Records of TLS (RFC 8446, section 5): goodbyes and the end of a handshake wait for no answer. */
static __always_inline bool tls_is_request(struct sk_buff *skb, struct segment segment)
{
	__u8 type;

	if (segment.bytes < TLS_LEAST_BYTES)
		return false;
	return segment.bytes > TLS_FINISHED_MOST || !segment_read(skb, segment.at, &type, 1) ||
	       type != TLS_CHANGE_OF_CIPHER;
}
#endif

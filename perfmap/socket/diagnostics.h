/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_SOCKET_DIAGNOSTICS_H
#define PERFMAP_SOCKET_DIAGNOSTICS_H
/*
 * The few diagnostics requests of a .NET runtime that hotrun makes: switch its perf map on, switch
 * it off, tell the runtime's version, let a runtime go on that waits at its start. Encoding and
 * decoding are pure; diagnostics_exchange() sends one request over a socket that somebody has
 * connected, and looks at nothing of the reply but where it ends. Replies are hostile: whoever
 * listens there may send anything, slowly, or nothing; who decodes them chooses where. No state;
 * any thread.
 *
 * Format (dotnet/diagnostics, documentation/design-docs/ipc-protocol.md; checked on 8, 9, 10): 14
 * bytes of magic, u16 size of the whole, u8 set, u8 id, u16 reserved, then the payload; numbers are
 * little-endian, strings are a u32 count of UTF-16 units, the NUL among them, and the units. One
 * request a connection, which the runtime closes. The socket is dotnet-diagnostic-PID-KEY-socket in
 * TMPDIR, else /tmp; PID as the process sees itself, KEY the start time in /proc/PID/stat.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIAGNOSTICS_REQUEST_BYTES_MAX 24u
#define DIAGNOSTICS_REPLY_BYTES_MAX   UINT16_MAX /* what the size field can say */
#define DIAGNOSTICS_NAME_BYTES	      64u
#define DIAGNOSTICS_VERSION_BYTES     64u

enum diagnostics_request {
	DIAGNOSTICS_RESUME = 0x01,	     /* ResumeRuntime; of one that waits for it */
	DIAGNOSTICS_PROCESS_INFO = 0x04,     /* ProcessInfo2; .NET 6 and later */
	DIAGNOSTICS_ENABLE_PERF_MAP = 0x05,  /* .NET 8 and later; the map alone, no jitdump */
	DIAGNOSTICS_DISABLE_PERF_MAP = 0x06, /* .NET 8 and later */
};

struct diagnostics_reply {
	bool ok;
	uint32_t hresult;			 /* why not; 0 where ok */
	char version[DIAGNOSTICS_VERSION_BYTES]; /* PROCESS_INFO: "10.0.12"; else "" */
};

/* Writes the name of the socket without its directory. */
void diagnostics_socket_name(uint32_t ns_pid, uint64_t key, char ret_name[DIAGNOSTICS_NAME_BYTES]);
/* Whether a file name is that of a socket of this pid, with whatever key. */
bool diagnostics_is_socket_name(const char *name, uint32_t ns_pid);

/* Writes a request; returns its length in bytes. */
size_t diagnostics_encode(enum diagnostics_request request,
			  uint8_t ret_bytes[DIAGNOSTICS_REQUEST_BYTES_MAX]);

/*
 * Reads the first len bytes of a reply to request. Returns 0; -EAGAIN: *ret_wanted bytes of it are
 * needed (more than len, at most DIAGNOSTICS_REPLY_BYTES_MAX); -EPROTO: this is no reply of a
 * runtime. What follows the size that the reply gives itself is not looked at.
 */
int diagnostics_decode(enum diagnostics_request request, const uint8_t *bytes, size_t len,
		       size_t *ret_wanted, struct diagnostics_reply *ret_reply);

/*
 * Sends a request over a connected stream socket and waits for the reply until deadline_ns
 * (CLOCK_MONOTONIC). fd stays the caller's, good for nothing more. Returns 0 with all bytes of the
 * reply, for diagnostics_decode(): it may say no; -ETIMEDOUT; -ECONNRESET (closed without a whole
 * reply); -EPROTO (not a runtime); -EINTR (a signal was handled while it waited); or what poll,
 * send and recv said. After a request was sent, the runtime may act on it all the same.
 */
int diagnostics_exchange(int fd, enum diagnostics_request request, uint64_t deadline_ns,
			 uint8_t ret_bytes[DIAGNOSTICS_REPLY_BYTES_MAX], size_t *ret_len);

/*
 * Takes in what a runtime says first over a connection that it made itself (a port in connect mode:
 * "ADVR_V1", a cookie, its pid), until deadline_ns; then the connection is as any other. 0, or as
 * diagnostics_exchange().
 */
int diagnostics_take_advert(int fd, uint64_t deadline_ns);

/* What an error code of a reply means, in a few words; static. */
const char *diagnostics_error_text(uint32_t hresult);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/socket/diagnostics.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define MAGIC	     "DOTNET_IPC_V1" /* 14 bytes with its NUL */
#define MAGIC_BYTES  14u
#define HEADER_BYTES 20u
#define SIZE_OFFSET  14u
#define SET_OFFSET   16u
#define ID_OFFSET    17u
#define SET_PROCESS  0x04u
#define SET_SERVER   0xffu
#define ID_OK	     0x00u
#define ID_ERROR     0xffu
#define MAP_ALONE    3u	       /* EnablePerfMap's argument: 1 map and jitdump, 2 jitdump, 3 map */
#define INFO_STRINGS 24u       /* of ProcessInfo2: after the pid and a cookie */
#define INFO_VERSION 4u	       /* command line, system, architecture, assembly, version */
#define ADVERT	     "ADVR_V1" /* 8 bytes with its NUL, a cookie of 16, u64 pid, u16 reserved */
#define ADVERT_BYTES 34u
#define NAME_PREFIX  "dotnet-diagnostic-"
#define NAME_SUFFIX  "-socket"

void diagnostics_socket_name(uint32_t ns_pid, uint64_t key, char ret_name[DIAGNOSTICS_NAME_BYTES])
{
	snprintf(ret_name, DIAGNOSTICS_NAME_BYTES, NAME_PREFIX "%" PRIu32 "-%" PRIu64 NAME_SUFFIX,
		 ns_pid, key);
}

bool diagnostics_is_socket_name(const char *name, uint32_t ns_pid)
{
	char prefix[DIAGNOSTICS_NAME_BYTES];
	size_t len = (size_t)snprintf(prefix, sizeof(prefix), NAME_PREFIX "%" PRIu32 "-", ns_pid);
	size_t digits;

	if (strncmp(name, prefix, len))
		return false;
	digits = strspn(name + len, "0123456789");
	return digits && !strcmp(name + len + digits, NAME_SUFFIX);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static void put_u16(uint8_t *at, uint16_t v)
{
	at[0] = (uint8_t)v;
	at[1] = (uint8_t)(v >> 8);
}

static uint16_t get_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t get_u32(const uint8_t *at)
{
	return get_u16(at) | (uint32_t)get_u16(at + 2) << 16;
}

size_t diagnostics_encode(enum diagnostics_request request,
			  uint8_t ret_bytes[DIAGNOSTICS_REQUEST_BYTES_MAX])
{
	size_t len = HEADER_BYTES;

	memset(ret_bytes, 0, DIAGNOSTICS_REQUEST_BYTES_MAX);
	memcpy(ret_bytes, MAGIC, MAGIC_BYTES);
	if (request == DIAGNOSTICS_ENABLE_PERF_MAP) {
		ret_bytes[HEADER_BYTES] = MAP_ALONE;
		len += sizeof(uint32_t);
	}
	put_u16(ret_bytes + SIZE_OFFSET, (uint16_t)len);
	ret_bytes[SET_OFFSET] = SET_PROCESS;
	ret_bytes[ID_OFFSET] = (uint8_t)request;
	return len;
}

/* Copies a version of UTF-16 units; one that is no version is left out. */
static void copy_version(const uint8_t *units, size_t cnt, char ret[DIAGNOSTICS_VERSION_BYTES])
{
	static const char allowed[] = ".-+0123456789abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = 0;

	if (cnt && !get_u16(units + 2 * (cnt - 1)))
		cnt--;
	if (cnt >= DIAGNOSTICS_VERSION_BYTES)
		return;
	for (; n < cnt; n++) {
		uint16_t unit = get_u16(units + 2 * n);

		if (!unit || unit > 'z' || !strchr(allowed, (char)unit)) {
			ret[0] = '\0';
			return;
		}
		ret[n] = (char)unit;
	}
	ret[n] = '\0';
}

/* Five strings one after the other, the version last. -EPROTO where they do not fit. */
static int decode_info(const uint8_t *payload, size_t len, struct diagnostics_reply *reply)
{
	size_t at = INFO_STRINGS;

	for (unsigned i = 0;; i++) {
		uint32_t units;

		if (len < at || len - at < sizeof(units))
			return -EPROTO;
		units = get_u32(payload + at);
		at += sizeof(units);
		if (units > (len - at) / 2)
			return -EPROTO;
		if (i == INFO_VERSION) {
			copy_version(payload + at, units, reply->version);
			return 0;
		}
		at += 2 * (size_t)units;
	}
}

/* Where a reply ends, by its first bytes: as diagnostics_decode(). */
static int find_end(const uint8_t *bytes, size_t len, size_t *ret_wanted)
{
	size_t known = len < MAGIC_BYTES ? len : MAGIC_BYTES, size;

	if (memcmp(bytes, MAGIC, known))
		return -EPROTO;
	*ret_wanted = HEADER_BYTES;
	if (len < HEADER_BYTES)
		return -EAGAIN;
	size = get_u16(bytes + SIZE_OFFSET);
	if (size < HEADER_BYTES)
		return -EPROTO;
	*ret_wanted = size;
	return len < size ? -EAGAIN : 0;
}

int diagnostics_decode(enum diagnostics_request request, const uint8_t *bytes, size_t len,
		       size_t *ret_wanted, struct diagnostics_reply *ret_reply)
{
	struct diagnostics_reply reply = {0};
	int err = find_end(bytes, len, ret_wanted);
	size_t size;

	if (err == -EPROTO || len < HEADER_BYTES)
		return err;
	if (bytes[SET_OFFSET] != SET_SERVER)
		return -EPROTO;
	if (err)
		return err;
	size = *ret_wanted;
	if (bytes[ID_OFFSET] == ID_ERROR && size >= HEADER_BYTES + sizeof(uint32_t))
		reply.hresult = get_u32(bytes + HEADER_BYTES);
	else if (bytes[ID_OFFSET] == ID_OK)
		reply.ok = true;
	else
		return -EPROTO;
	if (reply.ok && request == DIAGNOSTICS_PROCESS_INFO)
		err = decode_info(bytes + HEADER_BYTES, size - HEADER_BYTES, &reply);
	if (!err)
		*ret_reply = reply;
	return err;
}

/* --- the exchange ----------------------------------------------------------------------------- */

/* Waits until the socket is ready. Whole milliseconds, rounded up. */
static int wait_for(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		struct timespec ts;
		uint64_t now_ns;
		int n;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		now_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
		if (now_ns >= deadline_ns)
			return -ETIMEDOUT;
		n = poll(&p, 1,
			 deadline_ns - now_ns < 1000000000ull
				 ? (int)((deadline_ns - now_ns + 999999u) / 1000000u)
				 : 1000);
		if (n > 0)
			return 0;
		if (n < 0)
			return -errno;
	}
}

static int send_request(int fd, enum diagnostics_request request, uint64_t deadline_ns)
{
	uint8_t bytes[DIAGNOSTICS_REQUEST_BYTES_MAX];
	size_t len = diagnostics_encode(request, bytes), sent = 0;

	while (sent < len) {
		int err = wait_for(fd, POLLOUT, deadline_ns);
		ssize_t n;

		if (err)
			return err;
		n = send(fd, bytes + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return errno == EPIPE ? -ECONNRESET : -errno;
		if (n > 0)
			sent += (size_t)n;
	}
	return 0;
}

/* What is there of bytes up to end, once something is. */
static int receive_some(int fd, uint64_t deadline_ns, uint8_t *bytes, size_t end, size_t *len)
{
	int err = wait_for(fd, POLLIN, deadline_ns);
	ssize_t n;

	if (err)
		return err;
	n = recv(fd, bytes + *len, end - *len, MSG_DONTWAIT);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return -errno;
	if (!n)
		return -ECONNRESET;
	if (n > 0)
		*len += (size_t)n;
	return 0;
}

static int receive_reply(int fd, uint64_t deadline_ns, uint8_t *bytes, size_t *ret_len)
{
	size_t len = 0, wanted;
	int err;

	while ((err = find_end(bytes, len, &wanted)) == -EAGAIN) {
		err = receive_some(fd, deadline_ns, bytes, wanted, &len);
		if (err)
			return err;
	}
	*ret_len = len;
	return err;
}

int diagnostics_exchange(int fd, enum diagnostics_request request, uint64_t deadline_ns,
			 uint8_t ret_bytes[DIAGNOSTICS_REPLY_BYTES_MAX], size_t *ret_len)
{
	int err = send_request(fd, request, deadline_ns);

	/* A listener that answers before it was asked and hangs up has said something as well. */
	if (err && err != -ECONNRESET)
		return err;
	return receive_reply(fd, deadline_ns, ret_bytes, ret_len);
}

int diagnostics_take_advert(int fd, uint64_t deadline_ns)
{
	uint8_t bytes[ADVERT_BYTES];
	size_t len = 0;

	/* No byte more: what follows is the answer to a request. */
	while (len < sizeof(bytes)) {
		int err = receive_some(fd, deadline_ns, bytes, sizeof(bytes), &len);

		if (err)
			return err;
	}
	return memcmp(bytes, ADVERT, sizeof(ADVERT)) ? -EPROTO : 0;
}

/* Codes of src/native/eventpipe/ds-types.h and the HRESULTs behind them. */
const char *diagnostics_error_text(uint32_t hresult)
{
	switch (hresult) {
	case 0x80070057:
		return "bad argument";
	case 0x80131384:
		return "bad encoding";
	case 0x80131385:
		return "unknown command: the runtime is older than .NET 8";
	case 0x80131386:
		return "unknown protocol version";
	case 0x8013135b:
		return "not yet: the runtime is still starting";
	case 0x80131371:
		return "the runtime is not initialized";
	case 0x80131515:
		return "not supported by this runtime";
	case 0x80004005:
		return "failed inside the runtime";
	default:
		return "an error code that hotrun does not know";
	}
}

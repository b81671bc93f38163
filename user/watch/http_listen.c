/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the HTTP server listens. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "watch/http_private.h"

/* Who stands in the kernel's queue costs nothing here, and comes in within 0.7 s
 * (HTTP_ACCEPTS_S). */
#define BACKLOG 64

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int parse_listen(const char *text, union address *ret_address, socklen_t *ret_bytes)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	union address a = {0};
	uint64_t port;
	size_t len;

	if (!colon || text_parse_u64(colon + 1, 0, 65535, &port))
		return -EINVAL;
	len = (size_t)(colon - text);
	if (len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		a.v6.sin6_family = AF_INET6;
		a.v6.sin6_port = htons((uint16_t)port);
		if (inet_pton(AF_INET6, host + 1, &a.v6.sin6_addr) != 1)
			return -EINVAL;
		*ret_bytes = sizeof(a.v6);
	} else {
		a.v4.sin_family = AF_INET;
		a.v4.sin_port = htons((uint16_t)port);
		if (inet_pton(AF_INET, host, &a.v4.sin_addr) != 1)
			return -EINVAL;
		*ret_bytes = sizeof(a.v4);
	}
	*ret_address = a;
	return 0;
}

void http_explain_listen(const char *listen, int err, char *why, size_t why_bytes)
{
	char shown[128];

	text_copy_safe(shown, sizeof(shown), listen, strlen(listen));
	switch (-err) {
	case EINVAL:
		snprintf(why, why_bytes,
			 "%s is no address to listen on; write ADDR:PORT or [ADDR6]:PORT in "
			 "figures, as in " HTTP_DEFAULT,
			 shown);
		break;
	case EADDRINUSE:
		snprintf(why, why_bytes,
			 "%s is taken by another program (`ss -ltnp` shows which); choose another "
			 "port, or 0 for any",
			 shown);
		break;
	case EACCES:
		snprintf(why, why_bytes,
			 "%s: ports below 1024 need more rights (CAP_NET_BIND_SERVICE); choose one "
			 "above",
			 shown);
		break;
	case EADDRNOTAVAIL:
		snprintf(why, why_bytes, "%s is no address of this host; 0.0.0.0 means all of them",
			 shown);
		break;
	default:
		snprintf(why, why_bytes, "cannot listen on %s: %s", shown, strerror(-err));
	}
}

int http_open_listen(const char *text, int *ret_fd, unsigned int *ret_port)
{
	_cleanup_close_ int fd = -1;
	union address a;
	socklen_t bytes;
	int err, on = 1, off = 0;

	err = parse_listen(text, &a, &bytes);
	if (err)
		return err;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* A restart need not wait for connections of the last run. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (a.any.sa_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) ||
	    bind(fd, &a.any, bytes) || listen(fd, BACKLOG))
		return -errno;
	bytes = sizeof(a);
	if (getsockname(fd, &a.any, &bytes))
		return -errno;
	*ret_port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	*ret_fd = take_fd(&fd);
	return 0;
}

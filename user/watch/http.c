/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"

#define WHY_BYTES 256
/* The thread looks at the ages of its guests so often. */
#define LOOK_MS	     1000
#define TEXT_TYPE    "text/plain; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct guest {
	int fd; /* libmicrohttpd's */
	uint64_t since_ns;
	bool used;
};

struct http {
	struct http_ops ops;
	struct MHD_Daemon *daemon;
	pthread_t thread;
	bool running;
	int stop; /* eventfd */
	unsigned int port;
	struct guest guests[HTTP_CONNECTIONS];
	/* Touched by the thread alone. */
	struct MHD_Response *page;
	uint64_t page_ns;
	unsigned int pages; /* alive */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* --- where it listens ------------------------------------------------------------------------ */

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

static void explain(const char *listen, int err, char *why, size_t why_bytes)
{
	char shown[128];

	text_copy_safe(shown, sizeof(shown), listen, strlen(listen));
	switch (-err) {
	case EINVAL:
		snprintf(why, why_bytes,
			 "%s is no address to listen on; write ADDR:PORT or [ADDR6]:PORT in "
			 "figures, "
			 "as in " HTTP_DEFAULT,
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

static int open_listen(const char *text, int *ret_fd, unsigned int *ret_port)
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
	    bind(fd, &a.any, bytes) || listen(fd, HTTP_CONNECTIONS))
		return -errno;
	bytes = sizeof(a);
	if (getsockname(fd, &a.any, &bytes))
		return -errno;
	*ret_port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- answers --------------------------------------------------------------------------------- */

/* Headers that each answer has. Nothing is worth keeping a connection for. */
static void put_headers(struct MHD_Response *response, const char *type)
{
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
				   const char *text, const char *header, const char *value)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	put_headers(response, TEXT_TYPE);
	if (header)
		MHD_add_response_header(response, header, value);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_probe(struct MHD_Connection *connection, void *ctx,
				    bool (*probe)(void *ctx, char *why, size_t why_bytes))
{
	char why[WHY_BYTES] = "", text[WHY_BYTES + 2];

	if (probe(ctx, why, sizeof(why)))
		return answer_text(connection, MHD_HTTP_OK, "ok\n", NULL, NULL);
	snprintf(text, sizeof(text), "%s\n", why);
	return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, text, NULL, NULL);
}

/* A page, and whose count of pages it is in. */
struct page {
	struct http *h;
	char text[];
};

static void free_page(void *ctx)
{
	struct page *page = ctx;

	page->h->pages--;
	free(page);
}

/* 0 or negative errno. */
static int make_page(struct http *h)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	struct page *page;
	FILE *out = open_memstream(&text, &bytes);
	int err;

	if (!out)
		return -errno;
	err = h->ops.metrics(h->ops.ctx, out);
	if (fclose(out) && !err)
		err = -errno;
	if (err)
		return err;
	page = malloc(sizeof(*page) + bytes);
	if (!page)
		return -ENOMEM;
	page->h = h;
	memcpy(page->text, text, bytes);
	h->pages++;
	h->page = MHD_create_response_from_buffer_with_free_callback_cls(bytes, page->text,
									 free_page, page);
	if (!h->page) {
		free_page(page);
		return -ENOMEM;
	}
	put_headers(h->page, METRICS_TYPE);
	h->page_ns = now_ns();
	return 0;
}

static enum MHD_Result answer_metrics(struct http *h, struct MHD_Connection *connection)
{
	int err = 0;

	if (h->page && now_ns() - h->page_ns >= HTTP_FRESH_NS) {
		/* Who still reads it holds it. */
		MHD_destroy_response(h->page);
		h->page = NULL;
	}
	if (!h->page && h->pages >= HTTP_PAGES)
		return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "too many clients read slowly\n", MHD_HTTP_HEADER_RETRY_AFTER,
				   "5");
	if (!h->page)
		err = make_page(h);
	if (err)
		return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				   "the page could not be made\n", NULL, NULL);
	return MHD_queue_response(connection, MHD_HTTP_OK, h->page);
}

/* Answers at the first call, with the headers: a body is not waited for. */
static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **request)
{
	struct http *h = ctx;

	(void)version;
	(void)upload;
	(void)upload_bytes;
	(void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "only GET and HEAD are known here\n", MHD_HTTP_HEADER_ALLOW,
				   "GET, HEAD");
	if (!strcmp(url, "/metrics"))
		return answer_metrics(h, connection);
	if (!strcmp(url, "/healthz"))
		return answer_probe(connection, h->ops.ctx, h->ops.healthy);
	if (!strcmp(url, "/readyz"))
		return answer_probe(connection, h->ops.ctx, h->ops.ready);
	return answer_text(connection, MHD_HTTP_NOT_FOUND,
			   "here are /metrics, /healthz and /readyz\n", NULL, NULL);
}

/* Paths are taken as they are written: %00 would end one. */
static size_t as_written(void *ctx, struct MHD_Connection *connection, char *text)
{
	(void)ctx;
	(void)connection;
	return strlen(text);
}

/* --- the thread ------------------------------------------------------------------------------ */

static void meet_guest(void *ctx, struct MHD_Connection *connection, void **mine,
		       enum MHD_ConnectionNotificationCode what)
{
	struct http *h = ctx;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*mine)
			((struct guest *)*mine)->used = false;
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	for (size_t i = 0; info && i < HTTP_CONNECTIONS; i++) {
		if (h->guests[i].used)
			continue;
		h->guests[i] =
			(struct guest){.fd = info->connect_fd, .since_ns = now_ns(), .used = true};
		*mine = &h->guests[i];
		return;
	}
}

/* libmicrohttpd's own time-out starts anew with each byte that moves. */
static void send_away(struct http *h)
{
	uint64_t now = now_ns();

	for (size_t i = 0; i < HTTP_CONNECTIONS; i++)
		if (h->guests[i].used && now - h->guests[i].since_ns > HTTP_LIFE_NS)
			shutdown(h->guests[i].fd, SHUT_RDWR);
}

static void *serve(void *ctx)
{
	struct http *h = ctx;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {{.fd = h->stop, .events = POLLIN},
			       {.fd = info->epoll_fd, .events = POLLIN}};

	while (!fds[0].revents) {
		MHD_UNSIGNED_LONG_LONG wait_ms = LOOK_MS;

		if (MHD_get_timeout(h->daemon, &wait_ms) != MHD_YES || wait_ms > LOOK_MS)
			wait_ms = LOOK_MS;
		if (poll(fds, 2, (int)wait_ms) < 0)
			fds[0].revents = 0;
		MHD_run(h->daemon);
		send_away(h);
	}
	return NULL;
}

/* Signals are for the recorder's own thread. */
static int start_thread(struct http *h)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&h->thread, NULL, serve, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	h->running = !err;
	return -err;
}

int http_new(const char *listen, const struct http_ops *ops, char *why, size_t why_bytes,
	     struct http **ret_http)
{
	struct http *h = calloc(1, sizeof(*h));
	_cleanup_close_ int fd = -1;
	int err;

	if (!h) {
		snprintf(why, why_bytes, "out of memory");
		return -ENOMEM;
	}
	h->ops = *ops;
	h->stop = eventfd(0, EFD_CLOEXEC);
	err = h->stop < 0 ? -errno : open_listen(listen, &fd, &h->port);
	if (err)
		goto out;
	h->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, answer, h, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)HTTP_CONNECTIONS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned int)HTTP_CONNECTIONS_ONE,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)HTTP_TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, meet_guest, h, MHD_OPTION_UNESCAPE_CALLBACK,
		as_written, NULL, MHD_OPTION_END);
	if (!h->daemon) {
		err = -ENOMEM;
		goto out;
	}
	take_fd(&fd);
	err = start_thread(h);
out:
	if (err) {
		explain(listen, err, why, why_bytes);
		http_free(h);
		return err;
	}
	*ret_http = h;
	return 0;
}

unsigned int http_port(const struct http *h)
{
	return h->port;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	if (h->running) {
		eventfd_write(h->stop, 1);
		pthread_join(h->thread, NULL);
	}
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	if (h->page)
		MHD_destroy_response(h->page);
	if (h->stop >= 0)
		close(h->stop);
	free(h);
}

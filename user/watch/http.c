/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/http.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "watch/http_private.h"

#define WHY_BYTES    256
#define TEXT_TYPE    "text/plain; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

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
	err = h->ops.metrics(h->ops.ctx, &h->counts, out);
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
	h->page_ns = clock_now_ns();
	return 0;
}

static enum MHD_Result answer_metrics(struct http *h, struct MHD_Connection *connection,
				      struct guest *guest)
{
	int err = 0;

	if (http_lacks_room(h)) /* he was not seen to ask for a page */
		return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "too many clients read slowly\n", MHD_HTTP_HEADER_RETRY_AFTER,
				   "1");
	if (!h->page)
		err = make_page(h);
	if (!err && guest)
		guests_scraped(&h->guests, guest, clock_now_ns());
	if (err)
		return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				   "the page could not be made\n", NULL, NULL);
	return MHD_queue_response(connection, MHD_HTTP_OK, h->page);
}

/* NULL where libmicrohttpd has no memory of it. */
static struct guest *guest_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Answers at the first call, with the headers: a body is not waited for. */
static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **request)
{
	struct http *h = ctx;
	struct guest *guest = guest_of(connection);

	(void)version;
	(void)upload;
	(void)upload_bytes;
	(void)request;
	h->counts.answered++;
	if (guest)
		guest->answered = true;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "only GET and HEAD are known here\n", MHD_HTTP_HEADER_ALLOW,
				   "GET, HEAD");
	if (!strcmp(url, "/metrics"))
		return answer_metrics(h, connection, guest);
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

/* --- start and end --------------------------------------------------------------------------- */

/* Signals are for the recorder's own thread. */
static int start_thread(struct http *h)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&h->thread, NULL, http_serve, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	h->running = !err;
	return -err;
}

int http_new(const char *listen, const struct http_ops *ops, char *why, size_t why_bytes,
	     struct http **ret_http)
{
	struct http *h = calloc(1, sizeof(*h));
	int err;

	if (!h) {
		snprintf(why, why_bytes, "out of memory");
		return -ENOMEM;
	}
	h->ops = *ops;
	h->turns = (struct pace){.every_ns = SECOND_NS / HTTP_TURNS_S, .burst = HTTP_TURNS_BURST};
	h->accepts =
		(struct pace){.every_ns = SECOND_NS / HTTP_ACCEPTS_S, .burst = HTTP_ACCEPTS_BURST};
	h->answers =
		(struct pace){.every_ns = SECOND_NS / HTTP_ANSWERS_S, .burst = HTTP_ANSWERS_BURST};
	h->listen_fd = -1;
	h->stop = eventfd(0, EFD_CLOEXEC);
	err = h->stop < 0 ? -errno : http_open_listen(listen, &h->listen_fd, &h->port);
	if (err)
		goto out;
	h->daemon =
		MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, answer, h,
				 MHD_OPTION_CONNECTION_LIMIT, (unsigned int)GUESTS_MAX,
				 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)HTTP_TIMEOUT_S,
				 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY_BYTES,
				 MHD_OPTION_NOTIFY_CONNECTION, http_meet, h,
				 MHD_OPTION_UNESCAPE_CALLBACK, as_written, NULL, MHD_OPTION_END);
	err = h->daemon ? start_thread(h) : -ENOMEM;
out:
	if (err) {
		http_explain_listen(listen, err, why, why_bytes);
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

uint64_t http_cpu_ns(const struct http *h)
{
	return h ? clock_thread_cpu_ns(h->thread) : 0;
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
	http_close_door(h);
	if (h->page)
		MHD_destroy_response(h->page);
	if (h->stop >= 0)
		close(h->stop);
	free(h);
}

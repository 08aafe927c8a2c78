/* SPDX-License-Identifier: MIT */
/* An HTTP server that records requests and gives canned answers. */
#pragma once

#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "io/endpoint.h"

#define KEY "sk-test-0123456789"

#define KEEP "Connection: keep-alive\r\n"

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

static struct {
	int socket;
	pthread_t thread;
	char url[64];
	/*
	 * One for each request, then NULL. An empty one sends nothing. The connection is closed
	 * after an answer without KEEP.
	 */
	const char *const *answers;
	size_t more; /* bytes of blanks sent after an answer */
	bool hangs; /* answers nothing */
	int unread; /* number of requests with "Expect" to answer without reading their bodies */
	struct ofs_buf request; /* the last one */
	int served;
} server;

/* Returns the length of the whole request, or 0 as long as it is unknown. */
static inline size_t length_of_request(void)
{
	const char *text = (const char *)server.request.data, *end, *length;

	end = text ? memmem(text, server.request.len, "\r\n\r\n", 4) : NULL;
	if (!end)
		return 0;
	length = memmem(text, (size_t)(end - text), "Content-Length: ", 16);
	return (size_t)(end + 4 - text) + (length ? strtoul(length + 16, NULL, 10) : 0);
}

static inline void say(int peer, const char *text, size_t len)
{
	ssize_t n;

	while (len && (n = send(peer, text, len, MSG_NOSIGNAL)) > 0) {
		text += n;
		len -= (size_t)n;
	}
}

/* Lets a client send a body that waits for permission. Returns false to answer without it. */
static inline bool ask_for_body(int peer, bool *asked)
{
	if (*asked || !length_of_request() ||
	    !memmem(server.request.data, server.request.len, "Expect: 100-continue", 20))
		return true;
	*asked = true;
	if (server.unread-- > 0)
		return false;
	say(peer, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	return true;
}

static inline void take_request(int peer)
{
	char chunk[65536];
	bool asked = false;
	ssize_t n;

	server.request.len = 0;
	while (!length_of_request() || server.request.len < length_of_request()) {
		n = read(peer, chunk, sizeof(chunk));
		if (n <= 0)
			return;
		ofs_buf_append(&server.request, chunk, (size_t)n);
		/* Do not wait for the rest of a TLS handshake. */
		if (*server.request.data < 'A' || *server.request.data > 'Z' ||
		    !ask_for_body(peer, &asked))
			return;
	}
}

static inline void *serve(void *arg)
{
	static char blanks[65536];

	int peer = -1;

	memset(blanks, ' ', sizeof(blanks));
	for (size_t i = 0; server.hangs || server.answers[i]; i++) {
		bool kept = peer >= 0;

		if (!kept && (peer = accept(server.socket, NULL, NULL)) < 0)
			return NULL;
		take_request(peer);
		if (kept && !server.request.len) { /* the client has closed the connection */
			close(ofs_steal_fd(&peer));
			i--;
			continue;
		}
		/* Wait until the client goes away. */
		while (server.hangs && read(peer, blanks, 1) > 0)
			continue;
		if (!server.hangs)
			say(peer, server.answers[i], strlen(server.answers[i]));
		for (size_t left = server.more; left; left -= left < 65536 ? left : 65536)
			say(peer, blanks, left < 65536 ? left : 65536);
		server.served++;
		if (!server.hangs && strstr(server.answers[i], KEEP))
			continue;
		close(ofs_steal_fd(&peer));
		if (server.hangs)
			return NULL;
	}
	if (peer >= 0)
		close(peer);
	return NULL;
}

static inline void listen_on_any_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	server.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(server.socket, (struct sockaddr *)&address, len), 0);
	cr_assert_eq(listen(server.socket, 4), 0);
	cr_assert_eq(getsockname(server.socket, (struct sockaddr *)&address, &len), 0);
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u/v1", ntohs(address.sin_port));
}

static inline void start(const char *const *answers)
{
	server.answers = answers;
	listen_on_any_port();
	cr_assert_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static inline void stop(void)
{
	shutdown(server.socket, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.socket);
}

static inline bool request_has(const char *text)
{
	return server.request.len &&
	       memmem(server.request.data, server.request.len, text, strlen(text));
}

static inline void server_init(void)
{
	static const char *const proxies[] = { "http_proxy", "https_proxy", "HTTPS_PROXY",
					       "ALL_PROXY",  "all_proxy",   "NO_PROXY",
					       "no_proxy" };

	if (!ofs_endpoint_is_possible())
		cr_skip_test("there is no libcurl");
	/* The environment of the test run may set them. */
	for (size_t i = 0; i < sizeof(proxies) / sizeof(*proxies); i++)
		unsetenv(proxies[i]);
}

static inline void server_finish(void)
{
	ofs_buf_finish(&server.request);
}

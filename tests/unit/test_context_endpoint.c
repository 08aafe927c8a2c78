/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/util.h"
#include "context/summarizer/completion.h"
#include "context/summarizer/summarizer.h"
#include "io/endpoint.h"

#define KEY "sk-test-0123456789"

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define ANSWER OK "{\"choices\":[{\"message\":{\"content\":\" Goal:\\n- x \\n\"}}]}"

/* ---- a server that takes down what it is told and says what it is given to say */

static struct {
	int socket;
	pthread_t thread;
	char url[64];
	const char *const *answers; /* one a connection, NULL at the end */
	size_t more; /* blanks behind an answer */
	bool hangs; /* it answers nothing */
	struct ofs_buf request; /* the last one */
	int served;
} server;

/* Of the whole request; 0: it is not known yet. */
static size_t length_of_request(void)
{
	const char *text = (const char *)server.request.data, *end, *length;

	end = text ? memmem(text, server.request.len, "\r\n\r\n", 4) : NULL;
	length = end ? memmem(text, (size_t)(end - text), "Content-Length: ", 16) : NULL;
	return length ? (size_t)(end + 4 - text) + strtoul(length + 16, NULL, 10) : 0;
}

static void take_request(int peer)
{
	char chunk[65536];
	ssize_t n;

	server.request.len = 0;
	while (!length_of_request() || server.request.len < length_of_request()) {
		n = read(peer, chunk, sizeof(chunk));
		if (n <= 0)
			return;
		ofs_buf_append(&server.request, chunk, (size_t)n);
		/* Whoever begins with TLS gets an answer at once. */
		if (memcmp(server.request.data, "POST", OFS_MIN(server.request.len, 4)) != 0)
			return;
	}
}

static void say(int peer, const char *text, size_t len)
{
	ssize_t n;

	while (len && (n = send(peer, text, len, MSG_NOSIGNAL)) > 0) {
		text += n;
		len -= (size_t)n;
	}
}

static void *serve(void *arg)
{
	static char blanks[65536];

	memset(blanks, ' ', sizeof(blanks));
	for (size_t i = 0; server.hangs || server.answers[i]; i++) {
		int peer = accept(server.socket, NULL, NULL);

		if (peer < 0)
			return NULL;
		take_request(peer);
		/* Until the other side goes away. */
		while (server.hangs && read(peer, blanks, 1) > 0)
			continue;
		if (!server.hangs)
			say(peer, server.answers[i], strlen(server.answers[i]));
		for (size_t left = server.more; left; left -= left < 65536 ? left : 65536)
			say(peer, blanks, left < 65536 ? left : 65536);
		close(peer);
		server.served++;
		if (server.hangs)
			return NULL;
	}
	return NULL;
}

static void listen_on_any_port(void)
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

static void start(const char *const *answers)
{
	server.answers = answers;
	listen_on_any_port();
	cr_assert_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void stop(void)
{
	shutdown(server.socket, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.socket);
}

/* ---- the other side */

static struct ofs_buf summary;
static struct ofs_error err;

static void init(void)
{
	if (!ofs_endpoint_is_possible())
		cr_skip_test("there is no libcurl");
	/* Whoever runs the tests may have one. */
	unsetenv("http_proxy");
	unsetenv("https_proxy");
	unsetenv("ALL_PROXY");
	unsetenv("all_proxy");
}

static void finish(void)
{
	ofs_buf_finish(&summary);
	ofs_buf_finish(&server.request);
}

TestSuite(context_endpoint, .init = init, .fini = finish);

static int ask_at(const char *url, const char *key)
{
	static const char messages[] =
		"[{\"role\":\"user\",\"content\":\"he said \\\"hi\\\" \xc3\xa9\"}]";
	const struct ofs_summarizer s = {
		.url = url, .key = key, .model = "m-1", .timeout_s = 60, .max_tokens = 77
	};

	memset(&err, 0, sizeof(err));
	return ofs_summarizer_run(&s, messages, strlen(messages), &err, &summary);
}

/* Of a server that says this once. */
static int ask_once(const char *answer)
{
	const char *answers[] = { answer, NULL };
	int r;

	start(answers);
	r = ask_at(server.url, KEY);
	stop();
	cr_expect_eq(server.served, 1);
	return r;
}

static void expect_summary(const char *expected)
{
	cr_expect_eq(summary.len, strlen(expected));
	cr_expect_eq(memcmp(summary.data, expected, summary.len), 0);
}

static void expect_failure(int r, int code, const char *words)
{
	cr_expect_eq(r, -code, "%d: %s", r, err.text);
	cr_expect_not_null(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
	cr_expect_null(strstr(err.text, KEY), "%s", err.text);
	cr_expect_null(strchr(err.text, '\n'));
	cr_expect_null(summary.data);
}

static bool request_has(const char *text)
{
	return server.request.len &&
	       memmem(server.request.data, server.request.len, text, strlen(text));
}

Test(context_endpoint, a_summary)
{
	cr_assert_eq(ask_once(ANSWER), 0, "%s", err.text);
	expect_summary("Goal:\n- x");
	cr_expect(request_has("POST /v1/chat/completions HTTP/1.1\r\n"));
	cr_expect(request_has("\r\nAuthorization: Bearer " KEY "\r\n"));
	cr_expect(request_has("\r\nContent-Type: application/json\r\n"));
	cr_expect(request_has(
		"{\"model\":\"m-1\",\"messages\":[{\"role\":\"system\",\"content\":\"You "));
	cr_expect(request_has("at most 77 tokens"));
	cr_expect(request_has(
		"[{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"he said \\\\\\\"hi\\\\\\\" "
		"\xc3\xa9\\\"}]"));
	cr_expect(request_has("\"temperature\":0,\"max_tokens\":308}"));
}

Test(context_endpoint, without_a_key)
{
	static const char *const answers[] = { ANSWER, NULL };

	start(answers);
	cr_assert_eq(ask_at(server.url, NULL), 0, "%s", err.text);
	stop();
	cr_expect_not(request_has("Authorization"));
}

Test(context_endpoint, the_name_of_the_call_goes_behind_any_base)
{
	static const char *const answers[] = { ANSWER, ANSWER, ANSWER, ANSWER, NULL };
	static const struct {
		const char *base;
		const char *asked;
	} cases[] = {
		{ "", "POST /chat/completions HTTP" },
		{ "/a/b//", "POST /a/b/chat/completions HTTP" },
		{ "/v1/chat/completions", "POST /v1/chat/completions HTTP" },
		{ "/v1?api-version=7#x", "POST /v1/chat/completions?api-version=7 HTTP" },
	};
	char url[128];

	start(answers);
	*strrchr(server.url, '/') = '\0';
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(url, sizeof(url), "%s%s", server.url, cases[i].base);
		cr_expect_eq(ask_at(url, KEY), 0, "%s", err.text);
		cr_expect(request_has(cases[i].asked), "%s", cases[i].base);
		ofs_buf_finish(&summary);
	}
	stop();
}

Test(context_endpoint, large_requests)
{
	static const char *const answers[] = { ANSWER, NULL };
	struct ofs_summarizer s = { .model = "m", .timeout_s = 60 };
	size_t len = (size_t)8 << 20;
	char *messages = malloc(len);

	memset(messages, 'a', len);
	start(answers);
	s.url = server.url;
	cr_assert_eq(ofs_summarizer_run(&s, messages, len, &err, &summary), 0, "%s", err.text);
	stop();
	cr_expect_gt(server.request.len, len);
	cr_expect_not(request_has("Expect"));
	free(messages);
}

Test(context_endpoint, messages_that_are_not_utf8_are_not_sent)
{
	const struct ofs_summarizer s = { .url = "http://127.0.0.1:1", .model = "m" };

	expect_failure(ofs_summarizer_run(&s, "[\"\xff\"]", 5, &err, &summary), EINVAL,
		       "not UTF-8");
}

Test(context_endpoint, a_model_that_wants_another_form_gets_it)
{
	static const char *const answers[] = {
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
		"{\"error\":{\"message\":\"no\",\"param\":\"max_tokens\"}}",
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
		"{\"error\":{\"message\":\"no\",\"param\":\"temperature\"}}",
		ANSWER, NULL
	};

	start(answers);
	cr_assert_eq(ask_at(server.url, KEY), 0, "%s", err.text);
	stop();
	expect_summary("Goal:\n- x");
	cr_expect_eq(server.served, 3);
	cr_expect(request_has(",\"max_completion_tokens\":308}"));
	cr_expect_not(request_has("temperature"));
}

/* ---- refusals */

Test(context_endpoint, a_refusal_is_told_without_the_key)
{
	expect_failure(ask_once("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n"
				"{\"error\":{\"message\":\"Incorrect\\n API key: " KEY ", " KEY
				".\\u001b[2J\"}}"),
		       EREMOTEIO, "refuses (HTTP status 401): Incorrect^J API key: [key], [key].");
	cr_expect_eq(strncmp(err.text, "the endpoint http://127.0.0.1:", 30), 0);
	cr_expect_null(strstr(err.text, "/v1"), "%s", err.text);
}

Test(context_endpoint, one_that_is_long_is_cut)
{
	static char answer[5000] = "HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n";
	size_t len = strlen(answer);

	memset(answer + len, 'x', sizeof(answer) - len - 1);
	expect_failure(ask_once(answer), EREMOTEIO, "refuses (HTTP status 500): xxx");
	cr_expect_lt(strlen(err.text), 400);
}

Test(context_endpoint, a_key_that_is_cut_in_two_is_not_shown_either)
{
	static char answer[1000] = "HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n";
	size_t len = strlen(answer);

	memset(answer + len, 'x', 230);
	memcpy(answer + len + 230, KEY, sizeof(KEY));
	expect_failure(ask_once(answer), EREMOTEIO, "xxx[key]");
	cr_expect_null(strstr(err.text, "sk-"), "%s", err.text);
}

Test(context_endpoint, one_without_a_word)
{
	expect_failure(ask_once("HTTP/1.1 503 No\r\nConnection: close\r\n\r\n"), EREMOTEIO,
		       "refuses (HTTP status 503)");
}

Test(context_endpoint, who_gave_no_key_is_told_so)
{
	static const char *const answers[] = { "HTTP/1.1 401 No\r\nConnection: close\r\n\r\n",
					       NULL };

	start(answers);
	expect_failure(ask_at(server.url, NULL), EREMOTEIO, "401), and no key was given");
	stop();
}

Test(context_endpoint, redirects_are_not_followed)
{
	expect_failure(ask_once("HTTP/1.1 307 Elsewhere\r\nLocation: https://other.invalid/?k=" KEY
				"\r\nConnection: close\r\n\r\n"),
		       EREMOTEIO,
		       "is not followed; give the URL itself: https://other.invalid/?k=[key]");
}

Test(context_endpoint, other_kinds_of_success_are_none)
{
	expect_failure(ask_once("HTTP/1.1 204 Nothing\r\nConnection: close\r\n\r\n"), EREMOTEIO,
		       "HTTP status 204");
}

/* ---- answers that are none */

Test(context_endpoint, malformed)
{
	expect_failure(ask_once(OK "{\"choices\": [" KEY), EBADMSG, "does not answer in JSON");
}

Test(context_endpoint, something_else)
{
	expect_failure(ask_once(OK "{\"object\": \"list\"}"), EBADMSG, "with a completion");
}

Test(context_endpoint, empty_text)
{
	expect_failure(ask_once(OK "{\"choices\":[{\"message\":{\"content\":\" \"}}]}"), EBADMSG,
		       "the endpoint gave no text");
}

Test(context_endpoint, a_text_with_a_nul)
{
	expect_failure(ask_once(OK "{\"choices\":[{\"message\":{\"content\":\"a\\u0000\"}}]}"),
		       EBADMSG, "a NUL");
}

Test(context_endpoint, too_large)
{
	server.more = (size_t)64 << 20;
	expect_failure(ask_once(OK "{"), EFBIG, "more than 4 MiB");
}

Test(context_endpoint, cut_off_by_the_network)
{
	expect_failure(ask_once("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"choices\":"),
		       ECONNREFUSED, "cannot be asked: ");
}

Test(context_endpoint, no_http_at_all)
{
	expect_failure(ask_once("\x16\x03\x01 hello\r\n\r\n"), ECONNREFUSED, "cannot be asked: ");
}

/* ---- who does not answer */

Test(context_endpoint, a_server_that_hangs)
{
	struct ofs_summarizer s = { .key = KEY, .model = "m", .timeout_s = 1 };

	server.hangs = true;
	start(NULL);
	s.url = server.url;
	expect_failure(ofs_summarizer_run(&s, "[]", 2, &err, &summary), ETIMEDOUT,
		       "did not answer within 1 s");
	stop();
}

Test(context_endpoint, a_server_that_is_not_there)
{
	listen_on_any_port();
	close(server.socket);
	expect_failure(ask_at(server.url, KEY), ECONNREFUSED, "cannot be asked: ");
}

Test(context_endpoint, a_server_without_tls_where_there_should_be)
{
	static const char *const answers[] = { ANSWER, NULL };
	char url[80];

	start(answers);
	snprintf(url, sizeof(url), "https%s", strchr(server.url, ':'));
	expect_failure(ask_at(url, KEY), ECONNREFUSED, "cannot be asked: ");
	stop();
	cr_expect_not(request_has("Bearer"));
}

Test(context_endpoint, no_proxy_comes_between_on_this_machine)
{
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	cr_expect_eq(ask_once(ANSWER), 0, "%s", err.text);
}

/* ---- what is not even tried */

Test(context_endpoint, urls_that_cannot_be)
{
	static const struct {
		const char *url;
		const char *why;
	} cases[] = {
		{ "", "like https://host/v1" },
		{ "host/v1", "like https://host/v1" },
		{ "https://", "like https://host/v1" },
		{ "https://a b/" KEY, "like https://host/v1" },
		{ "file:///etc/passwd", "" },
		{ "ftp://127.0.0.1/", "not by ftp" },
		{ "gopher://127.0.0.1/", "not by gopher" },
		{ "http://example.com/v1", "http://example.com is not on this machine" },
		{ "http://127.0.0.1.example.com/v1", "not on this machine" },
		{ "http://localhost.example.com/v1", "not on this machine" },
		{ "http://128.0.0.1/v1", "not on this machine" },
		{ "http://[::2]/v1", "not on this machine" },
		{ "http://0.0.0.0/v1", "not on this machine" },
		{ "https://user@127.0.0.1/", "must not hold a user" },
		{ "https://" KEY ":" KEY "@127.0.0.1/", "must not hold a user" },
		{ "http://127.0.0.1@example.com/", "must not hold a user" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect_failure(ask_at(cases[i].url, KEY), EINVAL, cases[i].why);
}

Test(context_endpoint, keys_that_cannot_be)
{
	static const char *const keys[] = { "", "a b", "a\nX-Other: b", "a\r", "\xc3\xa9" };

	/* An empty one is refused as well: a header without a value says nothing. */
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		expect_failure(ask_at("http://127.0.0.1:1", keys[i]), EINVAL, "key");
}

Test(context_endpoint, this_machine_has_several_names)
{
	static const char *const answers[] = { ANSWER, ANSWER, NULL };
	static const char *const hosts[] = { "localhost", "LOCALHOST" };
	static const char *const others[] = { "http://[::1]:1/v1", "http://127.1.2.3:1/v1" };
	char url[80];

	start(answers);
	for (size_t i = 0; i < 2; i++) {
		snprintf(url, sizeof(url), "http://%s%s", hosts[i], strrchr(server.url, ':'));
		cr_expect_eq(ask_at(url, KEY), 0, "%s", err.text);
		ofs_buf_finish(&summary);
	}
	stop();
	/* Nobody is there, but it is tried. */
	for (size_t i = 0; i < 2; i++)
		expect_failure(ask_at(others[i], KEY), ECONNREFUSED, "cannot be asked");
}

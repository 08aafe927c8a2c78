/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/util.h"
#include "context/summarizer/completion.h"
#include "context/summarizer/summarizer.h"
#include "test_server_fixture.h"

#define ANSWER OK "{\"choices\":[{\"message\":{\"content\":\" Goal:\\n- x \\n\"}}]}"

/* ---- the server */

static struct ofs_buf summary;
static struct ofs_error err;

static void finish(void)
{
	ofs_buf_finish(&summary);
	server_finish();
}

TestSuite(context_endpoint, .init = server_init, .fini = finish);

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

/* Asks a server that gives this answer once. */
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

/* ---- malformed answers */

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
		       "the endpoint returned no text");
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
		       ECONNREFUSED, "cannot be reached: ");
}

Test(context_endpoint, no_http_at_all)
{
	expect_failure(ask_once("\x16\x03\x01 hello\r\n\r\n"), ECONNREFUSED, "cannot be reached: ");
}

/* ---- servers that do not answer */

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
	expect_failure(ask_at(server.url, KEY), ECONNREFUSED, "cannot be reached: ");
}

Test(context_endpoint, a_server_without_tls_where_there_should_be)
{
	static const char *const answers[] = { ANSWER, NULL };
	char url[80];

	start(answers);
	snprintf(url, sizeof(url), "https%s", strchr(server.url, ':'));
	expect_failure(ask_at(url, KEY), ECONNREFUSED, "cannot be reached: ");
	stop();
	cr_expect_not(request_has("Bearer"));
}

Test(context_endpoint, no_proxy_comes_between_on_this_machine)
{
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	cr_expect_eq(ask_once(ANSWER), 0, "%s", err.text);
}

/* ---- requests that are not sent */

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
		{ "ftp://127.0.0.1/", "not ftp" },
		{ "gopher://127.0.0.1/", "not gopher" },
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

	/* An empty key is refused, too, since an empty header would say nothing. */
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
	/* Nothing listens there, but the connection is tried. */
	for (size_t i = 0; i < 2; i++)
		expect_failure(ask_at(others[i], KEY), ECONNREFUSED, "cannot be reached");
}

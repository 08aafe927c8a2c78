/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "embed/embed.h"
#include "test_server_fixture.h"

#define VECTOR(i, numbers) "{\"object\":\"embedding\",\"index\":" #i ",\"embedding\":" numbers "}"
#define DATA(vectors) OK "{\"object\":\"list\",\"data\":[" vectors "],\"model\":\"m\"}"
#define ONE DATA(VECTOR(0, "[0.25, -0.5, 0]"))

static struct ofs_embed_settings settings;
static struct ofs_embedder *embedder;
static struct ofs_buf out;
static struct ofs_error err;

static void init(void)
{
	server_init();
	settings = (struct ofs_embed_settings){
		.model = "m-1",
		.key = KEY,
		.timeout = 60 * OFS_NS_PER_S,
	};
}

static void finish(void)
{
	ofs_embedder_close(embedder);
	ofs_buf_finish(&out);
	server_finish();
}

TestSuite(embed_endpoint, .init = init, .fini = finish);

static int open_embedder(const char *url)
{
	settings.url = url;
	ofs_embedder_close(embedder);
	embedder = NULL;
	return ofs_embedder_open(&settings, &err, &embedder);
}

static int embed(const char *const texts[], size_t n)
{
	struct ofs_embed_text list[200];

	for (size_t i = 0; i < n; i++)
		list[i] = (struct ofs_embed_text){ texts[i], strlen(texts[i]) };
	return ofs_embed(embedder, list, n, 0, &out, &err);
}

/* Embeds texts at a server that gives these answers. */
static int embed_at(const char *const *answers, const char *const texts[], size_t n)
{
	int r;

	start(answers);
	cr_assert_eq(open_embedder(server.url), 0, "%s", err.text);
	r = embed(texts, n);
	stop();
	return r;
}

static int embed_one(const char *answer)
{
	static const char *const texts[] = { "hello" };
	const char *answers[] = { answer, NULL };

	return embed_at(answers, texts, 1);
}

static void expect_failure(int r, int code, const char *words)
{
	cr_expect_eq(r, -code, "%d: %s", r, err.text);
	cr_expect_not_null(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
	cr_expect_null(strstr(err.text, KEY), "%s", err.text);
	cr_expect_null(strchr(err.text, '\n'));
	cr_expect_eq(out.len, 0);
}

Test(embed_endpoint, a_vector)
{
	static const int8_t expected[] = { 64, -127, 0 };

	cr_assert_eq(embed_one(ONE), 0, "%s", err.text);
	cr_assert_eq(out.len, 3);
	cr_expect_arr_eq(out.data, expected, 3);
	cr_expect_eq(ofs_embedder_dims(embedder), 3);
	cr_expect_str_eq(ofs_embedder_id(embedder), "endpoint:m-1");
	cr_expect_not(ofs_embedder_is_local(embedder));
	cr_expect(request_has("POST /v1/embeddings HTTP/1.1\r\n"));
	cr_expect(request_has("\r\nAuthorization: Bearer " KEY "\r\n"));
	cr_expect(request_has("{\"model\":\"m-1\",\"input\":[\"hello\"]}"));
}

Test(embed_endpoint, in_any_order)
{
	static const char *const texts[] = { "a", "b", "c" };
	static const char *const answers[] = {
		DATA(VECTOR(2, "[0,0,3]") "," VECTOR(0, "[1,0,0]") "," VECTOR(1, "[0,2,0]")), NULL
	};
	static const int8_t expected[] = { 127, 0, 0, 0, 127, 0, 0, 0, 127 };

	cr_assert_eq(embed_at(answers, texts, 3), 0, "%s", err.text);
	cr_assert_eq(out.len, 9);
	cr_expect_arr_eq(out.data, expected, 9);
}

Test(embed_endpoint, blank_texts_are_not_sent)
{
	static const char *const texts[] = { "", "a", " \n\t", "" };
	static const char *const answers[] = { ONE, NULL };
	static const int8_t expected[12] = { 0, 0, 0, 64, -127, 0 };

	cr_assert_eq(embed_at(answers, texts, 4), 0, "%s", err.text);
	cr_assert_eq(out.len, 12);
	cr_expect_arr_eq(out.data, expected, 12);
	cr_expect(request_has("\"input\":[\"a\"]"));
	/* Blank texts alone need no server: it has stopped. */
	out.len = 0;
	cr_expect_eq(embed(texts, 1), 0, "%s", err.text);
	cr_expect_eq(out.len, 3);
}

Test(embed_endpoint, texts_are_made_utf8)
{
	static const char text[] = "a\0b\xff\xc3\xa9";
	static const char *const answers[] = { ONE, NULL };
	const struct ofs_embed_text list[] = { { text, sizeof(text) - 1 } };

	start(answers);
	cr_assert_eq(open_embedder(server.url), 0);
	cr_expect_eq(ofs_embed(embedder, list, 1, 0, &out, &err), 0, "%s", err.text);
	stop();
	cr_expect(request_has("[\"a b\xef\xbf\xbd\xc3\xa9\"]"));
}

Test(embed_endpoint, of_a_long_text_the_start_is_sent)
{
	static char text[40000];
	const char *texts[] = { text };
	static const char *const answers[] = { ONE, NULL };

	/* 16384 bytes end within a character. */
	text[0] = 'a';
	for (size_t i = 1; i + 1 < sizeof(text) - 1; i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	cr_expect_eq(embed_at(answers, texts, 1), 0, "%s", err.text);
	cr_expect(request_has("\xa9\"]}"));
	cr_expect_lt(server.request.len, 17000);
	cr_expect_gt(server.request.len, 16383);
}

/* ---- several requests */

static char *answer_with(size_t n)
{
	struct ofs_buf answer = OFS_BUF_INIT;

	ofs_buf_append_str(&answer, OK "{\"data\":[");
	for (size_t i = 0; i < n; i++)
		ofs_buf_printf(&answer, "%s{\"index\":%zu,\"embedding\":[%zu,1]}", i ? "," : "", i,
			       i + 1);
	ofs_buf_append_str(&answer, "]}");
	return ofs_buf_steal_str(&answer);
}

Test(embed_endpoint, no_more_than_64_texts_a_request)
{
	const char *answers[] = { answer_with(64), answer_with(64), answer_with(2), NULL };
	const char *texts[130];

	for (size_t i = 0; i < 130; i++)
		texts[i] = "x";
	cr_expect_eq(embed_at(answers, texts, 130), 0, "%s", err.text);
	cr_expect_eq(server.served, 3);
	cr_assert_eq(out.len, 260);
	/* The last vectors of the second and third request. */
	cr_expect_eq((int8_t)out.data[2 * 127 + 1], 2);
	cr_expect_eq((int8_t)out.data[2 * 129 + 1], 64);
	for (size_t i = 0; i < 3; i++)
		free((char *)(uintptr_t)answers[i]);
}

Test(embed_endpoint, no_more_than_256_kib_a_request)
{
	static char text[16384 + 1];
	const char *answers[] = { answer_with(16), answer_with(4), NULL };
	const char *texts[20];

	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i < 20; i++)
		texts[i] = text;
	cr_expect_eq(embed_at(answers, texts, 20), 0, "%s", err.text);
	cr_expect_eq(server.served, 2);
	for (size_t i = 0; i < 2; i++)
		free((char *)(uintptr_t)answers[i]);
}

Test(embed_endpoint, a_failure_leaves_nothing_behind)
{
	char *first = answer_with(64);
	const char *answers[] = { first, "HTTP/1.1 500 No\r\nConnection: close\r\n\r\n", NULL };
	const char *texts[65];

	for (size_t i = 0; i < 65; i++)
		texts[i] = "x";
	expect_failure(embed_at(answers, texts, 65), EREMOTEIO, "refuses (HTTP status 500)");
	free(first);
}

/* ---- malformed answers */

Test(embed_endpoint, lengths_stay_as_they_are)
{
	static const char *const answers[] = { ONE, DATA(VECTOR(0, "[1,2]")), NULL };
	static const char *const texts[] = { "a" };

	start(answers);
	cr_assert_eq(open_embedder(server.url), 0);
	cr_expect_eq(embed(texts, 1), 0, "%s", err.text);
	out.len = 0;
	expect_failure(embed(texts, 1), EBADMSG,
		       "answers with a vector of 2 numbers, not of 3 as before");
	cr_expect_eq(ofs_embedder_dims(embedder), 3);
	stop();
}

Test(embed_endpoint, a_length_that_is_known)
{
	settings.dims = 3;
	cr_expect_eq(embed_one(ONE), 0, "%s", err.text);
	out.len = 0;
	settings.dims = 768;
	expect_failure(embed_one(ONE), EBADMSG, "of 3 numbers, not of 768 as before");
	settings.dims = 4097;
	expect_failure(open_embedder("http://127.0.0.1:1"), EINVAL, "at most 4096 numbers");
}

Test(embed_endpoint, answers_that_are_none)
{
	static const struct {
		const char *answer;
		const char *why;
	} cases[] = {
		{ OK "{\"data\": [" KEY, "does not answer in JSON" },
		{ OK "[]", "does not answer with embeddings: 'data' is missing" },
		{ OK "{\"embedding\":[1,2]}", "'data' is missing" },
		{ DATA(""), "answers with 0 vectors for 1 texts" },
		{ DATA(VECTOR(0, "[1]") "," VECTOR(1, "[1]")),
		  "answers with 2 vectors for 1 texts" },
		{ DATA(VECTOR(1, "[1]")), "cannot be matched to their texts" },
		{ DATA(VECTOR(-1, "[1]")), "cannot be matched to their texts" },
		{ DATA(VECTOR(0.0, "[1]")), "cannot be matched to their texts" },
		{ DATA("{\"embedding\":[1]}"), "cannot be matched to their texts" },
		{ DATA("7"), "cannot be matched to their texts" },
		{ DATA(VECTOR(0, "\"AACAPw==\"")), "answers with something that is not a vector" },
		{ DATA(VECTOR(0, "[]")), "answers with a vector of 0 numbers, not of 1 to 4096" },
		{ DATA(VECTOR(0, "[null]")), "a vector that is not all numbers" },
		{ DATA(VECTOR(0, "[\"1\"]")), "a vector that is not all numbers" },
		{ DATA(VECTOR(0, "[NaN]")), "does not answer in JSON" },
		{ DATA(VECTOR(0, "[1e39]")), "a vector that is not all numbers" },
		{ DATA(VECTOR(0, "[1e999]")), "does not answer in JSON" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		expect_failure(embed_one(cases[i].answer), EBADMSG, cases[i].why);
		cr_expect_eq(strncmp(err.text, "the endpoint http://127.0.0.1:", 30), 0, "%s",
			     err.text);
	}
}

Test(embed_endpoint, one_index_twice)
{
	static const char *const texts[] = { "a", "b" };
	static const char *const answers[] = { DATA(VECTOR(0, "[1]") "," VECTOR(0, "[1]")), NULL };

	expect_failure(embed_at(answers, texts, 2), EBADMSG, "too large or repeated");
}

Test(embed_endpoint, lengths_that_differ_in_one_answer)
{
	static const char *const texts[] = { "a", "b" };
	static const char *const answers[] = { DATA(VECTOR(0, "[1]") "," VECTOR(1, "[1,2]")),
					       NULL };

	expect_failure(embed_at(answers, texts, 2), EBADMSG, "of 2 numbers, not of 1 as before");
}

Test(embed_endpoint, a_vector_that_is_too_long)
{
	struct ofs_buf answer = OFS_BUF_INIT;

	ofs_buf_append_str(&answer, OK "{\"data\":[{\"index\":0,\"embedding\":[0");
	for (size_t i = 0; i < 4096; i++)
		ofs_buf_append_str(&answer, ",1");
	ofs_buf_append_str(&answer, "]}]}");
	expect_failure(embed_one(ofs_buf_str(&answer)), EBADMSG,
		       "of 4097 numbers, not of 1 to 4096");
	ofs_buf_finish(&answer);
}

Test(embed_endpoint, too_large)
{
	server.more = (size_t)64 << 20;
	expect_failure(embed_one(OK "{"), EFBIG, "answers with more than 8 MiB");
}

Test(embed_endpoint, refusals)
{
	expect_failure(embed_one("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"
				 "{\"error\":{\"message\":\"no model " KEY "\"}}"),
		       EREMOTEIO, "refuses (HTTP status 404): no model [key]");
}

Test(embed_endpoint, redirects_are_not_followed)
{
	expect_failure(embed_one("HTTP/1.1 307 Elsewhere\r\nLocation: https://other.invalid/\r\n"
				 "Connection: close\r\n\r\n"),
		       EREMOTEIO, "is not followed; give the URL itself: https://other.invalid/");
}

/* ---- servers that do not answer */

static void expect_timeout(int64_t timeout, int64_t in, const char *words)
{
	const struct ofs_embed_text text = { "a", 1 };
	int64_t before = ofs_clock_monotonic();

	server.hangs = true;
	start(NULL);
	settings.timeout = timeout;
	cr_assert_eq(open_embedder(server.url), 0);
	expect_failure(ofs_embed(embedder, &text, 1, in ? before + in : 0, &out, &err), ETIMEDOUT,
		       words);
	cr_expect_lt(ofs_clock_monotonic() - before, 30 * OFS_NS_PER_S);
	stop();
}

Test(embed_endpoint, a_server_that_hangs)
{
	expect_timeout(OFS_NS_PER_S, 0, "did not answer within 1 s");
	expect_timeout(OFS_NS_PER_S / 4, 60 * OFS_NS_PER_S, "did not answer within 250 ms");
	expect_timeout(60 * OFS_NS_PER_S, OFS_NS_PER_S / 4, "did not answer within 2");
	expect_timeout(0, OFS_NS_PER_S / 4, "did not answer within 2");
	expect_timeout(0, 1, "did not answer within 1 ms");
}

Test(embed_endpoint, a_server_that_is_not_there)
{
	static const char *const texts[] = { "a" };

	listen_on_any_port();
	close(server.socket);
	cr_assert_eq(open_embedder(server.url), 0);
	expect_failure(embed(texts, 1), ECONNREFUSED, "cannot be reached: ");
}

/* ---- requests that are not sent */

Test(embed_endpoint, settings_that_cannot_be)
{
	static const struct {
		const char *model, *url, *key, *why;
	} cases[] = {
		{ "m", "http://example.com/v1", KEY,
		  "http://example.com is not on this machine, and without TLS anybody on the way "
		  "could read the text: use https://" },
		{ "m", "host", KEY, "like https://host/v1" },
		{ "m", "ftp://127.0.0.1/", KEY, "not ftp" },
		{ "m", "https://" KEY "@127.0.0.1/", KEY, "must not hold a user" },
		{ "m", "http://127.0.0.1:1", "a b", "the endpoint's key is empty" },
		{ "a\nb", "http://127.0.0.1:1", KEY, "not a line of UTF-8" },
		{ "\xff", "http://127.0.0.1:1", KEY, "not a line of UTF-8" },
		{ "", "http://127.0.0.1:1", KEY, "no model is named" },
		{ NULL, "http://127.0.0.1:1", KEY, "no model is named" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		settings.model = cases[i].model;
		settings.key = cases[i].key;
		expect_failure(open_embedder(cases[i].url), EINVAL, cases[i].why);
		cr_expect_null(embedder);
	}
}

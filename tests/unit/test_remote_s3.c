/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "remote/s3.h"
#include "scratch.h"
#include "test_server_fixture.h"

#define SECRET "hidden/secret"
#define TOKEN "hidden-token"

/* An answer after which the connection is closed, and one that refuses the request. */
#define ANSWER(status, headers) "HTTP/1.1 " status "\r\nConnection: close\r\n" headers "\r\n"
#define REFUSAL(status, code, message)                            \
	ANSWER(status, "Date: Fri, 27 Nov 2026 17:14:06 GMT\r\n") \
	"<Error><Code>" code "</Code><Message>" message "</Message></Error>"
#define MADE ANSWER("200 OK", "ETag: \"x\"\r\nContent-Length: 0\r\n")
#define SILENCE ""

static struct ofs_location location;
static struct ofs_s3_settings settings;
static struct ofs_s3 *s3;
static struct ofs_buf out;
static struct ofs_error err;

static void init(void)
{
	server_init();
	setenv("AWS_ACCESS_KEY_ID", "AKIA1", 1);
	setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1);
	setenv("AWS_SESSION_TOKEN", TOKEN, 1);
	unsetenv("AWS_REGION");
	unsetenv("AWS_DEFAULT_REGION");
	unsetenv("AWS_CA_BUNDLE");
	settings = (struct ofs_s3_settings){ .location = &location, .timeout = 60 * OFS_NS_PER_S };
}

static void finish(void)
{
	ofs_s3_close(s3);
	ofs_location_finish(&location);
	ofs_buf_finish(&out);
	server_finish();
}

TestSuite(remote_s3, .init = init, .fini = finish);

/* Opens a client of a service that gives these answers. */
static void open_s3(const char *const *answers)
{
	OFS_FREE char *text = NULL;

	start(answers);
	*strrchr(server.url, '/') = '\0';
	text = ofs_format("s3://b/p/q?endpoint=%s", server.url);
	cr_assert_eq(ofs_location_parse(text, &err, &location), 0, "%s", err.text);
	cr_assert_eq(ofs_s3_open(&settings, &err, &s3), 0, "%s", err.text);
}

static void close_s3(void)
{
	stop();
	ofs_s3_close(s3);
	s3 = NULL;
	ofs_location_finish(&location);
}

static int create(void)
{
	err.text[0] = '\0';
	return ofs_s3_create(s3, "wal/1", "abc", 3, &err);
}

static int get(void)
{
	err.text[0] = '\0';
	return ofs_s3_get(s3, "wal/1", 10, &out, &err);
}

static char range[8];

static int get_range(void)
{
	err.text[0] = '\0';
	return ofs_s3_get_range(s3, "wal/1", 5, 4, range, &err);
}

static int append(void *arg, const char *key, uint64_t size)
{
	ofs_buf_printf(&out, "%s=%llu ", key, (unsigned long long)size);
	return strcmp(key, "stop") == 0 ? 7 : 0;
}

static int list(void)
{
	err.text[0] = '\0';
	out.len = 0;
	return ofs_s3_list(s3, "", NULL, append, NULL, &err);
}

static int delete_two(void)
{
	static const char *const keys[] = { "a", "b/c" };

	err.text[0] = '\0';
	return ofs_s3_delete(s3, keys, 2, &err);
}

static int delete_one(void)
{
	static const char *const keys[] = { "a" };

	err.text[0] = '\0';
	return ofs_s3_delete(s3, keys, 1, &err);
}

/* Calls `fn` with one answer and expects this result, and in case of an error these words. */
static void expect(int (*fn)(void), const char *answer, int code, const char *words)
{
	const char *const answers[] = { answer, NULL };
	int r;

	open_s3(answers);
	r = fn();
	close_s3();
	cr_expect_eq(r, code, "%d: %s, to: %.60s", r, err.text, answer);
	if (r)
		cr_expect_not_null(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
	cr_expect_null(strstr(err.text, "hidden"), "%s", err.text);
	cr_expect_null(strchr(err.text, '\n'));
}

/* ---- creating */

Test(remote_s3, create)
{
	expect(create, MADE, 0, "");
	cr_expect(request_has("PUT /b/p/q/wal/1 HTTP/1.1\r\n"));
	cr_expect(request_has("\r\nif-none-match:*\r\n"));
	cr_expect(request_has("\r\nx-amz-content-sha256:"
			      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
			      "\r\n"));
	cr_expect(request_has("\r\nx-amz-security-token:" TOKEN "\r\n"));
	cr_expect(request_has("SignedHeaders=content-type;host;if-none-match;x-amz-content-sha256;"
			      "x-amz-date;x-amz-security-token,Signature="));
	cr_expect(request_has("\r\nContent-Length: 3\r\n"));
	cr_expect(request_has("\r\n\r\nabc"));
	cr_expect_not(request_has("Expect"));
	cr_expect_not(request_has(SECRET));
}

Test(remote_s3, outcomes_of_create)
{
	expect(create, REFUSAL("412 No", "PreconditionFailed", "m"), -EEXIST, "PreconditionFailed");
	expect(create, REFUSAL("409 No", "ConditionalRequestConflict", "m"), -EINPROGRESS,
	       "Conflict");
	expect(create, REFUSAL("500 No", "InternalError", "m"), -EINPROGRESS, "InternalError");
	expect(create, REFUSAL("503 No", "SlowDown", "m"), -EINPROGRESS, "SlowDown");
	expect(create, ANSWER("503 No", ""), -EINPROGRESS, "HTTP status 503");
	expect(create, SILENCE, -EINPROGRESS, "cannot be asked for PUT wal/1");
	expect(create, "HTTP/1.1 200 OK\r\nETag: x\r\nContent-Length: 9\r\n\r\nx", -EINPROGRESS,
	       "cannot be asked");
	expect(create, REFUSAL("403 No", "AccessDenied", "m " SECRET " " TOKEN "\n."), -EACCES,
	       "refuses PUT wal/1: AccessDenied: m [key] [key]^J.");
	expect(create, ANSWER("401 No", ""), -EACCES, "HTTP status 401");
	expect(create, REFUSAL("404 No", "NoSuchBucket", "m"), -EREMOTEIO, "NoSuchBucket");
	expect(create, REFUSAL("400 No", "EntityTooLarge", "m"), -EREMOTEIO, "EntityTooLarge");
	expect(create, REFUSAL("501 No", "NotImplemented", "m"), -EREMOTEIO, "NotImplemented");
	expect(create, REFUSAL("400 No", "BadDigest", "m"), -EINPROGRESS, "BadDigest");
	expect(create, ANSWER("304 Not Modified", ""), -EEXIST, "HTTP status 304");
	expect(create, OK "hello", -EREMOTEIO, "there is no ETag");
}

Test(remote_s3, buckets_that_are_elsewhere)
{
	expect(create, ANSWER("301 No", "x-amz-bucket-region: eu-1\r\nLocation: http://x/\r\n"),
	       -EREMOTEIO, "HTTP status 301 (the bucket is in the region eu-1: give region=eu-1)");
	expect(get,
	       ANSWER("400 No", "") "<Error><Code>AuthorizationHeaderMalformed</Code>"
				    "<Message>m</Message><Region>eu-2</Region></Error>",
	       -EREMOTEIO, "Malformed (the bucket is in the region eu-2: give region=eu-2): m");
	expect(create, ANSWER("308 No", "Location: https://other/\r\n"), -EREMOTEIO,
	       "HTTP status 308 (it leads to https://other/)");
	expect(create, REFUSAL("307 No", "TemporaryRedirect", "m"), -EINPROGRESS, "Temporary");
	expect(get, REFUSAL("307 No", "TemporaryRedirect", "m"), -EAGAIN, "Temporary");
}

/* The refusal would be lost if the body were already on its way. */
Test(remote_s3, large_bodies_wait_for_a_refusal)
{
	static const char *const answers[] = { REFUSAL("403 No", "RequestTimeTooSkewed", "m"), MADE,
					       NULL };
	size_t len = (size_t)8 << 20;
	OFS_FREE char *large = calloc(1, len);

	server.unread = 1;
	open_s3(answers);
	cr_expect_eq(ofs_s3_create(s3, "pack/1", large, len, &err), 0, "%s", err.text);
	cr_expect(request_has("\r\nx-amz-date:20261127T1714"));
	cr_expect_gt(server.request.len, len);
	stop();
	cr_expect_eq(server.served, 2);
}

Test(remote_s3, through_a_proxy)
{
	static const char *const answers[] = { MADE, ANSWER("407 No", ""), NULL };

	start(answers);
	*strrchr(server.url, '/') = '\0';
	setenv("http_proxy", server.url, 1);
	cr_assert_eq(ofs_location_parse("s3://b?endpoint=http://s3.invalid:81&insecure=1", &err,
					&location),
		     0);
	cr_assert_eq(ofs_s3_open(&settings, &err, &s3), 0);
	cr_expect_eq(create(), 0, "%s", err.text);
	cr_expect(request_has("PUT http://s3.invalid:81/b/wal/1 HTTP/1.1\r\n"));
	cr_expect(request_has("\r\nHost:s3.invalid:81\r\n"));
	cr_expect_eq(get(), -EREMOTEIO);
	cr_expect_not_null(strstr(err.text, "HTTP status 407"), "%s", err.text);
	stop();
}

Test(remote_s3, a_server_that_is_not_there)
{
	static const char *const none[] = { NULL };

	open_s3(none);
	stop();
	cr_expect_eq(create(), -EINPROGRESS);
	cr_expect_eq(get(), -EAGAIN);
	cr_expect_eq(delete_one(), -EAGAIN);
	cr_expect_eq(list(), -EAGAIN);
	cr_expect_eq(ofs_s3_requests(s3, OFS_S3_WRITES), 0);
}

Test(remote_s3, timeouts)
{
	static const char *const none[] = { NULL };

	settings.timeout = 200 * OFS_NS_PER_MS;
	server.hangs = true;
	open_s3(none);
	cr_expect_eq(create(), -EINPROGRESS);
	cr_expect_not_null(strstr(err.text, "does not answer PUT wal/1"), "%s", err.text);
	close_s3();
	open_s3(none);
	cr_expect_eq(get(), -EAGAIN);
	close_s3();
}

Test(remote_s3, canceling)
{
	static const char *const none[] = { NULL };
	static atomic_bool cancel = true;

	settings.cancel = &cancel;
	server.hangs = true;
	open_s3(none);
	cr_expect_eq(get(), -ECANCELED, "%s", err.text);
	cr_expect_eq(create(), -EINPROGRESS);
	close_s3();
}

/*
 * libcurl repeats a request if a kept connection breaks before the answer. The object that then
 * exists may be ours.
 */
Test(remote_s3, a_request_that_was_sent_twice)
{
	static const char *const answers[] = { "HTTP/1.1 200 OK\r\n" KEEP
					       "ETag: x\r\nContent-Length: 0\r\n\r\n",
					       SILENCE,
					       REFUSAL("412 No", "PreconditionFailed", "m"), NULL };

	open_s3(answers);
	cr_expect_eq(create(), 0, "%s", err.text);
	cr_expect_eq(create(), -EINPROGRESS);
	cr_expect_eq(ofs_s3_requests(s3, OFS_S3_WRITES), 3);
	stop();
	cr_expect_eq(server.served, 3);
}

Test(remote_s3, faults)
{
	static const char *const answers[] = { MADE, NULL };

	setenv("OFS_FAILPOINT", "remote.put=eio@1,remote.get=eio,remote.list=eio,remote.delete=eio",
	       1);
	open_s3(answers);
	cr_expect_eq(create(), -EINPROGRESS);
	cr_expect_not_null(strstr(err.text, "Input/output error"), "%s", err.text);
	cr_expect_eq(get(), -EAGAIN);
	cr_expect_eq(list(), -EAGAIN);
	cr_expect_eq(delete_one(), -EAGAIN);
	cr_expect_eq(create(), 0, "%s", err.text);
	stop();
	cr_expect_eq(server.served, 1);
}

/* ---- reading */

#define LENGTH(n) "Content-Length: " #n "\r\n"

Test(remote_s3, get)
{
	expect(get, ANSWER("200 OK", LENGTH(3)) "abc", 0, "");
	cr_expect_str_eq(ofs_buf_str(&out), "abc");
	cr_expect(request_has("GET /b/p/q/wal/1 HTTP/1.1\r\n"));
	cr_expect_not(request_has("Content-Length"));
	expect(get, ANSWER("200 OK", LENGTH(0)), 0, "");
	cr_expect_eq(out.len, 0);
}

Test(remote_s3, outcomes_of_get)
{
	expect(get, REFUSAL("404 No", "NoSuchKey", "m"), -ENOENT, "NoSuchKey");
	expect(get, ANSWER("404 No", LENGTH(0)), -ENOENT, "HTTP status 404");
	expect(get, REFUSAL("404 No", "NoSuchBucket", "m"), -EREMOTEIO, "NoSuchBucket");
	expect(get, ANSWER("404 No", "") "<html>", -EREMOTEIO, "HTTP status 404");
	expect(get, ANSWER("200 OK", LENGTH(3)) "ab", -EAGAIN, "cannot be asked");
	expect(get, ANSWER("200 OK", "") "ab", -EAGAIN, "no Content-Length");
	expect(get, ANSWER("200 OK", LENGTH(11)) "abcdefghijk", -EFBIG, "too many bytes");
	expect(get, REFUSAL("403 No", "AccessDenied", "m"), -EACCES, "AccessDenied");
	expect(get, REFUSAL("500 No", "InternalError", "m"), -EAGAIN, "InternalError");
	expect(get, REFUSAL("503 No", "SlowDown", "m"), -EAGAIN, "SlowDown");
	expect(get, REFUSAL("429 No", "SlowDown", "m"), -EAGAIN, "SlowDown");
	expect(get, REFUSAL("400 No", "InvalidRequest", "m"), -EREMOTEIO, "InvalidRequest");
	expect(get, ANSWER("206 OK", LENGTH(3)) "abc", -EREMOTEIO, "status 200");
	expect(get, SILENCE, -EAGAIN, "cannot be asked");
}

Test(remote_s3, long_refusals_are_cut)
{
	server.more = (size_t)1 << 20;
	expect(get, ANSWER("500 No", "") "<Error>", -EAGAIN, "HTTP status 500");
}

#define RANGE(value) ANSWER("206 Partial", LENGTH(4) "Content-Range: " value "\r\n")

Test(remote_s3, get_range)
{
	expect(get_range, RANGE("bytes 5-8/20") "abcd", 0, "");
	cr_expect_str_eq(range, "abcd");
	cr_expect(request_has("\r\nrange:bytes=5-8\r\n"));
	expect(get_range, RANGE("bytes 5-8/*") "abcd", 0, "");
}

Test(remote_s3, outcomes_of_get_range)
{
	expect(get_range, RANGE("bytes 0-3/20") "abcd", -EREMOTEIO, "Content-Range");
	expect(get_range, RANGE("bytes 5-9/20") "abcd", -EREMOTEIO, "Content-Range");
	expect(get_range, RANGE("lines") "abcd", -EREMOTEIO, "Content-Range");
	expect(get_range, RANGE("bytes 5-7/8") "abc", -EAGAIN, "");
	expect(get_range, ANSWER("206 Partial", LENGTH(3) "Content-Range: bytes 5-7/8\r\n") "abc",
	       -ENODATA, "too few bytes");
	expect(get_range, ANSWER("206 Partial", LENGTH(3) "Content-Range: bytes 5-8/8\r\n") "abc",
	       -EAGAIN, "cuts short");
	expect(get_range, ANSWER("200 OK", LENGTH(4)) "abcd", -EREMOTEIO, "ignores Range");
	expect(get_range, ANSWER("200 OK", LENGTH(9)) "abcdefghi", -EREMOTEIO, "ignores Range");
	expect(get_range, REFUSAL("416 No", "InvalidRange", "m"), -ENODATA, "InvalidRange");
	expect(get_range, REFUSAL("404 No", "NoSuchKey", "m"), -ENOENT, "NoSuchKey");
}

/* ---- lists */

#define LIST(members) ANSWER("200 OK", "") "<ListBucketResult>" members "</ListBucketResult>"
#define ITEM(key, size) "<Contents><Key>" key "</Key><Size>" #size "</Size></Contents>"
#define LAST "<IsTruncated>false</IsTruncated>"
#define MORE(token)                       \
	"<IsTruncated>true</IsTruncated>" \
	"<NextContinuationToken>" token "</NextContinuationToken>"

Test(remote_s3, lists_in_pages)
{
	static const char *const answers[] = {
		LIST(ITEM("p/q/w/2", 2) ITEM("p/q/w/3", 3) MORE("t+/")), LIST(MORE("u")),
		LIST(ITEM("p/q/w/4", 4) ITEM("p/q/w/4 5", 5) LAST), NULL
	};

	open_s3(answers);
	cr_expect_eq(ofs_s3_list(s3, "w/", "w/2", append, NULL, &err), 0, "%s", err.text);
	stop();
	cr_expect_str_eq(ofs_buf_str(&out), "w/3=3 w/4=4 ");
	cr_expect_eq(server.served, 3);
	cr_expect_eq(ofs_s3_requests(s3, OFS_S3_READS), 3);
	cr_expect(request_has("GET /b?continuation-token=u&list-type=2&prefix=p%2Fq%2Fw%2F HTTP"));
}

Test(remote_s3, outcomes_of_list)
{
	expect(list, LIST(ITEM("p/q/stop", 1) ITEM("p/q/x", 1) LAST), 7, "");
	cr_expect_str_eq(ofs_buf_str(&out), "stop=1 ");
	cr_expect(request_has("GET /b?list-type=2&prefix=p%2Fq%2F HTTP"));
	expect(list, LIST(ITEM("p/q/b", 1) ITEM("p/q/a", 1) LAST), -EREMOTEIO, "in order");
	expect(list, LIST(ITEM("p/x", 1) LAST), -EREMOTEIO, "not a list");
	expect(list, LIST(""), -EREMOTEIO, "not a list");
	expect(list, OK "<html>", -EREMOTEIO, "not a list");
	expect(list, ANSWER("200 OK", LENGTH(500)) "<ListBucketResult>", -EAGAIN, "LIST");
	expect(list, REFUSAL("404 No", "NoSuchBucket", "m"), -EREMOTEIO, "NoSuchBucket");
	expect(list, REFUSAL("403 No", "AccessDenied", "m"), -EACCES, "AccessDenied");
}

/* ---- removing */

Test(remote_s3, removing_one)
{
	expect(delete_one, ANSWER("204 No Content", ""), 0, "");
	cr_expect(request_has("DELETE /b/p/q/a HTTP/1.1\r\n"));
	expect(delete_one, REFUSAL("404 No", "NoSuchKey", "m"), 0, "");
	expect(delete_one, REFUSAL("404 No", "NoSuchBucket", "m"), -EREMOTEIO, "NoSuchBucket");
	expect(delete_one, REFUSAL("403 No", "AccessDenied", "m"), -EACCES, "AccessDenied");
	expect(delete_one, REFUSAL("503 No", "SlowDown", "m"), -EAGAIN, "SlowDown");
}

Test(remote_s3, removing_several)
{
	expect(delete_two, OK "<DeleteResult/>", 0, "");
	cr_expect(request_has("POST /b?delete= HTTP/1.1\r\n"));
	cr_expect(request_has("<Delete><Quiet>true</Quiet><Object><Key>p/q/a</Key></Object>"
			      "<Object><Key>p/q/b/c</Key></Object></Delete>"));
	cr_expect(request_has("\r\ncontent-md5:"));
	cr_expect(request_has("SignedHeaders=content-md5;content-type;host;"));
	expect(delete_two,
	       OK "<DeleteResult><Error><Key>p/q/a</Key><Code>AccessDenied</Code>"
		  "<Message>m</Message></Error></DeleteResult>",
	       -EACCES, "p/q/a: AccessDenied: m");
	expect(delete_two,
	       OK "<DeleteResult><Error><Key>p/q/a</Key><Code>InternalError</Code>"
		  "<Message>m</Message></Error></DeleteResult>",
	       -EAGAIN, "p/q/a: InternalError: m");
	expect(delete_two,
	       OK "<DeleteResult><Error><Key>p/q/a</Key><Code>Other</Code></Error></DeleteResult>",
	       -EREMOTEIO, "p/q/a: Other");
	expect(delete_two, OK "<Error><Code>SlowDown</Code><Message>m</Message></Error>", -EAGAIN,
	       "refuses a part of DELETE of 2 keys: SlowDown: m");
	expect(delete_two, OK "<html/>", -EREMOTEIO, "not a result");
	expect(delete_two, REFUSAL("500 No", "InternalError", "m"), -EAGAIN, "InternalError");
}

/* ---- trying again */

Test(remote_s3, a_clock_that_is_wrong)
{
	static const char *const answers[] = { REFUSAL("403 No", "RequestTimeTooSkewed", "m"), MADE,
					       REFUSAL("403 No", "RequestTimeTooSkewed", "m"),
					       REFUSAL("403 No", "RequestTimeTooSkewed", "m"),
					       NULL };

	open_s3(answers);
	cr_expect_eq(create(), 0, "%s", err.text);
	cr_expect(request_has("\r\nx-amz-date:20261127T1714"));
	cr_expect_eq(create(), -EACCES);
	stop();
	cr_expect_eq(server.served, 4);
}

Test(remote_s3, credentials_that_have_expired)
{
	static const char *const answers[] = { REFUSAL("400 No", "ExpiredToken", "m"),	     MADE,
					       REFUSAL("403 No", "InvalidAccessKeyId", "m"), MADE,
					       REFUSAL("400 No", "ExpiredToken", "m"),	     NULL };

	open_s3(answers);
	setenv("AWS_SESSION_TOKEN", "another-one", 1);
	cr_expect_eq(create(), 0, "%s", err.text);
	cr_expect(request_has("\r\nx-amz-security-token:another-one\r\n"));
	setenv("AWS_ACCESS_KEY_ID", "AKIA2", 1);
	cr_expect_eq(create(), 0, "%s", err.text);
	cr_expect(request_has(" Credential=AKIA2/"));
	cr_expect_eq(create(), -EACCES, "there are no others");
	stop();
	cr_expect_eq(server.served, 5);
}

/* Credentials that expire within a minute are fetched again, but not for every request. */
Test(remote_s3, credentials_that_will_expire)
{
	static const char *const answers[] = { MADE, MADE, MADE, NULL };
	struct ofs_clock_control control = { 0 };
	char dir[SCRATCH_SIZE];
	OFS_FREE char *command = NULL, *log = NULL;
	struct stat st;

	scratch_dir(dir);
	log = ofs_format("%s/log", dir);
	command = ofs_format("echo >>%s; date -u +'{\"Version\":1,\"AccessKeyId\":\"AKIA1\","
			     "\"SecretAccessKey\":\"" SECRET "\",\"Expiration\":"
			     "\"%%Y-%%m-%%dT%%H:%%M:%%SZ\"}' -d '+1 minute'",
			     log);
	settings.credentials_command = command;
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	ofs_clock_set_control(&control);
	open_s3(answers);
	cr_expect_eq(create(), 0, "%s", err.text);
	cr_expect_eq(create(), 0, "%s", err.text);
	cr_expect(stat(log, &st) == 0 && st.st_size == 1);
	control.wall_offset = 31 * OFS_NS_PER_S;
	cr_expect_eq(create(), 0, "%s", err.text);
	cr_expect(stat(log, &st) == 0 && st.st_size == 2);
	ofs_clock_set_control(NULL);
	stop();
	unlink(log);
	rmdir(dir);
}

Test(remote_s3, without_credentials)
{
	struct ofs_s3 *none = NULL;

	cr_assert_eq(ofs_location_parse("s3://b", &err, &location), 0);
	unsetenv("AWS_SECRET_ACCESS_KEY");
	cr_expect_eq(ofs_s3_open(&settings, &err, &none), -EACCES);
	cr_expect_null(none);
}

/* ---- keys */

Test(remote_s3, keys)
{
	static const char *const none[] = { NULL };
	static const char *const keys[] = { "",	   "/",	  "/a",	 "a/",	 "a//b", "..",	"a/../b",
					    "./a", "a b", "a?b", "a%41", "a\nb", "a&b", "\xc3\xa9" };
	char longest[1025] = { 0 };

	open_s3(none);
	memset(longest, 'a', 1024);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(keys); i++) {
		cr_expect_eq(ofs_s3_create(s3, keys[i], "x", 1, &err), -EINVAL, "%s", keys[i]);
		cr_expect_null(strchr(err.text, '\n'));
		cr_expect_eq(ofs_s3_get(s3, keys[i], 1, &out, &err), -EINVAL, "%s", keys[i]);
		cr_expect_eq(ofs_s3_get_range(s3, keys[i], 0, 1, range, &err), -EINVAL);
		cr_expect_eq(ofs_s3_delete(s3, &keys[i], 1, &err), -EINVAL, "%s", keys[i]);
	}
	cr_expect_eq(ofs_s3_create(s3, longest, "x", 1, &err), -EINVAL);
	cr_expect_eq(ofs_s3_list(s3, "a b", NULL, append, NULL, &err), -EINVAL);
	cr_expect_eq(ofs_s3_list(s3, "", "/a", append, NULL, &err), -EINVAL);
	cr_expect_eq(ofs_s3_delete(s3, NULL, 0, &err), 0);
	cr_expect_eq(ofs_s3_delete(s3, keys, 1001, &err), -EINVAL);
	stop();
	cr_expect_eq(server.served, 0);
}

/* ---- probing */

#define PROBE_DATA "a check of what this service does and lets do\n"
#define PROBED ANSWER("200 OK", LENGTH(46)) PROBE_DATA
#define REMOVED ANSWER("204 No Content", "")
#define EXISTS REFUSAL("412 No", "PreconditionFailed", "m")
#define DENIED REFUSAL("403 No", "AccessDenied", "m")
#define MISSING REFUSAL("404 No", "NoSuchKey", "m")

/* Probes a service with these answers, of which NULL ones are left out. */
static int probe_with(const char *made, const char *again, const char *read, const char *listed,
		      const char *removed)
{
	const char *const all[] = { MISSING, made, again, read, listed, removed };
	const char *answers[OFS_ARRAY_SIZE(all) + 1] = { NULL };
	size_t n = 0;
	int r;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(all); i++)
		if (all[i])
			answers[n++] = all[i];
	server.served = 0;
	open_s3(answers);
	r = ofs_s3_probe(s3, &err);
	close_s3();
	cr_expect_eq(server.served, n);
	return r;
}

static void expect_words(int r, int code, const char *words)
{
	cr_expect_eq(r, code, "%d: %s", r, err.text);
	cr_expect_not_null(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
}

Test(remote_s3, probe)
{
	cr_expect_eq(probe_with(MADE, EXISTS, PROBED, LIST(LAST), REMOVED), 0, "%s", err.text);
	cr_expect(request_has("DELETE /b/p/q/probe/"));
}

Test(remote_s3, probe_of_a_service_that_ignores_conditions)
{
	expect_words(probe_with(MADE, MADE, NULL, NULL, REMOVED), -EOPNOTSUPP, "If-None-Match");
	cr_expect(request_has("DELETE /b/p/q/probe/"));
	expect_words(probe_with(REFUSAL("501 No", "NotImplemented", "m"), NULL, NULL, NULL, NULL),
		     -EOPNOTSUPP, "If-None-Match");
}

static int probe_once(void)
{
	return ofs_s3_probe(s3, &err);
}

Test(remote_s3, probe_of_a_service_that_refuses)
{
	expect(probe_once, DENIED, -EACCES, "s3:GetObject and s3:ListBucket");
	expect_words(probe_with(DENIED, NULL, NULL, NULL, NULL), -EACCES, "PUT probe/");
	expect_words(probe_with(MADE, EXISTS, DENIED, NULL, REMOVED), -EACCES, "GET probe/");
	expect_words(probe_with(MADE, EXISTS, PROBED, DENIED, REMOVED), -EACCES, "LIST probe/");
	expect_words(probe_with(MADE, EXISTS, PROBED, LIST(LAST), DENIED), -EACCES,
		     "DELETE probe/");
	expect_words(probe_with(MADE, EXISTS, ANSWER("200 OK", LENGTH(1)) "x", NULL, REMOVED),
		     -EREMOTEIO, "other bytes");
}

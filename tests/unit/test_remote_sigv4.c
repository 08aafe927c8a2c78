/* SPDX-License-Identifier: MIT */
/* The examples of S3's API reference, "Using the Authorization Header". */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "remote/sigv4.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define PUT_PAYLOAD "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"

#define HOST "host:examplebucket.s3.amazonaws.com"
#define DATE "x-amz-date:20130524T000000Z"
#define PAYLOAD "x-amz-content-sha256:"

static void expect_signature(const char *method, const char *path, const char *query,
			     const char *const *headers, const char *payload, const char *names,
			     const char *signature)
{
	const struct ofs_credentials c = {
		.access_key = (char *)"AKIAIOSFODNN7EXAMPLE",
		.secret = (char *)"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		.expires = INT64_MAX,
	};
	const struct ofs_sigv4_request r = {
		.method = method,
		.path = path,
		.query = query,
		.headers = headers,
		.payload_sha256 = payload,
		.time = 1369353600 * OFS_NS_PER_S,
		.region = "us-east-1",
	};
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	OFS_FREE char *expected =
		ofs_format("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
			   "aws4_request,SignedHeaders=%s,Signature=%s",
			   names, signature);

	cr_assert_eq(ofs_sigv4_sign(&r, &c, &out), 0);
	cr_expect_str_eq(ofs_buf_str(&out), expected);
}

Test(remote_sigv4, get_object)
{
	static const char *const headers[] = { HOST, "range:bytes=0-9", PAYLOAD EMPTY, DATE, NULL };

	expect_signature("GET", "/test.txt", "", headers, EMPTY,
			 "host;range;x-amz-content-sha256;x-amz-date",
			 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

Test(remote_sigv4, put_object)
{
	static const char *const headers[] = {
		"date:Fri, 24 May 2013 00:00:00 GMT",	  HOST, PAYLOAD PUT_PAYLOAD, DATE,
		"x-amz-storage-class:REDUCED_REDUNDANCY", NULL
	};

	expect_signature("PUT", "/test%24file.text", "", headers, PUT_PAYLOAD,
			 "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
			 "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

Test(remote_sigv4, get_lifecycle)
{
	static const char *const headers[] = { HOST, PAYLOAD EMPTY, DATE, NULL };

	expect_signature("GET", "/", "lifecycle=", headers, EMPTY,
			 "host;x-amz-content-sha256;x-amz-date",
			 "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

Test(remote_sigv4, list_objects)
{
	static const char *const headers[] = { HOST, PAYLOAD EMPTY, DATE, NULL };

	expect_signature("GET", "/", "max-keys=2&prefix=J", headers, EMPTY,
			 "host;x-amz-content-sha256;x-amz-date",
			 "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

Test(remote_sigv4, encoding)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	ofs_sigv4_encode("aZ09-._~/ +=\xc3\xa9", &out);
	cr_expect_str_eq(ofs_buf_str(&out), "aZ09-._~%2F%20%2B%3D%C3%A9");
}

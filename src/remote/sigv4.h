/* SPDX-License-Identifier: MIT */
/* Signatures of requests to S3: AWS Signature Version 4. */
#pragma once

#include "base/buf.h"
#include "remote/credentials.h"

/* All borrowed. */
struct ofs_sigv4_request {
	const char *method;
	const char *path; /* as sent, encoded once */
	const char *query; /* as sent, sorted; without the '?' */
	/*
	 * The headers to sign, "name:value" up to NULL: sorted, with names in lower case and no
	 * blanks around the value. "host" and all that begin with "x-amz-" must be among them.
	 */
	const char *const *headers;
	const char *payload_sha256; /* the value of the header x-amz-content-sha256 */
	int64_t time; /* wall clock in nanoseconds, that of the header x-amz-date */
	const char *region;
};

#define OFS_SIGV4_TIME_SIZE sizeof("20130524T000000Z")

/* Writes the value of the header x-amz-date. */
void ofs_sigv4_time(int64_t ns, char ret[OFS_SIGV4_TIME_SIZE]);

/* Appends the value of the header Authorization. 0; -EIO: libcrypto is broken. */
int ofs_sigv4_sign(const struct ofs_sigv4_request *r, const struct ofs_credentials *c,
		   struct ofs_buf *ret);

/* Appends `text` encoded for a query. */
void ofs_sigv4_encode(const char *text, struct ofs_buf *out);

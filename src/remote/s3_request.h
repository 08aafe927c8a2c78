/* SPDX-License-Identifier: MIT */
/* A request to S3: signing it, sending it, and reporting its result. For s3.c alone. */
#pragma once

#include "io/http.h"
#include "remote/credentials.h"
#include "remote/s3.h"
#include "remote/s3_xml.h"

#define OFS_S3_KEY_MAX 1024
#define OFS_S3_REFUSAL_MAX ((size_t)64 << 10) /* bytes of a refusal that are read */

struct ofs_s3 {
	struct ofs_s3_settings set;
	struct ofs_http *http;
	struct ofs_credentials credentials;
	int64_t loaded; /* time of the last load, by ofs_clock_wall() */
	int64_t clock_offset; /* nanoseconds that the service's clock is ahead of ours */
	uint64_t sent[2]; /* by enum ofs_s3_kind */
};

/* A request and its result. */
struct ofs_s3_request {
	const char *method;
	char *name; /* for errors: "PUT a/b" */
	const char *failpoint;
	char *path;
	const char *query; /* "": none */
	const char *content[2]; /* headers "content-md5:...", "content-type:..."; NULL: none */
	const char *condition; /* the header "if-none-match:..." or "range:..."; NULL: none */
	const void *body;
	size_t body_len;
	size_t answer_max;
	struct ofs_http_answer answer;
	struct ofs_s3_refusal refusal; /* if the status is not 2xx and the answer contains one */
};

void ofs_s3_request_finish(struct ofs_s3_request *x);

/* Loads them again. 1; 0: they are unchanged; -EACCES: the present ones are kept. */
int ofs_s3_load_credentials(struct ofs_s3 *s, struct ofs_error *err);

/*
 * Sends the request. 0: the status of the answer is 2xx. Otherwise `err` describes the error:
 * without a complete answer -EAGAIN, -ECANCELED or -EFBIG; for a refusal -EACCES, -ENOENT, -EAGAIN,
 * -EEXIST (412), -ENODATA (416), -EOPNOTSUPP (501) or -EREMOTEIO.
 */
int ofs_s3_ask(struct ofs_s3 *s, struct ofs_s3_request *x, struct ofs_error *err);

/* The error that a refusal means. Its status may be 200. */
int ofs_s3_errno(int status, const char *code);

/* Sets `err` to "the bucket 'b' at URL VERB PUT a/b: SAID". `said` may be NULL. Returns -code. */
int ofs_s3_fail(const struct ofs_s3 *s, const struct ofs_s3_request *x, int code, const char *verb,
		const char *said, struct ofs_error *err);

/* ---- keys; the results are allocated */

/* `key` with the location's prefix. */
char *ofs_s3_full_key(const struct ofs_s3 *s, const char *key);

/* 0; -EINVAL, described in `err`. */
int ofs_s3_check_key(const struct ofs_s3 *s, const char *key, struct ofs_error *err);

/* The path of an object, and of the bucket. */
char *ofs_s3_path(const struct ofs_s3 *s, const char *key);
char *ofs_s3_bucket_path(const struct ofs_s3 *s);

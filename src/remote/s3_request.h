/* SPDX-License-Identifier: MIT */
/* A request to S3: signing it, sending it, and telling what became of it. For s3.c alone. */
#pragma once

#include "io/http.h"
#include "remote/credentials.h"
#include "remote/s3.h"
#include "remote/s3_xml.h"

#define OFS_S3_KEY_MAX 1024
#define OFS_S3_REFUSAL_MAX ((size_t)64 << 10) /* bytes of an answer that are looked at */

struct ofs_s3 {
	struct ofs_s3_settings set;
	struct ofs_http *http;
	struct ofs_credentials credentials;
	int64_t loaded; /* when they were looked for, by ofs_clock_wall() */
	int64_t clock_offset; /* nanoseconds that the service is ahead of us */
	uint64_t sent[2]; /* by enum ofs_s3_kind */
};

/* A request, and what became of it. */
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
	struct ofs_s3_refusal refusal; /* of a status that is not 2xx, where there is one */
};

void ofs_s3_request_finish(struct ofs_s3_request *x);

/* 1; 0: they are the same as before; -EACCES: those that are there are kept. */
int ofs_s3_load_credentials(struct ofs_s3 *s, struct ofs_error *err);

/*
 * Sends the request. 0: the status of the answer is 2xx; else, told in `err`: without a whole answer
 * -EAGAIN, -ECANCELED or -EFBIG; by what a refusal says -EACCES, -ENOENT, -EAGAIN, -EEXIST (412),
 * -ENODATA (416), -EOPNOTSUPP (501) or -EREMOTEIO.
 */
int ofs_s3_ask(struct ofs_s3 *s, struct ofs_s3_request *x, struct ofs_error *err);

/* The error that a refusal means; its status may be 200. */
int ofs_s3_errno(int status, const char *code);

/* Tells "the bucket 'b' at URL VERB PUT a/b: SAID"; `said` may be NULL. Returns -code. */
int ofs_s3_fail(const struct ofs_s3 *s, const struct ofs_s3_request *x, int code, const char *verb,
		const char *said, struct ofs_error *err);

/* ---- keys; the texts are allocated */

/* `key` below our prefix. */
char *ofs_s3_full_key(const struct ofs_s3 *s, const char *key);

/* 0 or -EINVAL, told. */
int ofs_s3_check_key(const struct ofs_s3 *s, const char *key, struct ofs_error *err);

/* The path of an object, and of the bucket. */
char *ofs_s3_path(const struct ofs_s3 *s, const char *key);
char *ofs_s3_bucket_path(const struct ofs_s3 *s);

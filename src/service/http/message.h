/* SPDX-License-Identifier: MIT */
/*
 * Requests and replies of HTTP, apart from the server that carries them. Everything in a request is
 * somebody else's until it was checked.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_http_field {
	const char *name, *value;
};

/* The head of a request, borrowed from who received it. */
struct ofs_http_request {
	const char *method;
	const char *target; /* as it was sent */
	const struct ofs_http_field *fields;
	size_t n_fields;
	bool http_1_0;
	bool known; /* the peer, by the credentials of its socket */
};

/*
 * The value of a field; NULL: it has none, or several, which ofs_http_request_count() tells apart.
 */
const char *ofs_http_request_field(const struct ofs_http_request *r, const char *name);
size_t ofs_http_request_count(const struct ofs_http_request *r, const char *name);

/*
 * Checks that no other program could take the request for another one, or its body for one of
 * another length: the bytes of its fields, one Host, one way to tell the length. 0 or -EINVAL.
 */
int ofs_http_request_check(const struct ofs_http_request *r, struct ofs_error *err);

/* ---- what a target names */

#define OFS_HTTP_SEGMENTS 5
#define OFS_HTTP_PARAMETERS 24

struct ofs_http_parameter {
	char *name, *value;
};

/* Decoded once; everything is valid UTF-8 without NUL. */
struct ofs_http_target {
	char *host; /* of a target that has one; NULL: none */
	char *segments[OFS_HTTP_SEGMENTS]; /* between the slashes of the path; "/" has one, "" */
	size_t n_segments;
	struct ofs_http_parameter parameters[OFS_HTTP_PARAMETERS]; /* of the query */
	size_t n_parameters;
};

/* 0, or -EINVAL and nothing is to be finished. */
int ofs_http_target_parse(const char *target, struct ofs_error *err, struct ofs_http_target *ret);
void ofs_http_target_finish(struct ofs_http_target *t);

/* The value of a parameter; NULL: there is none. */
const char *ofs_http_target_parameter(const struct ofs_http_target *t, const char *name);

/* ---- replies */

/*
 * A body that comes piece by piece. `next` runs on a worker and appends the next piece: 0 with
 * nothing appended is the end; -EAGAIN: there is none now, and `wake` will be called once, from any
 * thread, when there may be one; else -errno, and the connection is cut.
 */
struct ofs_http_source {
	int (*next)(struct ofs_http_source *s, void (*wake)(void *arg), void *arg,
		    struct ofs_buf *out);
	/* May be called while `next` waits for a wake, which then does not come any more. */
	void (*destroy)(struct ofs_http_source *s);
	int64_t size; /* of all pieces; -1: not known */
};

#define OFS_HTTP_FIELDS 6

struct ofs_http_reply {
	unsigned int status;
	const char *type; /* of the body; static; NULL: there is none */
	struct ofs_buf body;
	const struct ofs_asset *asset; /* the body, instead; static */
	struct ofs_http_source *source; /* the body, instead; owned */
	const char *policy; /* Content-Security-Policy; static; NULL: nothing may be loaded */
	struct {
		const char *name; /* static */
		char *value;
	} fields[OFS_HTTP_FIELDS];
	size_t n_fields;
	bool close; /* the connection is not used again */
};

/* Fit for OFS_CLEANUP. */
void ofs_http_reply_finish(struct ofs_http_reply *r);

/* Adds a field; takes `value`. */
void ofs_http_reply_field(struct ofs_http_reply *r, const char *name, char *value);

/* A body of JSON; takes `json`. */
void ofs_http_reply_json(struct ofs_http_reply *r, unsigned int status, json_t *json);

/* {"error": {"code", "message"}}. */
void ofs_http_reply_error(struct ofs_http_reply *r, unsigned int status, const char *message);

/* The same of -errno `code`, whose status OFS_HTTP_ERRORS of message.c tells. */
void ofs_http_reply_failed(struct ofs_http_reply *r, int code, const struct ofs_error *err);

/* The word for a status: "not_found". */
const char *ofs_http_status_word(unsigned int status);

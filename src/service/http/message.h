/* SPDX-License-Identifier: MIT */
/*
 * HTTP requests and replies, independent of the server that carries them. Nothing in a request can
 * be trusted until it is checked.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_http_field {
	const char *name, *value;
};

/* The head of a request; all borrowed. */
struct ofs_http_request {
	const char *method;
	const char *target; /* as sent */
	const struct ofs_http_field *fields;
	size_t n_fields;
	bool http_1_0;
	bool known; /* the peer, by the credentials of its socket */
};

/* Returns the value of a field, or NULL if there is none or several. */
const char *ofs_http_request_field(const struct ofs_http_request *r, const char *name);
/* Returns the number of fields of that name. */
size_t ofs_http_request_count(const struct ofs_http_request *r, const char *name);

/*
 * Checks that the request is unambiguous, so that no other program reads it differently or assumes
 * another length of the body: the bytes of the fields, one Host, one length. 0 or -EINVAL.
 */
int ofs_http_request_check(const struct ofs_http_request *r, struct ofs_error *err);

/* ---- targets */

#define OFS_HTTP_SEGMENTS 5
#define OFS_HTTP_PARAMETERS 24

struct ofs_http_parameter {
	char *name, *value;
};

/* Percent-decoded once. All strings are valid UTF-8 without NULs. */
struct ofs_http_target {
	char *host; /* of an absolute target; NULL: none */
	char *segments[OFS_HTTP_SEGMENTS]; /* of the path; "/" has one, "" */
	size_t n_segments;
	struct ofs_http_parameter parameters[OFS_HTTP_PARAMETERS]; /* of the query */
	size_t n_parameters;
};

/* Parses a target. 0, or -EINVAL with nothing to be finished. */
int ofs_http_target_parse(const char *target, struct ofs_error *err, struct ofs_http_target *ret);
void ofs_http_target_finish(struct ofs_http_target *t);

/* Returns the value of a parameter, or NULL. */
const char *ofs_http_target_parameter(const struct ofs_http_target *t, const char *name);

/* ---- replies */

/*
 * A body that is produced piece by piece. `next` runs on a worker and appends the next piece. 0
 * with nothing appended: the end. -EAGAIN: there is no piece yet; `wake` is called once, on any
 * thread, when there may be one. Another -errno: the connection is cut.
 */
struct ofs_http_source {
	int (*next)(struct ofs_http_source *s, void (*wake)(void *arg), void *arg,
		    struct ofs_buf *out);
	/* May be called after -EAGAIN; `wake` is not called any more then. */
	void (*destroy)(struct ofs_http_source *s);
	int64_t size; /* of all pieces, in bytes; -1: unknown */
};

#define OFS_HTTP_FIELDS 6

struct ofs_http_reply {
	unsigned int status;
	const char *type; /* of the body; static; NULL: there is no body */
	struct ofs_buf body;
	const struct ofs_asset *asset; /* used instead of `body`; static; may be NULL */
	struct ofs_http_source *source; /* used instead of `body`; owned; may be NULL */
	const char *policy; /* Content-Security-Policy; static; NULL: nothing may be loaded */
	struct {
		const char *name; /* static */
		char *value;
	} fields[OFS_HTTP_FIELDS];
	size_t n_fields;
	bool close; /* close the connection after the reply */
};

/* Frees everything in `r` and makes it empty. For OFS_CLEANUP, too. */
void ofs_http_reply_finish(struct ofs_http_reply *r);

/* Adds a field, at most OFS_HTTP_FIELDS in all. Takes `value`. */
void ofs_http_reply_field(struct ofs_http_reply *r, const char *name, char *value);

/* Makes a reply with a JSON body. Takes `json`. */
void ofs_http_reply_json(struct ofs_http_reply *r, unsigned int status, json_t *json);

/* Makes an error reply: {"error": {"code", "message"}}. */
void ofs_http_reply_error(struct ofs_http_reply *r, unsigned int status, const char *message);

/* Makes an error reply with the status for `code` (-errno), by its word in service/code.h. */
void ofs_http_reply_failed(struct ofs_http_reply *r, int code, const struct ofs_error *err);

/* Returns the word for a status, such as "not_found". Static. */
const char *ofs_http_status_word(unsigned int status);

/* SPDX-License-Identifier: MIT */
/*
 * Objects of an S3 bucket. Objects are created and removed, never changed. If the service supports
 * conditional writes, the result of a create says whether this request created the object.
 *
 * Keys are relative to the location's prefix and have the form of ofs_location_is_path(); others
 * are -EINVAL. A call is one request; a list is one request per page. A request is sent again only
 * in two cases, and only once: the service says that the clock is wrong (its Date is used from then
 * on), or that the credentials have expired or are unknown, and others can be loaded. The
 * certificate of a server is verified by $AWS_CA_BUNDLE or, if that is not set, as ofs_http_ask()
 * says.
 *
 * Errors, described in `err` on one line without a secret:
 *   -EAGAIN      no answer, a truncated answer, or an overloaded service: try again
 *   -EACCES      the service denies access (401, 403), or there are no credentials
 *   -EREMOTEIO   another refusal, or an answer that S3 does not give
 *   -ECANCELED   the `cancel` of the settings has become true
 */
#pragma once

#include <stdatomic.h>

#include <offloadfs/error.h>

#include "base/buf.h"
#include "remote/location.h"

struct ofs_s3; /* used by one thread at a time; a location may have any number of handles */

/* All borrowed, for as long as the handle lives. */
struct ofs_s3_settings {
	const struct ofs_location *location;
	const char *credentials_command; /* see ofs_credentials_load(); NULL: none */
	int64_t timeout; /* of one request, in nanoseconds; 0: none */
	const atomic_bool *cancel; /* true ends a request within a second; may be NULL */
};

/* Loads the credentials and sends nothing. -EACCES as above; -EOPNOTSUPP: libcurl is missing. */
int ofs_s3_open(const struct ofs_s3_settings *settings, struct ofs_error *err, struct ofs_s3 **ret);

/* NULL is allowed. */
void ofs_s3_close(struct ofs_s3 *s);

/*
 * Creates an object that must not exist yet (PUT with If-None-Match: *). The service verifies the
 * data by their SHA-256, which is signed. 0: created and durable; -EEXIST: it exists, and this
 * request did not create it; -EINPROGRESS: the outcome is unknown (no whole answer, canceled, 5xx,
 * 409), and the object may exist already or appear later. Never -EAGAIN or -ECANCELED.
 */
int ofs_s3_create(struct ofs_s3 *s, const char *key, const void *data, size_t len,
		  struct ofs_error *err);

/*
 * Replaces the content of `ret` by the whole object. -ENOENT; -EFBIG: it has more than `max` bytes.
 */
int ofs_s3_get(struct ofs_s3 *s, const char *key, size_t max, struct ofs_buf *ret,
	       struct ofs_error *err);

/* Reads exactly `len` bytes from `off` on. -ENOENT; -ENODATA: the object ends before. */
int ofs_s3_get_range(struct ofs_s3 *s, const char *key, uint64_t off, size_t len, void *buf,
		     struct ofs_error *err);

/*
 * Calls `fn` for the objects whose keys begin with `prefix` (which may be "", or end anywhere in a
 * key) and come after `after` ("" or NULL: from the start), in byte order. Keys that do not have
 * the form of ours are left out. A nonzero return of `fn` ends the list and is returned. `fn` must
 * not use `s`.
 */
int ofs_s3_list(struct ofs_s3 *s, const char *prefix, const char *after,
		int (*fn)(void *arg, const char *key, uint64_t size), void *arg,
		struct ofs_error *err);

#define OFS_S3_DELETE_MAX 1000

/*
 * Removes up to OFS_S3_DELETE_MAX objects. A missing one is not an error. After an error any of
 * them may be gone. If the service refuses some, `err` names the first one, and its error is
 * returned.
 */
int ofs_s3_delete(struct ofs_s3 *s, const char *const *keys, size_t n, struct ofs_error *err);

/*
 * Checks that the service reports missing objects, creates none twice, and permits writing,
 * reading, listing and removing. Uses an object probe/RANDOM, which is removed again, and six
 * requests. -EOPNOTSUPP: it does not support If-None-Match; other errors as above.
 */
int ofs_s3_probe(struct ofs_s3 *s, struct ofs_error *err);

enum ofs_s3_kind {
	OFS_S3_WRITES, /* PUT, POST, DELETE */
	OFS_S3_READS, /* GET, including lists */
};

/* The number of requests of a kind that the handle has sent. */
uint64_t ofs_s3_requests(const struct ofs_s3 *s, enum ofs_s3_kind kind);

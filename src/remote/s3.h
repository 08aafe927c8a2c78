/* SPDX-License-Identifier: MIT */
/*
 * Objects of an S3 bucket. Objects are created and removed, never changed: a create says whether it
 * was this one that made the object, if the service supports conditional writes.
 *
 * Keys are relative to the location's prefix and of the form of ofs_location_is_path(); others are
 * -EINVAL. A call is one request, but for a list, which is one a page. Nothing is tried again,
 * except once when the service says that the clock is wrong (its Date is used from then on) or that
 * the credentials have expired or are unknown, if there are others now. A server's certificate is
 * verified by $AWS_CA_BUNDLE or, without that, as ofs_http_ask() says.
 *
 * Errors, told in `err` on one line without a secret:
 *   -EAGAIN      there is no answer, or it was cut short, or the service is overloaded: try again
 *   -EACCES      the service does not let us (401, 403), or there are no credentials
 *   -EREMOTEIO   it refuses otherwise, or answers what S3 does not
 *   -ECANCELED   the settings' `cancel` has become true
 */
#pragma once

#include <stdatomic.h>

#include <offloadfs/error.h>

#include "base/buf.h"
#include "remote/location.h"

struct ofs_s3; /* for one thread at a time; any number may be open for one location */

/* All borrowed, for as long as the handle lives. */
struct ofs_s3_settings {
	const struct ofs_location *location;
	const char *credentials_command; /* see ofs_credentials_load(); NULL: none */
	int64_t timeout; /* of one request, in nanoseconds; 0: none */
	const atomic_bool *cancel; /* true ends a request within a second; or NULL */
};

/*
 * Loads the credentials; sends nothing yet. -EACCES as above; -EOPNOTSUPP: there is no libcurl.
 */
int ofs_s3_open(const struct ofs_s3_settings *settings, struct ofs_error *err, struct ofs_s3 **ret);

/* NULL is allowed. */
void ofs_s3_close(struct ofs_s3 *s);

/*
 * Makes an object that must not exist yet (PUT with If-None-Match: *). The service checks the data
 * against their SHA-256, which is signed. 0: it is made and durable; -EEXIST: there is one, which
 * this request did not make; -EINPROGRESS: the outcome is unknown (no whole answer, canceled, 5xx,
 * 409): it may have been made, or may still be. Never -EAGAIN or -ECANCELED.
 */
int ofs_s3_create(struct ofs_s3 *s, const char *key, const void *data, size_t len,
		  struct ofs_error *err);

/* Reads a whole object into `ret`, emptied first. -ENOENT; -EFBIG: it has more than `max` bytes. */
int ofs_s3_get(struct ofs_s3 *s, const char *key, size_t max, struct ofs_buf *ret,
	       struct ofs_error *err);

/* Reads exactly `len` bytes from `off` on. -ENOENT; -ENODATA: the object ends before that. */
int ofs_s3_get_range(struct ofs_s3 *s, const char *key, uint64_t off, size_t len, void *buf,
		     struct ofs_error *err);

/*
 * Calls `fn` for the objects whose keys begin with `prefix` (which may be "", or end anywhere in a
 * key) and come after `after` ("" or NULL: from the start), in the order of their bytes. Keys that
 * are none of ours by their form are left out. `fn` may return nonzero, which ends the list and is
 * returned; it must not use `s`.
 */
int ofs_s3_list(struct ofs_s3 *s, const char *prefix, const char *after,
		int (*fn)(void *arg, const char *key, uint64_t size), void *arg,
		struct ofs_error *err);

#define OFS_S3_DELETE_MAX 1000

/*
 * Removes up to OFS_S3_DELETE_MAX objects; a missing one is no error. After an error any of them
 * may be gone; where the service refuses some, `err` names the first, whose error it is.
 */
int ofs_s3_delete(struct ofs_s3 *s, const char *const *keys, size_t n, struct ofs_error *err);

/*
 * Checks that the service says which objects are missing, makes none twice and lets us write, read,
 * list and remove, with an object probe/RANDOM that is removed again. Six requests. -EOPNOTSUPP: it
 * does not support If-None-Match; others as of the calls above.
 */
int ofs_s3_probe(struct ofs_s3 *s, struct ofs_error *err);

enum ofs_s3_kind {
	OFS_S3_WRITES, /* PUT, POST, DELETE */
	OFS_S3_READS, /* GET, lists among them */
};

/* How many requests of a kind the handle has sent. */
uint64_t ofs_s3_requests(const struct ofs_s3 *s, enum ofs_s3_kind kind);

/* SPDX-License-Identifier: MIT */
/*
 * Objects of a remote as the rest of this folder sees them: read whole or by range, unsealed if
 * there is a key. Names and errors are those of remote/s3.h and remote/sealing.h.
 */
#pragma once

#include "remote/location.h"
#include "remote/s3.h"
#include "remote/sealing.h"

/* How to access a remote. Owns what it points to. */
struct ofs_remote_access {
	struct ofs_location location;
	char *credentials; /* command that prints credentials, or NULL */
	struct ofs_seal_key *key; /* NULL if objects are not sealed */
};

/*
 * Parses `location` (see ofs_location_parse()) and loads the key from the file `key` (see
 * ofs_seal_key_load(); NULL or "" for none). Commands come from OFFLOAD_REMOTE_CREDENTIALS and,
 * without a file, OFFLOAD_REPLICATE_KEY: only from the user, never from a store, which may be
 * somebody else's. Returns 0, or -EINVAL or another -errno with the reason in *err.
 */
int ofs_remote_access_parse(const char *location, const char *key, struct ofs_error *err,
			    struct ofs_remote_access *ret);
void ofs_remote_access_finish(struct ofs_remote_access *r);

struct ofs_bucket; /* an open remote, for one thread at a time */

/* Borrows `remote` and `cancel`. `timeout` limits one request, in nanoseconds. */
int ofs_bucket_open(const struct ofs_remote_access *remote, int64_t timeout,
		    const atomic_bool *cancel, struct ofs_error *err, struct ofs_bucket **ret);
void ofs_bucket_close(struct ofs_bucket *b); /* accepts NULL */

/* For listing, removing, probing and counting. */
struct ofs_s3 *ofs_bucket_s3(struct ofs_bucket *b);

int ofs_bucket_create(struct ofs_bucket *b, const char *key, const void *data, size_t len,
		      struct ofs_error *err);
int ofs_bucket_get(struct ofs_bucket *b, const char *key, size_t max, struct ofs_buf *ret,
		   struct ofs_error *err);
/* `size` is the size of the whole content. */
int ofs_bucket_get_range(struct ofs_bucket *b, const char *key, uint64_t size, uint64_t off,
			 size_t len, void *buf, struct ofs_error *err);

/* SPDX-License-Identifier: MIT */
/*
 * The objects of a remote as the rest of this folder sees them: by whole content or a range of it,
 * in clear where there is a key to unseal them. Names and errors are those of remote/s3.h and
 * remote/sealing.h.
 */
#pragma once

#include "remote/location.h"
#include "remote/s3.h"
#include "remote/sealing.h"

/* How to get at a remote; owns what it points to. */
struct ofs_remote_access {
	struct ofs_location location;
	char *credentials; /* a command, or NULL */
	struct ofs_seal_key *key; /* NULL: objects are in clear */
};

/*
 * `location` is a text as of ofs_location_parse(), `key` a file as of ofs_seal_key_load(), NULL or
 * "". Commands are those of OFFLOAD_REMOTE_CREDENTIALS and, where no file is named,
 * OFFLOAD_REPLICATE_KEY: the user's, and never a store's, which may be somebody else's. -EINVAL and
 * others: `err` says what is wrong.
 */
int ofs_remote_access_parse(const char *location, const char *key, struct ofs_error *err,
			    struct ofs_remote_access *ret);
void ofs_remote_access_finish(struct ofs_remote_access *r);

struct ofs_bucket; /* for one thread at a time */

/* `remote` and `cancel` are borrowed; `timeout` is that of one request, in nanoseconds. */
int ofs_bucket_open(const struct ofs_remote_access *remote, int64_t timeout,
		    const atomic_bool *cancel, struct ofs_error *err, struct ofs_bucket **ret);
void ofs_bucket_close(struct ofs_bucket *b); /* NULL is allowed */

/* For lists, removals, the probe and counts. */
struct ofs_s3 *ofs_bucket_s3(struct ofs_bucket *b);

int ofs_bucket_create(struct ofs_bucket *b, const char *key, const void *data, size_t len,
		      struct ofs_error *err);
int ofs_bucket_get(struct ofs_bucket *b, const char *key, size_t max, struct ofs_buf *ret,
		   struct ofs_error *err);
/* `size` is that of the whole content. */
int ofs_bucket_get_range(struct ofs_bucket *b, const char *key, uint64_t size, uint64_t off,
			 size_t len, void *buf, struct ofs_error *err);

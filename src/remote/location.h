/* SPDX-License-Identifier: MIT */
/* The bucket, and the part of it that belongs to this store. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

/* All strings are allocated. Constant once parsed. */
struct ofs_location {
	char *bucket;
	char *prefix; /* without a slash at either end; "": the whole bucket */
	char *endpoint; /* "https://host:port/path", without the bucket and a slash at the end */
	char *region;
	bool path_style; /* the bucket is in the path instead of the name of the host */
	bool insecure; /* the user allows http to another machine */
	/* Derived from the members above. */
	char *origin; /* "https://HOST", which requests are sent to */
	char *host; /* the value of the Host header */
	char *root; /* the path of the bucket, without a slash at the end */
};

/*
 * Parses s3://BUCKET[/PREFIX][?endpoint=URL&region=R&style=path|virtual&insecure=1], in which
 * values may contain %XX. The endpoint defaults to AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL of the
 * environment, or else https://s3.REGION.amazonaws.com (with ".cn" appended in regions cn-*). The
 * region defaults to AWS_REGION or AWS_DEFAULT_REGION, or else us-east-1. The style defaults to
 * virtual at amazonaws.com if the bucket can be a label of a host name, and to path otherwise. An
 * endpoint without TLS must be on this machine, unless `insecure` is given. -EINVAL: `err` says
 * what is wrong and what would be right, without any part of the text that may be a secret.
 */
int ofs_location_parse(const char *text, struct ofs_error *err, struct ofs_location *ret);

void ofs_location_finish(struct ofs_location *l);

/*
 * Allocated: the complete location, with the values from the environment, to be shown or parsed
 * again.
 */
char *ofs_location_text(const struct ofs_location *l);

/*
 * True for letters, digits, '/', '_', '.' and '-', if each name between slashes is not empty, "."
 * or "..". Such paths need no encoding anywhere.
 */
bool ofs_location_is_path(const char *path);

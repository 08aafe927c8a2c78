/* SPDX-License-Identifier: MIT */
/* Where a bucket is, and the place in it that is ours. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

/* All allocated, and the same for as long as it lives. */
struct ofs_location {
	char *bucket;
	char *prefix; /* without a slash at its ends; "": the whole bucket */
	char *endpoint; /* "https://host:port/path", without a slash at its end; without the bucket */
	char *region;
	bool path_style; /* the bucket is in the path, not in the name of the host */
	bool insecure; /* http to another machine was asked for */
	/* What follows from these. */
	char *origin; /* "https://HOST", which requests go to */
	char *host; /* the value of the header of that name */
	char *root; /* the path of the bucket, without a slash at its end */
};

/*
 * Reads s3://BUCKET[/PREFIX][?endpoint=URL&region=R&style=path|virtual&insecure=1], where values
 * may have %XX. What is not given is taken from the environment: the endpoint from
 * AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL (else https://s3.REGION.amazonaws.com, of regions cn-* with
 * .cn behind it), the region from
 * AWS_REGION or AWS_DEFAULT_REGION (else us-east-1). The style is virtual at amazonaws.com for a
 * bucket that can be a label of a host name, else path. An endpoint without TLS must be on this
 * machine, unless `insecure` is given. -EINVAL: `err` says what is wrong and what would be right,
 * without anything of the text that may be a secret.
 */
int ofs_location_parse(const char *text, struct ofs_error *err, struct ofs_location *ret);

void ofs_location_finish(struct ofs_location *l);

/* Allocated: the location with all that the environment gave, to be shown or parsed again. */
char *ofs_location_text(const struct ofs_location *l);

/*
 * Letters, digits, '/', '_', '.' and '-', and between slashes a name that is not empty, "." or
 * "..": such paths need no encoding anywhere.
 */
bool ofs_location_is_path(const char *path);

/* SPDX-License-Identifier: MIT */
/*
 * The XML of S3's answers: what is needed of it, read strictly. Elements that are not known are
 * passed over. A text is what a server sent, decoded, and may be any bytes but NUL.
 */
#pragma once

#include "base/buf.h"

/* A refusal, cut to what fits. */
struct ofs_s3_refusal {
	char code[64]; /* "NoSuchKey"; "": there is none */
	char message[256];
	char region[64]; /* where the bucket is; "": not said */
};

/* -EBADMSG: it is no refusal. */
int ofs_s3_xml_refusal(const void *xml, size_t len, struct ofs_s3_refusal *ret);

/* How a page of ListObjectsV2 ends. Begins as zeros. */
struct ofs_s3_page {
	bool truncated; /* there is another page */
	struct ofs_buf token; /* a string, to ask for that */
};

/*
 * Calls `fn` for each object of a page, in its order; it may return nonzero, which ends the reading
 * and is returned. -EBADMSG: it is no such page; `fn` may have been called for what comes before.
 */
int ofs_s3_xml_list(const void *xml, size_t len,
		    int (*fn)(void *arg, const char *key, uint64_t size), void *arg,
		    struct ofs_s3_page *ret);

/*
 * The first key that a multi-object delete failed for, a missing one left out. 1: there is one; 0:
 * none; -EBADMSG: it is no result of that.
 */
int ofs_s3_xml_deleted(const void *xml, size_t len, struct ofs_buf *ret_key,
		       struct ofs_s3_refusal *ret);

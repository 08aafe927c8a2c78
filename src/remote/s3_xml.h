/* SPDX-License-Identifier: MIT */
/*
 * Reads what is needed of the XML that S3 answers, strictly. Unknown elements are skipped. Texts
 * are decoded from what the server sent, and may hold any bytes but NUL.
 */
#pragma once

#include "base/buf.h"

/* A refusal. Texts that are too long are truncated. */
struct ofs_s3_refusal {
	char code[64]; /* "NoSuchKey"; "": none */
	char message[256];
	char region[64]; /* where the bucket is; "": not given */
};

/* -EBADMSG: not a refusal. */
int ofs_s3_xml_refusal(const void *xml, size_t len, struct ofs_s3_refusal *ret);

/* The end of a page of ListObjectsV2. Zero-initialized. */
struct ofs_s3_page {
	bool truncated; /* another page follows */
	struct ofs_buf token; /* a string that requests the next page */
};

/*
 * Calls `fn` for each object of a page, in order. A nonzero return of `fn` ends the reading and is
 * returned. -EBADMSG: not such a page; `fn` may have been called for the part before the error.
 */
int ofs_s3_xml_list(const void *xml, size_t len,
		    int (*fn)(void *arg, const char *key, uint64_t size), void *arg,
		    struct ofs_s3_page *ret);

/*
 * Finds the first key that a multi-object delete failed to remove; missing objects are no failures.
 * 1: *ret_key and *ret are set; 0: there is none; -EBADMSG: not the result of a delete.
 */
int ofs_s3_xml_deleted(const void *xml, size_t len, struct ofs_buf *ret_key,
		       struct ofs_s3_refusal *ret);

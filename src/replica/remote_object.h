/* SPDX-License-Identifier: MIT */
/*
 * Objects of the remote other than packs: a header (JSON) and a body.
 *
 *   offset  size
 *        0     8  "OFSobjct"
 *        8     4  version of the protocol, 1
 *       12     4  H, length of the header
 *       16     8  B, length of the body as it is stored
 *       24     8  length of the expanded body; if it is B, the body is stored as is, else with zstd
 *       32     H  header, a JSON object
 *     32+H     B  body
 *        .    32  SHA-256 of everything before
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "base/buf.h"

#define OFS_REMOTE_VERSION 1u
#define OFS_REMOTE_BODY_MAX (UINT64_C(256) << 20) /* largest expanded body in bytes */

struct ofs_remote_object {
	json_t *header;
	struct ofs_buf body;
};

void ofs_remote_object_finish(struct ofs_remote_object *o);

/* Appends the encoded object to `ret`. Compresses the body if that helps. 0 or -errno. */
int ofs_remote_object_encode(const json_t *header, const void *body, size_t len,
			     struct ofs_buf *ret);

/*
 * Decodes any bytes. -EBADMSG: no such object, or damaged; -EPROTONOSUPPORT: unknown version;
 * -ENOMEM.
 */
int ofs_remote_object_decode(const void *bytes, size_t len, struct ofs_remote_object *ret);

/* SPDX-License-Identifier: MIT */
/* What texts and calls name that must be found again: pointers, identifiers, addresses, commits. */
#ifndef OFS_CONTEXT_SNAPSHOT_NAMED_H
#define OFS_CONTEXT_SNAPSHOT_NAMED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "context/json/span.h"
#include "context/snapshot/digest.h"

/* Where the next pointer in a text begins; NULL: there is none. */
const char *ofs_named_pointer(const char *text, size_t len);

/* Notes all pointers of a text. */
void ofs_named_pointers(struct ofs_digest *d, const char *text, size_t len);

/* Notes identifiers among the arguments of a call: what is named "..._id", "url", "commit", at any depth. */
void ofs_named_args(struct ofs_digest *d, struct ofs_span args);

/* The same for what a call gave back; only its own members, which may be of something that was made. */
void ofs_named_result(struct ofs_digest *d, struct ofs_span object);

/* Notes addresses of pages in a text. */
void ofs_named_urls(struct ofs_digest *d, const char *text, size_t len);

/* Notes the commit that an output of git begins with: "[main 1a2b3c4] subject". */
void ofs_named_commit(struct ofs_digest *d, const char *text, size_t len);

#endif

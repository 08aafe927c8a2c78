/* SPDX-License-Identifier: MIT */
/*
 * What a tree remembers of a file that it removed: an object with ref, path, size, lines, sha256,
 * tier, task, category, title, tags, created, used, removed (times), reason and why, any of which
 * may be null.
 */
#ifndef OFS_CLI_GONE_H
#define OFS_CLI_GONE_H

#include <jansson.h>

#include "client/backend.h"

/*
 * Reads it; `path` is in refs/, with or without the suffix of a slice. -ENOENT: `path` is
 * elsewhere; -EPROTO: what the tree says is no such object; or -errno.
 */
int ofs_gone_load(struct ofs_backend *b, const char *path, json_t **ret);

/* NULL where the object has no such text. */
const char *ofs_gone_text(const json_t *gone, const char *key);

/*
 * Allocated: "k3f9x2 was cache/shell/x, 4,200 bytes, 120 lines; it was removed at
 * 2026-01-31T12:00:00Z (expired): unused for 41m".
 */
char *ofs_gone_sentence(const json_t *gone);

#endif

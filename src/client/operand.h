/* SPDX-License-Identifier: MIT */
/* A file named by its ref or path, or what the tree remembers of it after its removal. */
#pragma once

#include <jansson.h>

#include "client/backend.h"
#include "client/target.h"

struct ofs_operand {
	struct ofs_target target;
	struct ofs_backend *backend;
	char *path; /* in the tree; normalized */
	struct stat attr;
	json_t *gone; /* what the tree remembers of a removed file; else NULL */
};

/* True if `arg` has the form of a ref: 1 to 8 of [0-9a-z]. */
bool ofs_operand_is_ref(const char *arg);

/*
 * Opens the tree that `arg` belongs to and finds the file. In this order, `arg` is a path into a
 * mounted tree, whatever the options say; a ref; or a path in the tree that the options name, with
 * or without its mountpoint. What has the form of a ref but is none may be a name at the root.
 *
 * `o` is empty or the previous operand, whose tree stays open if both lie in the same one. On
 * failure `o` has no file, but must still be finished. -EKEYEXPIRED: the file has expired, and
 * `o->gone` describes it if the tree can. 0 or -errno.
 */
int ofs_operand_open(const struct ofs_target_options *options, const char *arg,
		     struct ofs_error *err, struct ofs_operand *o);

/*
 * Finds the file at o->path in the open tree, as ofs_operand_open() does: follows a link, and
 * enters the tree of the agent that a ref belongs to. Messages call the file `arg`. 0 or -errno.
 */
int ofs_operand_find(const char *arg, struct ofs_error *err, struct ofs_operand *o);
void ofs_operand_finish(struct ofs_operand *o);

/*
 * Returns the path of the file as displayed in the current directory, or its path in the tree if
 * that is not mounted. Allocated.
 */
char *ofs_operand_display(const struct ofs_operand *o);

/*
 * Turns a slice as people write it into the suffix that the tree understands, allocated: ":10-20"
 * for "10-20", ":10-20" and "L10-L20". Leaves it to the tree whether the slice is valid. NULL:
 * `spec` cannot be part of a name.
 */
char *ofs_slice_suffix(const char *spec);

/*
 * Sets *ret to what a tree remembers of a file that it removed: an object with ref, path, size,
 * lines, sha256, tier, task, category, title, tags, created, used, removed (times), reason and why,
 * any of which may be null. `path` is in refs/ (else -ENOENT), with or without the suffix of a
 * slice. -EPROTO: the answer of the tree is not an object; or another -errno.
 */
int ofs_gone_load(struct ofs_backend *b, const char *path, json_t **ret);

/*
 * Returns, allocated, "k3f9x2 was cache/shell/x, 4,200 bytes, 120 lines; it was removed at
 * 2026-01-31T12:00:00Z (expired): unused for 41m".
 */
char *ofs_gone_sentence(const json_t *gone);

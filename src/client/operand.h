/* SPDX-License-Identifier: MIT */
/* A file that somebody named by its ref or its path, and what is remembered of one that is gone. */
#pragma once

#include <jansson.h>

#include "client/backend.h"
#include "client/target.h"

struct ofs_operand {
	struct ofs_target target;
	struct ofs_backend *backend;
	char *path; /* in the tree; without "." and doubled slashes */
	struct stat attr;
	json_t *gone; /* what the tree remembers of a file that was removed; else NULL */
};

/* True for what has the form of a ref: 1 to 8 of [0-9a-z]. */
bool ofs_operand_is_ref(const char *arg);

/*
 * Opens the tree that `arg` lies in and finds the file. A path into a mounted tree is of that tree
 * whatever the options say; else a ref; else a path in the tree that the options name, with or
 * without its mountpoint; a name at its root that has the form of a ref is one if no file has that.
 *
 * `o` is empty, or the operand before this one: when both lie in one tree, it stays open. On
 * failure there is no file in `o`, and it is still to be finished. -EKEYEXPIRED: the file has
 * expired; then `o->gone` tells of it, unless the tree cannot.
 */
int ofs_operand_open(const struct ofs_target_options *options, const char *arg,
		     struct ofs_error *err, struct ofs_operand *o);

/*
 * Finds the file `arg`, which is o->path in the tree that is open in `o`, as ofs_operand_open()
 * does: a link is followed, and of an agent's file the agent's tree is entered.
 */
int ofs_operand_find(const char *arg, struct ofs_error *err, struct ofs_operand *o);
void ofs_operand_finish(struct ofs_operand *o);

/*
 * Allocated: the file's path as it may be written in the current directory; in the tree when it is
 * not mounted.
 */
char *ofs_operand_display(const struct ofs_operand *o);

/*
 * Allocated: what people write for a slice as the suffix that the tree understands, and judges:
 * ":10-20" for "10-20", ":10-20" and "L10-L20"; NULL for what cannot be part of a name.
 */
char *ofs_slice_suffix(const char *spec);

/*
 * Reads what a tree remembers of a file that it removed: an object with ref, path, size, lines,
 * sha256, tier, task, category, title, tags, created, used, removed (times), reason and why, any of
 * which may be null. `path` is in refs/, with or without the suffix of a slice. -ENOENT: it is
 * elsewhere; -EPROTO: the tree's answer is no such object; or -errno.
 */
int ofs_gone_load(struct ofs_backend *b, const char *path, json_t **ret);

/*
 * Allocated: "k3f9x2 was cache/shell/x, 4,200 bytes, 120 lines; it was removed at
 * 2026-01-31T12:00:00Z (expired): unused for 41m".
 */
char *ofs_gone_sentence(const json_t *gone);

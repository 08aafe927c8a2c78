/* SPDX-License-Identifier: MIT */
/* A file that somebody named by its ref or its path. */
#ifndef OFS_CLI_OPERAND_H
#define OFS_CLI_OPERAND_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

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
int ofs_operand_open(const struct ofs_target_options *opts, const char *arg, struct ofs_error *err,
		     struct ofs_operand *o);
void ofs_operand_finish(struct ofs_operand *o);

/*
 * Allocated: the file's path as it may be written in the current directory; in the tree when it is
 * not mounted.
 */
char *ofs_operand_display(const struct ofs_operand *o);

#endif

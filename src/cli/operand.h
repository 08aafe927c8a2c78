/* SPDX-License-Identifier: MIT */
/* A file that somebody named by its ref or its path. */
#ifndef OFS_CLI_OPERAND_H
#define OFS_CLI_OPERAND_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cli/backend.h"
#include "cli/target.h"

struct ofs_operand {
	struct ofs_target target;
	struct ofs_backend *backend;
	char *path; /* in the tree */
	struct stat attr;
};

/* True for what has the form of a ref: 1 to 8 of [0-9a-z]. */
bool ofs_operand_is_ref(const char *arg);

/*
 * Opens the tree that `arg` lies in and finds the file. A path into a mounted tree is of that tree
 * whatever the options say; else a ref; else a path in the tree that the options name, with or
 * without its mountpoint.
 */
int ofs_operand_open(const struct ofs_target_options *opts, const char *arg, struct ofs_error *err,
		     struct ofs_operand *ret);
void ofs_operand_finish(struct ofs_operand *o);

/*
 * Allocated: the file's path as it may be written in the current directory; in the tree when it is
 * not mounted.
 */
char *ofs_operand_display(const struct ofs_operand *o);

#endif

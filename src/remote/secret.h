/* SPDX-License-Identifier: MIT */
/*
 * Secrets that the user keeps in a file, or that a command prints. `err` describes errors without a
 * word of the command, its output or the content of the file.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"

/*
 * Reads a file of up to 1 MiB that belongs to the caller or root, and that nobody else may read or
 * write. 1; 0: there is no file; -EACCES: it cannot be read, or must not be used.
 */
int ofs_secret_read_file(const char *path, struct ofs_error *err, struct ofs_buf *ret);

/*
 * Reads up to 64 KiB that a command prints, which /bin/sh runs for at most a minute. `what` names
 * it in errors: "the credentials command". 0 or -EACCES.
 */
int ofs_secret_run(const char *command, const char *what, struct ofs_error *err,
		   struct ofs_buf *ret);

/*
 * Wipes and frees the result of these functions, for OFS_CLEANUP. Appending to it might leave a
 * copy behind.
 */
void ofs_secret_finish(struct ofs_buf *b);

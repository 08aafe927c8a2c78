/* SPDX-License-Identifier: MIT */
/*
 * Secrets that the user keeps in a file or has a command print. Errors are told in `err` without a
 * word of the command, its output or the file's content.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"

/*
 * Reads a file of up to 1 MiB that must be the caller's or root's and nobody else's to read or
 * write. 1; 0: there is none; -EACCES: it cannot be read, or must not be used.
 */
int ofs_secret_read_file(const char *path, struct ofs_error *err, struct ofs_buf *ret);

/*
 * Reads what a command, which /bin/sh runs for at most a minute, prints, up to 64 KiB. `what` names
 * it: "the credentials command". 0 or -EACCES.
 */
int ofs_secret_run(const char *command, const char *what, struct ofs_error *err,
		   struct ofs_buf *ret);

/* Wipes and frees what these read; fit for OFS_CLEANUP. To append might leave a copy behind. */
void ofs_secret_finish(struct ofs_buf *b);

/* SPDX-License-Identifier: MIT */
#ifndef OFFLOADFS_ERROR_H
#define OFFLOADFS_ERROR_H

#include <offloadfs/export.h>

/**
 * An error in words for a person: one line, without the program's name and without a final newline,
 * that says what was wrong and, where it can, what would be right.
 *
 * Filled by calls that open or configure something. Calls on the data path return only -errno.
 */
struct ofs_error {
	char text[512];
};

/**
 * Writes the formatted message into `err` (which may be NULL) and returns `-code`, so that a
 * failing function can end in `return ofs_error_set(err, ENOENT, "...")`. Truncates a message that
 * does not fit.
 */
OFS_EXPORT int ofs_error_set(struct ofs_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

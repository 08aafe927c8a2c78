/* SPDX-License-Identifier: MIT */
/* Finds failures in the output of tools, and the lines that describe them best. */
#pragma once

#include "base/buf.h"

/*
 * Finds a failure in an output, and appends the line that describes it to `ret_line`, in one line.
 * `shown`: the output shows files, in which a word such as "error" means nothing, so only its start
 * counts. Returns false if nothing seems to have failed.
 */
bool ofs_trouble_find(const char *text, size_t len, bool shown, struct ofs_buf *ret_line);

/* Returns whether a text starts like a failure, a rejection or an exception. */
bool ofs_trouble_begins(const char *text, size_t len);

/* SPDX-License-Identifier: MIT */
/* Failures that outputs of tools tell of, and the lines that say it best. */
#pragma once

#include "base/buf.h"

/*
 * Looks at an output. `shown`: it is the text of files, in which words such as "error" mean
 * nothing, so that only its start and end count. Appends the telling line to `ret_line`, as one
 * line. False: nothing failed, as far as it can be seen.
 */
bool ofs_trouble_find(const char *text, size_t len, bool shown, struct ofs_buf *ret_line);

/* Whether a text starts as a failure, a rejection or an exception does, and not as an answer. */
bool ofs_trouble_begins(const char *text, size_t len);

/* SPDX-License-Identifier: MIT */
/* What libmicrohttpd takes for the head of a request, and should not. */
#pragma once

#include "base/util.h"

/*
 * libmicrohttpd 0.9.75 takes a bare LF for the end of a line, joins folded lines, and ends values at
 * a NUL. It parses in place: blanks, colons and each byte of a line's end become NUL, and the `len`
 * bytes from the method on are the whole head. False: a line ended otherwise than by CR LF, began
 * with a blank, or had a NUL. `version` is that of the first line, in these bytes.
 */
bool ofs_strict_check(const char *head, size_t len, const char *version);

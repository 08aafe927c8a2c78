/* SPDX-License-Identifier: MIT */
/* Detects heads of requests that libmicrohttpd accepts and should refuse. */
#pragma once

#include "base/util.h"

/*
 * libmicrohttpd 0.9.75 accepts a bare LF as the end of a line, joins folded lines, and ends values
 * at a NUL. It parses in place: blanks, colons and each byte of a line's end become NUL, and the
 * `len` bytes from the method on are the whole head. `version` points to the version of the first
 * line in them. Returns false if a line did not end with CR LF, began with a blank, or had a NUL.
 */
bool ofs_strict_check(const char *head, size_t len, const char *version);

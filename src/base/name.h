/* SPDX-License-Identifier: MIT */
/* Names in a text: strings that no word is, such as paths, identifiers and numbers. */
#pragma once

#include <stddef.h>

/*
 * The next name of 8 to 160 bytes (ASCII) at or after *p, which is moved past it. A line number
 * behind a colon at its end is not part of it. NULL: there is none before `end`.
 */
const char *ofs_name_next(const char **p, const char *end, size_t *ret_len);

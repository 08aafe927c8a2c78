/* SPDX-License-Identifier: MIT */
/* Names in a text: strings that no word is, such as paths, identifiers and numbers; of files. */
#pragma once

#include <stddef.h>

/*
 * The next name of 8 to 160 bytes (ASCII) at or after *p, which is moved past it. A line number
 * behind a colon at its end is not part of it. NULL: there is none before `end`.
 */
const char *ofs_name_next(const char **p, const char *end, size_t *ret_len);

#define OFS_NAME_NUMBERED_MAX 255

/*
 * The name that a file gets where its own is taken, the `number`th: "log-2.txt" for "log.txt" and
 * 2; for 1 the name itself. Cut where it would be too long for a name.
 */
void ofs_name_number(const char *name, unsigned int number, char ret[OFS_NAME_NUMBERED_MAX + 1]);

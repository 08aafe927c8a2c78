/* SPDX-License-Identifier: MIT */
/* Finds names in a text (paths, identifiers, numbers, but not words), and makes names of files. */
#pragma once

#include <stddef.h>

/*
 * Returns the next name of 8 to 160 ASCII bytes at or after *p, and moves *p past it. Excludes a
 * line number after a colon at its end. Returns NULL if there is none before `end`.
 */
const char *ofs_name_next(const char **p, const char *end, size_t *ret_len);

#define OFS_NAME_NUMBERED_MAX 255

/*
 * Writes a variant of `name` for a file whose name is taken: "log-2.txt" for "log.txt" and 2, the
 * name itself for 1. Shortens the stem if the result would be too long.
 */
void ofs_name_number(const char *name, unsigned int number, char ret[OFS_NAME_NUMBERED_MAX + 1]);

/* SPDX-License-Identifier: MIT */
/*
 * An outline of content, short enough for a prompt: the shape of JSON, lines that report errors,
 * the last lines, and an index of rare names with the line of their first use. It has no secrets
 * and is harmless to a terminal. The same bytes always give the same outline.
 */
#pragma once

#include <stdio.h>

#include "client/content.h"

/* Maximum size of an outline in bytes, without its headings. */
#define OFS_OUTLINE_MAX 1200

/*
 * Prints the outline of content that is not binary in about `max` bytes. Marks parts that are cut.
 * 0 or -errno.
 */
int ofs_outline_print(const struct ofs_content *c, size_t max, FILE *out);

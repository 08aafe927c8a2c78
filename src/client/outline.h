/* SPDX-License-Identifier: MIT */
/*
 * What is in a content, in a size fit for a prompt: for JSON its shape; lines that tell of errors,
 * and the last ones; and an index of rare names with the lines they are first on. Without secrets,
 * harmless to a terminal, and the same for the same bytes.
 */
#pragma once

#include <stdio.h>

#include "client/content.h"

/* Bytes that an outline has at most, but for its headings. */
#define OFS_OUTLINE_MAX 1200

/*
 * Prints the outline of a content that is not binary in about `max` bytes. A part that is cut says
 * so. 0 or -errno.
 */
int ofs_outline_print(const struct ofs_content *c, size_t max, FILE *out);

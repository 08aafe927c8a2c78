/* SPDX-License-Identifier: MIT */
/* The kind of a file, by its name and its first bytes. */
#ifndef OFS_CONTEXT_STEPS_FILETYPE_H
#define OFS_CONTEXT_STEPS_FILETYPE_H

#include <stddef.h>

#include "client/content.h"

struct ofs_filetype {
	const char *name; /* for a sentence: "JSON", "Python", "PNG image", "text"; static */
	const char *mime; /* static */
};

/*
 * `path` (may be NULL) decides, unless the content contradicts it; then `content` and the text do.
 * Unknown types are "text" or "binary".
 */
struct ofs_filetype ofs_filetype_find(const char *path, const struct ofs_content *content,
				      const char *text, size_t len);

#endif

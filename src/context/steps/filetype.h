/* SPDX-License-Identifier: MIT */
/* What kind of file something is, by its name and by its first bytes. */
#ifndef OFS_CONTEXT_STEPS_FILETYPE_H
#define OFS_CONTEXT_STEPS_FILETYPE_H

#include <stddef.h>

#include "client/content.h"

struct ofs_filetype {
	const char *name; /* for a sentence: "JSON", "Python", "PNG image", "text"; static */
	const char *mime; /* static */
};

/*
 * `path` (NULL: none) decides, unless the content is of another nature; then `content` and the text itself. Never
 * fails: what is not known is "text" or "binary".
 */
struct ofs_filetype ofs_filetype_find(const char *path, const struct ofs_content *content,
				      const char *text, size_t len);

#endif

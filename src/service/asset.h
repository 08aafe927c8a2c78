/* SPDX-License-Identifier: MIT */
/* Files that the build embeds in the program (tools/embed). Everything is static. */
#pragma once

#include <stddef.h>

struct ofs_asset {
	const char *name; /* "app.js" */
	const char *type; /* for Content-Type */
	const unsigned char *data; /* followed by a NUL */
	size_t len;
	const char *sha256; /* in base64, as in a Content-Security-Policy */
};

/* Each table ends with an asset without a name. */
extern const struct ofs_asset ofs_call_assets[]; /* calls.json */
extern const struct ofs_asset ofs_page_assets[]; /* index.html and what it loads */

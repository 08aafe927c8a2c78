/* SPDX-License-Identifier: MIT */
/* JSON that attributes and virtual files answer with. */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* A wall clock time in nanoseconds as text; null for one that cannot be written. */
json_t *ofs_json_time(int64_t ns);

/* Appends the text of `json` in the form of `flags` (see json_dumps()), and releases it. */
void ofs_json_append(json_t *json, size_t flags, struct ofs_buf *out);

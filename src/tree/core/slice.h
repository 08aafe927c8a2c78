/* SPDX-License-Identifier: MIT */
/* The grammar of slices: names that denote some lines or bytes of a file. Pure text, no I/O. */
#pragma once

#include "base/buf.h"

/* Lines count from 1, bytes from 0; ranges include both ends. INFO and SUMMARY have no range. */
struct ofs_slice_spec {
	enum {
		OFS_SLICE_LINES,
		OFS_SLICE_LAST_LINES,
		OFS_SLICE_BYTES,
		OFS_SLICE_INFO,
		OFS_SLICE_SUMMARY
	} kind;
	uint64_t first; /* LAST_LINES: how many */
	uint64_t last; /* UINT64_MAX: to the end */
};

/*
 * Parses a name: F:120-180, F:120, F:120-, F:-50, F#L120-L180, F#L120, F@L120-180, F:b0-4095,
 * F:info, F:summary.
 * Returns 0 and sets the length of the base name and the spec. -ENOENT: the name does not end like
 * a slice. -EINVAL: it does, but is reversed, malformed or starts at line 0; `ret_base` is set then
 * as well, since this is an error only if the base exists.
 */
int ofs_slice_parse(const char *name, size_t *ret_base, struct ofs_slice_spec *ret);

/* Appends the part after a file's name and a colon: "120-180", "120-", "-50", "b0-4095", "info". */
void ofs_slice_print(const struct ofs_slice_spec *spec, struct ofs_buf *out);

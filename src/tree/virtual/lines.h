/* SPDX-License-Identifier: MIT */
/* Finds lines in the base of slices: converts line numbers to byte ranges, within the limits. */
#pragma once

#include "tree/core/tree_state.h"
#include "tree/core/slice.h"

/* The base of slices: a file of the store, or a text made by the tree. */
struct ofs_source {
	struct ofs_tree *tree;
	struct ofs_attr attr;
	const struct ofs_buf *text; /* NULL: the content of inode attr.ino */
	bool here; /* content that must be fetched from a remote is -EAGAIN */
};

/* Reads like pread(2). Returns the number of bytes, or -errno. */
ssize_t ofs_source_read(const struct ofs_source *src, void *buf, size_t size, uint64_t off);

/* Sets *ret to the number of lines; a last one without a newline counts. Returns 0 or -errno. */
int ofs_source_lines(const struct ofs_source *src, uint64_t *ret);

/*
 * Returns the tokens of a file, estimated from its start and remembered for its content. If the
 * content is unreadable, counts a token for every four bytes.
 */
uint64_t ofs_source_tokens(struct ofs_tree *t, const struct ofs_attr *file);

/* A resolved slice. */
struct ofs_range {
	uint64_t off; /* in the base */
	uint64_t len;
	struct ofs_buf notice; /* follows the bytes if a limit cut the slice short; else empty */
};

/*
 * Finds the bytes of a slice. `path` names the base in the notice. Returns 0, -ERANGE if the slice
 * starts past the end, or another -errno. The caller frees ret->notice in either case.
 */
int ofs_range_resolve(const struct ofs_source *base, const struct ofs_slice_spec *spec,
		      const char *path, struct ofs_range *ret);

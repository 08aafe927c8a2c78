/* SPDX-License-Identifier: MIT */
/* Finding lines in what slices are cut from: from numbers to byte ranges, under the caps. */
#pragma once

#include "tree/core/tree_state.h"
#include "tree/core/slice.h"

/* A file of the store, or a text that the tree makes. */
struct ofs_source {
	struct ofs_tree *tree;
	struct ofs_attr attr;
	const struct ofs_buf *text; /* NULL: the content of inode attr.ino */
};

ssize_t ofs_source_read(const struct ofs_source *src, void *buf, size_t size, uint64_t off);

/* Lines as sed counts them: one without a final newline counts. */
int ofs_source_lines(const struct ofs_source *src, uint64_t *ret);

/*
 * The tokens of a file, estimated from its start, once for each content. Unreadable content counts
 * four bytes a token, as in text.
 */
uint64_t ofs_source_tokens(struct ofs_tree *t, const struct ofs_attr *file);

/* A resolved slice. */
struct ofs_range {
	uint64_t off; /* in the base file */
	uint64_t len;
	struct ofs_buf notice; /* appended where a cap cut the slice short; else empty */
};

/*
 * Finds the bytes of a slice. -ERANGE: it starts past the end. `path` names the base in the notice.
 */
int ofs_range_resolve(const struct ofs_source *base, const struct ofs_slice_spec *spec,
		      const char *path, struct ofs_range *ret);

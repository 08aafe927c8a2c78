/* SPDX-License-Identifier: MIT */
/*
 * Running a query: through the search index (search_kept.c), and by walking and reading files
 * (search.c). None of it counts as a use of a file.
 */
#pragma once

#include "tree/core/tree_state.h"
#include "tree/search/query.h"

/* Appends the hits of a query. 0 or -errno. */
int ofs_search_run(struct ofs_tree *t, const struct ofs_query *q, struct ofs_buf *out);

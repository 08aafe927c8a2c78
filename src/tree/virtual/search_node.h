/* SPDX-License-Identifier: MIT */
/* Names in search/: files with the answers to queries. */
#ifndef OFS_TREE_VIRTUAL_SEARCH_NODE_H
#define OFS_TREE_VIRTUAL_SEARCH_NODE_H

#include "tree/core/tree_state.h"

struct ofs_searches *ofs_searches_create(void);
void ofs_searches_destroy(struct ofs_searches *s);

/*
 * A file with the answer to the query `name`, "%2F" for '/' in it. -EINVAL: the query is malformed;
 * -EACCES: the caller (NULL: may do all) is neither root nor the owner of the store.
 */
int ofs_search_lookup(struct ofs_tree *t, const char *name, const struct ofs_cred *cred,
		      struct ofs_entry *ret);

#endif

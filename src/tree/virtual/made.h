/* SPDX-License-Identifier: MIT */
/*
 * Virtual nodes that come with a lookup and go with the last reference. Their numbers are derived
 * from what they say, so that looking the same thing up again gives the same node (cp and others
 * look twice), and looking another thing up never does: the kernel keeps what it has read of one.
 */
#ifndef OFS_TREE_VIRTUAL_MADE_H
#define OFS_TREE_VIRTUAL_MADE_H

#include "tree/core/tree_state.h"
#include "tree/virtual/lines.h"

struct ofs_made_nodes *ofs_made_nodes_create(void);
void ofs_made_nodes_destroy(struct ofs_made_nodes *n);

/* Guards the table, and what changes of its nodes; never held while the store is called. */
void ofs_made_lock(struct ofs_tree *t);
void ofs_made_unlock(struct ofs_tree *t);

/* How many there are. */
uint64_t ofs_made_count(struct ofs_tree *t);

/* A slice of a file of the store. */
struct ofs_slice {
	uint64_t base; /* the inode; not held, so that a slice never keeps removed content */
	struct ofs_slice_spec spec;
	char *path; /* of the base, as its notice names it */
	uint64_t version; /* of the base's content when it was resolved; see ofs_made_lock() */
	struct ofs_range range;
};

/* Constant once it is in the table, except refs and slice->version. */
struct ofs_made {
	ofs_node node;
	uint64_t refs;
	struct ofs_attr attr; /* but of slices */
	struct ofs_buf text; /* content, or the name of a directory in views/ */
	ofs_node parent; /* of a directory */
	struct ofs_slice *slice; /* NULL: not a slice */
};

/* Enters a node with one reference; one of that number that is there already gets it. Takes `m`. */
void ofs_made_share(struct ofs_tree *t, struct ofs_made *m);

/* With a reference, to be given back by ofs_made_put(), which takes NULL too; NULL: there is none. */
struct ofs_made *ofs_made_get(struct ofs_tree *t, ofs_node node);
void ofs_made_put(struct ofs_tree *t, struct ofs_made *m);

void ofs_made_forget(struct ofs_tree *t, ofs_node node, uint64_t n);
void ofs_made_destroy(struct ofs_made *m);

/* The number of a node that is `name` in `parent`, and says that. */
ofs_node ofs_made_derive(ofs_node parent, const char *name, const void *what, size_t len);

/*
 * A file with the content `text`, which is taken, also on failure; `attr` says what else it is like.
 */
void ofs_made_text(struct ofs_tree *t, ofs_node parent, const char *name,
		   const struct ofs_attr *attr, struct ofs_buf *text, struct ofs_entry *ret);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Virtual nodes made by a lookup, which go with their last reference. A node's number is derived
 * from its content. The same content gives the same node, since programs such as cp look names up
 * twice; different content gives a different node, since the kernel caches what it has read.
 */
#pragma once

#include <sys/queue.h>

#include "codec/hash.h"
#include "tree/core/root.h"
#include "tree/virtual/lines.h"

struct ofs_made_nodes *ofs_made_nodes_create(void);
void ofs_made_nodes_destroy(struct ofs_made_nodes *n);

/*
 * Limit of the memory for slices and texts. A program can hold any number of nodes: beyond the
 * limit the least recently used lose their content, and reading them gives -ESTALE until they are
 * looked up again. Directories of views always stay.
 */
#define OFS_MADE_BYTES_MAX ((size_t)64 << 20)

/* Returns the number of nodes, including those without content. */
uint64_t ofs_made_count(struct ofs_tree *t);

/* A slice of a file of the store. */
struct ofs_slice {
	uint64_t base; /* its inode; not held, so that a slice never keeps removed content */
	struct ofs_slice_spec spec;
	char *path; /* of the base, for the notice */
	_Atomic uint64_t version; /* of the base's content when last resolved */
	uint64_t access; /* checksum of the base's owner and rights at the lookup */
	int64_t asked; /* last lookup, wall clock; guarded by made.c's lock */
	struct ofs_range range;
};

/* Constant once it is in the table, except for slice->version and what made.c's lock guards. */
struct ofs_made {
	ofs_node node;
	uint8_t id[OFS_SHA256_SIZE]; /* equal only for the same node; see ofs_made_derive() */
	uint64_t refs; /* guarded by made.c's lock, as are the next three */
	uint64_t users; /* how many of these are from ofs_made_get() */
	size_t bytes; /* memory it takes; 0: it never loses its content */
	TAILQ_ENTRY(ofs_made) by_use;
	struct ofs_attr attr; /* not set for slices */
	struct ofs_buf text; /* content, or the name of a directory in views/ */
	bool packed; /* the text is compressed; its full size is attr.size */
	ofs_node parent; /* of a directory in views/ */
	struct ofs_slice *slice; /* NULL: not a slice */
};

/*
 * Takes ownership of `m` and puts it into the table with one reference. If its node is there
 * already, that one gets the reference and `m` is freed. Returns its number, which is not m->node
 * if another node has that.
 */
ofs_node ofs_made_share(struct ofs_tree *t, struct ofs_made *m);

/* Returns the node with a reference for ofs_made_put(), or NULL. The latter ignores NULL. */
struct ofs_made *ofs_made_get(struct ofs_tree *t, ofs_node node);
void ofs_made_put(struct ofs_tree *t, struct ofs_made *m);

/* Drops `n` references of the kernel. */
void ofs_made_forget(struct ofs_tree *t, ofs_node node, uint64_t n);

/* A slice that is in the table. */
struct ofs_slice_use {
	uint64_t base;
	struct ofs_slice_spec spec;
	uint64_t bytes;
	int64_t asked;
};

/* Sets up to `max` of `ret`, most recently used first, and returns their number. */
size_t ofs_made_list_slices(struct ofs_tree *t, struct ofs_slice_use *ret, size_t max);

/* Appends the content of a file made by ofs_made_text(). Returns 0 or -errno. */
int ofs_made_get_text(const struct ofs_made *m, struct ofs_buf *out);

/*
 * Sets the identity of the node `name` in `parent` with the owner and the read permissions of
 * `access` and the content `what`, and returns its number. A node keeps its attributes while it is
 * held, so rights are part of its identity. Nobody can predict the number.
 */
ofs_node ofs_made_derive(struct ofs_tree *t, ofs_node parent, const char *name,
			 const struct ofs_attr *access, const void *what, size_t len,
			 uint8_t ret_id[OFS_SHA256_SIZE]);

/*
 * Makes a file with the content `text`, which it takes over, and the owner, times and read
 * permissions of `attr`.
 */
void ofs_made_text(struct ofs_tree *t, ofs_node parent, const char *name,
		   const struct ofs_attr *attr, struct ofs_buf *text, struct ofs_entry *ret);

/*
 * Programs look a file up several times to read it and must get the same text each time. So the
 * latest texts of these kinds are kept, for as long as `rules` in made.c says.
 */
enum ofs_kept_kind {
	OFS_KEPT_STATUS,
	OFS_KEPT_SEARCH,
	OFS_KEPT_LIST,
	OFS_KEPT_RECAP,
	OFS_KEPT_KINDS
};

/* Appends a text. Returns 0, 1 if it must not be kept, or -errno. It may call the store. */
typedef int (*ofs_kept_fn)(struct ofs_tree *t, void *arg, struct ofs_buf *out);

/*
 * Appends the text `name` of a tree, kept or newly made. `state` is a checksum of everything that
 * it depends on, except the time. Returns 0 or -errno.
 */
int ofs_made_keep(struct ofs_tree *t, struct ofs_root *root, enum ofs_kept_kind kind,
		  const char *name, uint64_t state, ofs_kept_fn make, void *arg,
		  struct ofs_buf *out);

/* A kind of files whose names are requests. `make` gets a struct ofs_asked. */
struct ofs_answers {
	enum ofs_kept_kind kind;
	uint64_t (*state)(struct ofs_tree *t, struct ofs_root *root);
	ofs_kept_fn make;
};

struct ofs_asked {
	struct ofs_root *root;
	const char *name;
};

/*
 * Looks such a file up in one of the fixed directories. -EACCES: the caller does not own the tree,
 * since an answer names files even in directories that others may not search. -ESTALE: the tree is
 * gone.
 */
int ofs_made_answer(struct ofs_tree *t, ofs_node parent, const char *name,
		    const struct ofs_cred *cred, const struct ofs_answers *answers,
		    struct ofs_entry *ret);

/* Drops all texts of a tree that is gone. */
void ofs_made_drop_kept(struct ofs_tree *t, const struct ofs_root *root);

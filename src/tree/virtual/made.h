/* SPDX-License-Identifier: MIT */
/*
 * Virtual nodes that a lookup makes and that go with the last reference. Their numbers are derived
 * from their content: the same content gives the same node (cp and others look names up twice), and
 * other content another node, since the kernel keeps what it has read of one.
 */
#pragma once

#include <sys/queue.h>

#include "tree/core/root.h"
#include "tree/virtual/lines.h"

struct ofs_made_nodes *ofs_made_nodes_create(void);
void ofs_made_nodes_destroy(struct ofs_made_nodes *n);

/*
 * Bytes of memory for slices and texts. A program can hold any number of nodes: beyond this, those
 * that were not used for longest lose their content, and reading them is ESTALE until they are
 * looked up again. Directories of views stay.
 */
#define OFS_MADE_BYTES_MAX ((size_t)64 << 20)

/* The number of nodes. */
uint64_t ofs_made_count(struct ofs_tree *t);

/* A slice of a file of the store. */
struct ofs_slice {
	uint64_t base; /* the inode; not held, so that a slice never keeps removed content */
	struct ofs_slice_spec spec;
	char *path; /* of the base, as its notice names it */
	_Atomic uint64_t version; /* of the base's content when it was resolved */
	uint64_t access; /* stands for the rights to read it then */
	int64_t asked; /* when it was looked up last, by the wall clock; made.c's lock */
	struct ofs_range range;
};

/* Constant once it is in the table, except what made.c guards, and slice->version. */
struct ofs_made {
	ofs_node node;
	uint64_t refs; /* made.c, as the next three */
	uint64_t users; /* of those, between ofs_made_get() and ofs_made_put() */
	size_t bytes; /* that it occupies; 0: it stays */
	TAILQ_ENTRY(ofs_made) by_use;
	struct ofs_attr attr; /* but of slices */
	struct ofs_buf text; /* content, or the name of a directory in views/ */
	bool packed; /* the text is compressed, from attr.size bytes */
	ofs_node parent; /* of a directory */
	struct ofs_slice *slice; /* NULL: not a slice */
};

/*
 * Takes `m` into the table with one reference; if its node is there, that one gets the reference.
 */
void ofs_made_share(struct ofs_tree *t, struct ofs_made *m);

/* With a reference, for ofs_made_put(), which takes NULL too; NULL: there is no such node. */
struct ofs_made *ofs_made_get(struct ofs_tree *t, ofs_node node);
void ofs_made_put(struct ofs_tree *t, struct ofs_made *m);

void ofs_made_forget(struct ofs_tree *t, ofs_node node, uint64_t n);

/* A slice that somebody holds. */
struct ofs_slice_use {
	uint64_t base;
	struct ofs_slice_spec spec;
	uint64_t bytes;
	int64_t asked;
};

/* Sets up to `max` of `ret`, those that were used last first, and returns how many. */
size_t ofs_made_list_slices(struct ofs_tree *t, struct ofs_slice_use *ret, size_t max);

/* Appends the content of a file that ofs_made_text() made. 0 or -errno. */
int ofs_made_get_text(const struct ofs_made *m, struct ofs_buf *out);

/* The number of the node `name` in `parent` with the content `what`. */
ofs_node ofs_made_derive(ofs_node parent, const char *name, const void *what, size_t len);

/*
 * Makes a file with the content `text`, which is taken, and the owner, times and rights of `attr`.
 */
void ofs_made_text(struct ofs_tree *t, ofs_node parent, const char *name,
		   const struct ofs_attr *attr, struct ofs_buf *text, struct ofs_entry *ret);

/*
 * Programs look a file up several times to read it and must get the same text each time. So the
 * last texts of these kinds are kept, for as long as the table in made.c says.
 */
enum ofs_kept_kind {
	OFS_KEPT_STATUS,
	OFS_KEPT_SEARCH,
	OFS_KEPT_LIST,
	OFS_KEPT_RECAP,
	OFS_KEPT_KINDS
};

/* Appends a text. 0; 1: it is not to be kept; or -errno. The store may be called. */
typedef int (*ofs_kept_fn)(struct ofs_tree *t, void *arg, struct ofs_buf *out);

/*
 * Appends the text called `name` of a tree, kept or made now. `state` is a checksum of all that it depends on
 * but the time.
 */
int ofs_made_keep(struct ofs_tree *t, const struct ofs_root *root, enum ofs_kept_kind kind,
		  const char *name, uint64_t state, ofs_kept_fn make, void *arg,
		  struct ofs_buf *out);

/* Files that answer what their name asks for; `make` is given a struct ofs_asked. */
struct ofs_answers {
	enum ofs_kept_kind kind;
	uint64_t (*state)(struct ofs_tree *t, const struct ofs_root *root);
	ofs_kept_fn make;
};

struct ofs_asked {
	struct ofs_root *root;
	const char *name;
};

/*
 * Looks such a file up in a directory that is always there. -EACCES: the tree is another's; an
 * answer names all files, even in directories that others may not search. -ESTALE: it is gone.
 */
int ofs_made_answer(struct ofs_tree *t, ofs_node parent, const char *name,
		    const struct ofs_cred *cred, const struct ofs_answers *answers,
		    struct ofs_entry *ret);

/* The tree is gone: its texts go. */
void ofs_made_drop_kept(struct ofs_tree *t, const struct ofs_root *root);

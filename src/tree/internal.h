/* SPDX-License-Identifier: MIT */
/*
 * The inside of the tree. A node below OFS_VIRTUAL is an inode of the store; above it are what the
 * tree makes up: the fixed nodes (refs/, README.md), then slices, made when they are looked up.
 */
#ifndef OFS_TREE_INTERNAL_H
#define OFS_TREE_INTERNAL_H

#include <pthread.h>

#include <offloadfs/tree.h>

#include "base/buf.h"
#include "base/map.h"
#include "store/store.h"
#include "tree/slice.h"

#define OFS_VIRTUAL (UINT64_C(1) << 62)
#define OFS_NODE_REFS (OFS_VIRTUAL | 1)
#define OFS_NODE_README (OFS_VIRTUAL | 2)
#define OFS_NODE_SLICES (OFS_VIRTUAL | 16) /* the first slice */

/* Positions of the root's made-up entries in readdir; the store's begin at OFS_COOKIE_MIN. */
enum {
	OFS_COOKIE_DOT = 1,
	OFS_COOKIE_DOTDOT,
	OFS_COOKIE_REFS,
	OFS_COOKIE_README
};

enum ofs_top {
	OFS_TOP_CACHE,
	OFS_TOP_TASKS,
	OFS_TOP_PERSISTENT,
	OFS_TOP_ARCHIVE,
	OFS_TOPS
};

/* What a slice came to when it was resolved. */
struct ofs_range {
	uint64_t off; /* in the base file */
	uint64_t len;
	struct ofs_buf notice; /* what is said when a cap cut it short; else empty */
};

/*
 * A slice that somebody holds. Guarded by the tree's lock, but for `base` and `spec`, which are
 * constant.
 */
struct ofs_slice_node {
	ofs_node node;
	uint64_t refs;
	uint64_t base; /* the inode; not held, so that a slice never keeps removed content */
	struct ofs_slice_spec spec;
	char *path; /* of the base, as its notice names it */
	uint64_t version; /* of the base's content when it was resolved */
	struct ofs_range range;
};

struct ofs_tree {
	struct ofs_store *store;
	struct ofs_tree_events events;
	char *mountpoint; /* NULL: none */
	uint32_t slice_max_lines;
	uint32_t slice_max_bytes;
	uint64_t tops[OFS_TOPS]; /* the inodes of the four trees */
	uid_t uid; /* who owns what is made up */
	gid_t gid;
	int64_t created; /* the store's time, and theirs */
	bool background; /* the store is served */

	pthread_mutex_t lock; /* never held while the store is called */
	struct ofs_map slices; /* node -> struct ofs_slice_node */
	ofs_node next_slice;

	struct ofs_tree_verify *verify;
};

static inline bool ofs_node_is_virtual(ofs_node node)
{
	return node >= OFS_VIRTUAL;
}

static inline bool ofs_node_is_slice(ofs_node node)
{
	return node >= OFS_NODE_SLICES;
}

/* ---- attributes (stat.c) */

void ofs_tree_fill_stat(const struct ofs_attr *attr, struct stat *ret);
void ofs_tree_fill_entry(const struct ofs_attr *attr, bool keep_name, struct ofs_entry *ret);

/* ---- where a node is (place.c) */

/* Tier, category and task as DESIGN's tree gives them, and the path from the root. */
struct ofs_place {
	enum ofs_top top; /* a file at the root counts as in cache/ */
	char category[OFS_NAME_MAX + 1];
	char task[OFS_NAME_MAX + 1]; /* "" outside tasks/ */
	struct ofs_buf path; /* NUL-terminated, no leading slash */
};

void ofs_place_finish(struct ofs_place *p);

/* -ENOENT when it has no name any more. */
int ofs_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret);

const char *ofs_place_tier(const struct ofs_place *p);

/* See struct ofs_store_options; `arg` is the tree. */
uint32_t ofs_tree_classify(void *arg, uint64_t top, uint64_t second);

/* ---- slices (slice_node.c, lines.c) */

/* Makes a node for a slice of `base`, whose name in `parent` is `shown`, `len` long. */
int ofs_slice_lookup(struct ofs_tree *t, ofs_node parent, const char *shown, size_t len,
		     const struct ofs_attr *base, const struct ofs_slice_spec *spec,
		     struct ofs_entry *ret);
int ofs_slice_getattr(struct ofs_tree *t, ofs_node node, struct stat *ret);
ssize_t ofs_slice_read(struct ofs_tree *t, ofs_node node, void *buf, size_t size, uint64_t off);
void ofs_slice_forget(struct ofs_tree *t, ofs_node node, uint64_t n);
void ofs_slice_destroy(struct ofs_slice_node *n);

/*
 * Finds the bytes of a slice. -ERANGE: it begins past the end. `path` names the base in the notice.
 */
int ofs_range_resolve(struct ofs_tree *t, const struct ofs_attr *base,
		      const struct ofs_slice_spec *spec, const char *path, struct ofs_range *ret);

/* Lines of the file as sed counts them: one without a final newline counts. */
int ofs_lines_count(struct ofs_tree *t, const struct ofs_attr *file, uint64_t *ret);

/* ---- verification (verify.c) */

struct ofs_tree_verify *ofs_tree_verify_create(struct ofs_tree *t);
/* Ends one that runs. NULL is allowed. */
void ofs_tree_verify_destroy(struct ofs_tree_verify *job);

/* The value of the attribute, and what follows its name: "" or ".K". */
int ofs_tree_verify_set(struct ofs_tree_verify *job, const char *value, size_t size);
int ofs_tree_verify_get(struct ofs_tree_verify *job, const char *which, struct ofs_buf *out);

/* ---- the tree's README.md (readme.c) */
extern const char ofs_readme_text[];

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The state of an open tree, shared by the folders of src/tree. A node below OFS_VIRTUAL is an
 * inode of the store. The others are virtual: fixed nodes, which always exist (virtual/fixed.c);
 * links, which are nothing but their number (virtual/view.c); and nodes that a lookup makes and
 * whose references are counted (virtual/made.c).
 *
 * Each part keeps its fields, and the lock that guards them, in a struct of its own. The tree's
 * locks are not held while the store is called, except those of refs, labels, views, step
 * references and kept texts (virtual/made.h), and the one under which the indexer works. These come
 * before the store's.
 */
#pragma once

#include <stdatomic.h>

#include <offloadfs/tree.h>

#include "store/store.h"

#define OFS_VIRTUAL (UINT64_C(1) << 62)
/*
 * The fixed nodes of a tree. For the tree at the store's root these are their numbers; for others
 * they are kinds of nodes, from which ofs_root_node() makes the numbers.
 */
#define OFS_NODE_REFS (OFS_VIRTUAL | 1)
#define OFS_NODE_README (OFS_VIRTUAL | 2)
#define OFS_NODE_VIEWS (OFS_VIRTUAL | 3)
#define OFS_NODE_OFFLOAD (OFS_VIRTUAL | 4) /* .offload/ */
#define OFS_NODE_STATUS (OFS_VIRTUAL | 5)
#define OFS_NODE_METRICS (OFS_VIRTUAL | 6)
#define OFS_NODE_CONFIG (OFS_VIRTUAL | 7)
#define OFS_NODE_LEDGER (OFS_VIRTUAL | 9)
#define OFS_NODE_LOG (OFS_VIRTUAL | 10)
#define OFS_NODE_SEARCH (OFS_VIRTUAL | 8)
#define OFS_NODE_LIST (OFS_VIRTUAL | 11) /* .offload/list/ */
#define OFS_NODE_VIEW(kind) (OFS_VIRTUAL | (16 + (ofs_node)(kind)))
/* A link in views/ to the inode in the low bits; with FAR it lies one directory further down. */
#define OFS_NODE_LINK (OFS_VIRTUAL | UINT64_C(1) << 60)
#define OFS_NODE_FAR (UINT64_C(1) << 59)
#define OFS_NODE_DERIVED (OFS_VIRTUAL | UINT64_C(1) << 61) /* with a hash in the low bits, */
#define OFS_MADE_BITS 60 /* this many of them */
#define OFS_MADE_MASK ((UINT64_C(1) << OFS_MADE_BITS) - 1)

/* Virtual directories of a tree, which its link count includes: refs, views, search, .offload. */
#define OFS_ROOT_VIRTUAL_DIRS 4

/* Positions of virtual entries in readdir. The store's start at OFS_COOKIE_MIN. */
enum {
	OFS_COOKIE_DOT = 1,
	OFS_COOKIE_DOTDOT,
	OFS_COOKIE_FIXED
};

enum ofs_top {
	OFS_TOP_CACHE,
	OFS_TOP_TASKS,
	OFS_TOP_PERSISTENT,
	OFS_TOP_ARCHIVE,
	OFS_TOP_AGENTS, /* holds trees, not files */
	OFS_TOPS
};

/* Operations as metrics count them. */
enum ofs_tree_op {
	OFS_TREE_LOOKUP,
	OFS_TREE_GETATTR,
	OFS_TREE_READDIR,
	OFS_TREE_READ,
	OFS_TREE_WRITE,
	OFS_TREE_CHANGE, /* of names and attributes */
	OFS_TREE_SYNC,
	OFS_TREE_OPS
};

/* Attributes of files that can be set (core/label.h). */
enum ofs_label_kind {
	OFS_LABEL_TTL,
	OFS_LABEL_IMPORTANT,
	OFS_LABEL_TAGS,
	OFS_LABEL_TITLE,
	OFS_LABEL_CATEGORY,
	OFS_LABELS
};

struct ofs_tree {
	/* Constant once the tree is open. */
	struct ofs_store *store;
	struct ofs_tree_events events;
	char *mountpoint; /* NULL: not mounted */
	char *config; /* the text of .offload/config.ini; NULL: empty */
	struct ofs_tree_recap recap; /* writes context.md; without a function there is none */
	int64_t ref_seed; /* of the store; 0: it has none */
	bool hide_working; /* when the root is listed */
	uint32_t slice_max_lines;
	uint32_t slice_max_bytes;
	uint32_t search_ms;
	struct ofs_root *root; /* the tree at the store's root */
	uid_t uid; /* the owner of virtual nodes */
	gid_t gid;
	int64_t created; /* creation time of the store and of virtual nodes */
	int64_t opened; /* monotonic clock */
	int64_t grace; /* nanoseconds for which evictable files stay while there is room */
	int64_t task_idle; /* nanoseconds for which a task stays live after its last use */
	bool background; /* a daemon serves the store */
	bool follow; /* another host changes the store; nothing is changed here */
	bool shared; /* other users have access */
	/* A label was set or removed; `ttl` is the new lifetime if it is OFS_LABEL_TTL. */
	void (*labelled)(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, int64_t ttl);

	/* Something was renamed. */
	void (*moved)(struct ofs_tree *t, const struct ofs_move *m);

	/* Each belongs to the file of its name. */
	struct ofs_audit *audit;
	struct ofs_categories *categories;
	struct ofs_roots *roots;
	struct ofs_quota *quota; /* NULL: no limits */
	struct ofs_labels *labels;
	struct ofs_refs *refs;
	struct ofs_gc *gc;
	struct ofs_task_activity *task_activity;
	struct ofs_promoter *promoter; /* NULL: no rule */
	struct ofs_indexer *indexer;
	struct ofs_meaning *meaning; /* NULL: no model */
	struct ofs_made_nodes *made;
	struct ofs_inventories *inventories;
	struct ofs_verify_job *verify_job;
	struct ofs_replicate *replicate; /* NULL: no remote */
	struct ofs_views *views;

	_Atomic int64_t touches; /* number of changes that any view may show (core/changes.h) */
	_Atomic uint64_t ops[OFS_TREE_OPS];
	_Atomic uint64_t bytes_read, bytes_written;
};

static inline bool ofs_node_is_virtual(ofs_node node)
{
	return node >= OFS_VIRTUAL;
}

static inline bool ofs_node_is_link(ofs_node node)
{
	return node >= OFS_NODE_LINK && node < OFS_NODE_DERIVED;
}

static inline bool ofs_node_is_made(ofs_node node)
{
	return node >= OFS_NODE_DERIVED;
}

static inline void ofs_tree_count(struct ofs_tree *t, enum ofs_tree_op op)
{
	atomic_fetch_add_explicit(&t->ops[op], 1, memory_order_relaxed);
}

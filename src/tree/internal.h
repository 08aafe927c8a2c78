/* SPDX-License-Identifier: MIT */
/*
 * The inside of the tree. A node below OFS_VIRTUAL is an inode of the store; above it are what the
 * tree makes up: nodes that are always there (fixed.c), links to files (view.c), whose number is all
 * there is to them, and those that a lookup makes and counts references of (made.c).
 *
 * Locks: those of the tree guard what the tree makes up. None is held while the store is called but
 * those of the labels, of the reports, of searches, of recaps, of steps and of by_ref.c, and that under which
 * the indexer works, which come before the store's.
 */
#ifndef OFS_TREE_INTERNAL_H
#define OFS_TREE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <offloadfs/tree.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/util.h"
#include "store/store.h"
#include "tree/slice.h"
#include "tree/verdict.h"

#define OFS_VIRTUAL (UINT64_C(1) << 62)
#define OFS_NODE_REFS (OFS_VIRTUAL | 1)
#define OFS_NODE_README (OFS_VIRTUAL | 2)
#define OFS_NODE_VIEWS (OFS_VIRTUAL | 3)
#define OFS_NODE_CARE (OFS_VIRTUAL | 4) /* .offload/ */
#define OFS_NODE_STATUS (OFS_VIRTUAL | 5)
#define OFS_NODE_METRICS (OFS_VIRTUAL | 6)
#define OFS_NODE_CONFIG (OFS_VIRTUAL | 7)
#define OFS_NODE_SEARCH (OFS_VIRTUAL | 8)
#define OFS_NODE_VIEW(kind) (OFS_VIRTUAL | (16 + (ofs_node)(kind)))
/* A link in views/ to the inode below; with FAR it is one directory further down. */
#define OFS_NODE_LINK (OFS_VIRTUAL | UINT64_C(1) << 60)
#define OFS_NODE_FAR (UINT64_C(1) << 59)
#define OFS_NODE_DERIVED (OFS_VIRTUAL | UINT64_C(1) << 61) /* and a hash below */

/* Positions of made-up entries in readdir; the store's begin at OFS_COOKIE_MIN. */
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
	OFS_TOPS
};

/* What is counted. */
enum ofs_call {
	OFS_CALL_LOOKUP,
	OFS_CALL_GETATTR,
	OFS_CALL_READDIR,
	OFS_CALL_READ,
	OFS_CALL_WRITE,
	OFS_CALL_CHANGE, /* of names and attributes */
	OFS_CALL_SYNC,
	OFS_CALLS
};

enum ofs_tier {
	OFS_TIER_WORKING,
	OFS_TIER_LONG_TERM,
	OFS_TIER_ARCHIVE,
	OFS_TIERS
};

extern const char *const ofs_tier_names[OFS_TIERS];

/* The category of what lies in no directory of a category. */
#define OFS_CATEGORY_NONE "general"

struct ofs_categories;
struct ofs_keeper;
struct ofs_reports;
struct ofs_views;
struct ofs_labels;
struct ofs_searches;
struct ofs_recaps;
struct ofs_indexer;

struct ofs_tree {
	struct ofs_store *store;
	struct ofs_tree_events events;
	char *mountpoint; /* NULL: none */
	char *config; /* what .offload/config.ini says */
	uint32_t slice_max_lines;
	uint32_t slice_max_bytes;
	uint64_t tops[OFS_TOPS]; /* the inodes of the four trees */
	uid_t uid; /* who owns what is made up */
	gid_t gid;
	int64_t created; /* the store's time, and theirs */
	int64_t opened; /* monotonic */
	bool background; /* the store is served */

	pthread_mutex_t lock; /* never held while the store is called */
	struct ofs_map made; /* node -> struct ofs_made */

	/* Held while the store forgets an inode, so that no reference to it is taken in between. */
	pthread_mutex_t by_ref_lock;
	struct ofs_map by_ref; /* inodes found by their refs -> anything */

	struct ofs_reports *reports;
	struct ofs_views *views;
	struct ofs_labels *labels;
	struct ofs_searches *searches;
	struct ofs_recaps *recaps;
	struct ofs_indexer *indexer;
	struct ofs_tree_verify *verify;
	struct ofs_keeper *keeper;
	struct ofs_categories *categories;
	_Atomic uint64_t calls[OFS_CALLS];
	_Atomic uint64_t bytes_read, bytes_written;
};

static inline bool ofs_node_is_virtual(ofs_node node)
{
	return node >= OFS_VIRTUAL;
}

/* Whether an inode is one of the four trees. */
static inline bool ofs_tree_is_top(const struct ofs_tree *t, uint64_t ino)
{
	for (int i = 0; i < OFS_TOPS; i++)
		if (t->tops[i] == ino)
			return true;
	return false;
}

static inline void ofs_tree_count(struct ofs_tree *t, enum ofs_call call)
{
	atomic_fetch_add_explicit(&t->calls[call], 1, memory_order_relaxed);
}

/* Something changed that a view may show. */
void ofs_tree_touch(struct ofs_tree *t);
/* A number that is another one after that. */
int64_t ofs_tree_changed(struct ofs_tree *t);

static inline bool ofs_node_is_link(ofs_node node)
{
	return node >= OFS_NODE_LINK && node < OFS_NODE_DERIVED;
}

/* A node that is in the table of made-up ones, and counts its references. */
static inline bool ofs_node_is_made(ofs_node node)
{
	return node >= OFS_NODE_DERIVED;
}

/* ---- attributes (stat.c) */

void ofs_tree_fill_stat(const struct ofs_attr *attr, struct stat *ret);
void ofs_tree_fill_entry(const struct ofs_attr *attr, bool keep_name, struct ofs_entry *ret);

/* The attributes of something made up: mode with type; owned by the store's owner, as old as it. */
void ofs_tree_made_up_attr(struct ofs_tree *t, ofs_node node, uint32_t mode, struct ofs_attr *ret);

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

enum ofs_tier ofs_place_tier(const struct ofs_place *p);

/* The category that was set for the file, if one was, takes the place of that of its directory. */
int ofs_place_label(struct ofs_tree *t, uint64_t ino, struct ofs_place *p);

/* ofs_place_of() and that. */
int ofs_place_labelled(struct ofs_tree *t, uint64_t ino, struct ofs_place *ret);

/*
 * Whether the caller (NULL: may do all) has the rights `want`, of S_IROTH, S_IWOTH and S_IXOTH, to
 * what has these attributes.
 */
bool ofs_place_may(const struct ofs_attr *attr, const struct ofs_cred *cred, uint32_t want);

/*
 * Whether the caller (NULL: may do all) may search every directory above the file: 0 or -EACCES.
 * What has no name is nobody's to look up: -ENOENT.
 */
int ofs_place_check(struct ofs_tree *t, uint64_t ino, const struct ofs_cred *cred);

/* A regular file by its ref, with a reference. */
int ofs_ref_lookup(struct ofs_tree *t, const char *name, const struct ofs_cred *cred,
		   struct ofs_attr *ret);

/* ---- files that were found by their refs (by_ref.c) */

/*
 * The caller, who holds a reference to the file, has found it by its ref: when it loses its last name
 * that one is to be forgotten, too.
 */
void ofs_by_ref_add(struct ofs_tree *t, uint64_t ino);

/* Gives references to any inode back; with the last one nobody remembers its ref. */
void ofs_by_ref_forget(struct ofs_tree *t, uint64_t ino, uint64_t n);

/* The file lost its last name and is held (0: there is none): whoever remembers its ref is told. */
void ofs_by_ref_unlinked(struct ofs_tree *t, uint64_t ino);

/* See struct ofs_store_options; `arg` is the tree. */
uint32_t ofs_tree_classify(void *arg, uint64_t top, uint64_t second);

/* ---- what slices are cut from (lines.c) */

/* A file of the store, or a text that the tree makes. */
struct ofs_source {
	struct ofs_tree *tree;
	struct ofs_attr attr;
	const struct ofs_buf *text; /* NULL: the content of inode attr.ino */
};

ssize_t ofs_source_read(const struct ofs_source *src, void *buf, size_t size, uint64_t off);

/* Lines as sed counts them: one without a final newline counts. */
int ofs_source_lines(const struct ofs_source *src, uint64_t *ret);

/* ---- made-up nodes that come and go (made.c) */

/* What a slice came to when it was resolved. */
struct ofs_range {
	uint64_t off; /* in the base file */
	uint64_t len;
	struct ofs_buf notice; /* what is said when a cap cut it short; else empty */
};

/* A slice of a file of the store. */
struct ofs_slice {
	uint64_t base; /* the inode; not held, so that a slice never keeps removed content */
	struct ofs_slice_spec spec;
	char *path; /* of the base, as its notice names it */
	uint64_t version; /* of the base's content when it was resolved; the tree's lock */
	struct ofs_range range;
};

/* Constant once it is in the table, but for refs and slice->version. */
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

/* ---- what is always there (fixed.c) */

/* -ENOENT: nothing of that name, or `parent` is not one of them, nor the root. */
int ofs_fixed_lookup(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *ret);
int ofs_fixed_attr(struct ofs_tree *t, ofs_node node, struct ofs_attr *ret);
/* The content of a file; -EISDIR. */
int ofs_fixed_text(struct ofs_tree *t, ofs_node node, struct ofs_buf *out);
/* Those of its directories that are among them. */
uint32_t ofs_fixed_count_dirs(ofs_node dir);
/* Its directory; 0: it is none of them. */
ofs_node ofs_fixed_parent(ofs_node node);
/* Entries of `dir` behind `cookie`; 1: `fn` took one not. */
int ofs_fixed_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, ofs_readdir_fn fn, void *arg);
/* Whether the root keeps `name` for itself. */
bool ofs_fixed_is_reserved(ofs_node parent, const char *name);

/* ---- slices (slice_node.c, lines.c) */

/*
 * Resolves `name` in `parent` as a slice of what `base` is, when it reads as one: -ENOENT if not, or
 * if there is no such base; ret->keep_name is set then too.
 */
int ofs_slice_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
		     const struct ofs_cred *cred, struct ofs_entry *ret);
int ofs_slice_getattr(struct ofs_tree *t, const struct ofs_made *m, struct stat *ret);
ssize_t ofs_slice_read(struct ofs_tree *t, struct ofs_made *m, void *buf, size_t size,
		       uint64_t off);
void ofs_slice_destroy(struct ofs_slice *s);

/*
 * Finds the bytes of a slice. -ERANGE: it begins past the end. `path` names the base in the notice.
 */
int ofs_range_resolve(const struct ofs_source *base, const struct ofs_slice_spec *spec,
		      const char *path, struct ofs_range *ret);

/* ---- F:info and F:summary (info.c) */

int ofs_info_format(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out);
int ofs_summary_format(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out);

/* ---- attributes that can be set (label.c) */

enum ofs_label_kind {
	OFS_LABEL_TTL,
	OFS_LABEL_IMPORTANT,
	OFS_LABEL_TAGS,
	OFS_LABEL_TITLE,
	OFS_LABEL_CATEGORY,
	OFS_LABELS
};

#define OFS_TTL_UNSET 0

/* What the tree remembers of one file's attributes. */
struct ofs_label {
	uint64_t ino;
	int64_t ttl; /* nanoseconds */
	bool important;
	char *tags; /* NULL: none; else separated by commas */
	char *category; /* NULL: as its place says */
	char *title; /* NULL: none */
};

/* The attribute's full name. */
const char *ofs_label_name(enum ofs_label_kind kind);

/* The kind that `name`, without "user.offload.", means; OFS_LABELS: none. */
enum ofs_label_kind ofs_label_find(const char *name);

/*
 * Brings a value into its one form; -EINVAL: it has no meaning. An empty one with 0: the attribute
 * goes.
 */
int ofs_label_normalize(enum ofs_label_kind kind, const void *value, size_t size,
			struct ofs_buf *out);

/* Whether `tags` (NULL: none) has that one. */
bool ofs_label_has_tag(const char *tags, const char *tag);

/* As it was set; -ENODATA. */
int ofs_label_get(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, struct ofs_buf *out);
int ofs_label_set(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, const void *value,
		  size_t size, int flags);
int ofs_label_remove(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind);

struct ofs_labels *ofs_labels_create(void);
void ofs_labels_destroy(struct ofs_labels *l);

/* What is remembered of a file, for the time of `fn`; NULL: nothing was set. 0 or -errno. */
int ofs_labels_with(struct ofs_tree *t, uint64_t ino,
		    void (*fn)(void *arg, const struct ofs_label *l), void *arg);
/* Calls `fn` for all of them, in no order; it must not come back to the labels. */
int ofs_labels_each(struct ofs_tree *t, void (*fn)(void *arg, const struct ofs_label *l),
		    void *arg);

/* The file has lost its last name: nothing of it needs to be remembered. */
void ofs_labels_drop(struct ofs_tree *t, uint64_t ino);

/* When the time of a file is over, by the wall clock as it is now; OFS_TTL_NEVER: never (life.c). */
int ofs_tree_expiry(struct ofs_tree *t, const struct ofs_attr *file, int64_t *ret);

/* ---- views/ (view.c; view.h has the rest) */

enum ofs_view {
	OFS_VIEW_CATEGORY,
	OFS_VIEW_TASK,
	OFS_VIEW_TIER,
	OFS_VIEW_TAG,
	OFS_VIEW_RECENT,
	OFS_VIEW_EXPIRING,
	OFS_VIEWS
};

/* They tell of all files, also of those in directories that others may not search. */
#define OFS_VIEW_MODE 0500

struct ofs_views *ofs_views_create(void);
void ofs_views_destroy(struct ofs_views *v);

/* Whether names are looked up in `node` by the views. */
bool ofs_view_is_dir(struct ofs_tree *t, ofs_node node);

/* The times of such a directory, attr->ino: it changes whenever anything does. */
void ofs_view_set_times(struct ofs_tree *t, struct ofs_attr *attr);
/* The same of one with a name; -ESTALE: there is none of that name any more. */
int ofs_view_refresh(struct ofs_tree *t, struct ofs_attr *attr);

int ofs_view_lookup(struct ofs_tree *t, ofs_node dir, const char *name, struct ofs_entry *ret);
/* The file that a link of that name leads to, with a reference. */
int ofs_view_lookup_file(struct ofs_tree *t, ofs_node dir, const char *name, struct ofs_attr *ret);
/* With `plus`, links come with attributes. */
int ofs_view_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool plus, ofs_readdir_fn fn,
		  void *arg);

/* Of a link. */
int ofs_view_link_attr(struct ofs_tree *t, ofs_node link, struct ofs_attr *ret);
void ofs_view_link_target(ofs_node link, struct ofs_buf *out);

/* ---- search/ (search_node.c) */

struct ofs_searches *ofs_searches_create(void);
void ofs_searches_destroy(struct ofs_searches *s);

/*
 * A file with the answer to the query `name`, "%2F" for '/' in it. -EINVAL: the query is malformed;
 * -EACCES: the caller (NULL: may do all) is neither root nor the owner of the store.
 */
int ofs_search_lookup(struct ofs_tree *t, const char *name, const struct ofs_cred *cred,
		      struct ofs_entry *ret);

/* ---- tasks/<task>/context.md (recap.c) */

/* What does not look at `recap` has no such file. */
struct ofs_recaps *ofs_recaps_create(const struct ofs_tree_recap *recap);
void ofs_recaps_destroy(struct ofs_recaps *r);

/* Whether that name in that directory is a recap's, should there be steps and no file of that name. */
bool ofs_recap_is(struct ofs_tree *t, ofs_node parent, const char *name);

/*
 * The recap of the task whose directory `task` is, as the caller (NULL: may do all) may see it.
 * -ENOENT: there are no steps; -EACCES: he may not list them.
 */
int ofs_recap_lookup(struct ofs_tree *t, ofs_node task, const struct ofs_cred *cred,
		     struct ofs_entry *ret);

/* Whether there are steps, whoever asks. */
bool ofs_recap_exists(struct ofs_tree *t, ofs_node task);

/* ---- .offload/ (report.c) */

struct ofs_reports *ofs_reports_create(void);
void ofs_reports_destroy(struct ofs_reports *r);

/*
 * As they were within the last second, so that who looks a report up, looks again and reads it gets
 * one and the same.
 */
int ofs_report_status(struct ofs_tree *t, struct ofs_buf *out);
int ofs_report_metrics(struct ofs_tree *t, struct ofs_buf *out);

/* ---- verification (verify.c) */

struct ofs_tree_verify *ofs_tree_verify_create(struct ofs_tree *t);
/* Ends one that runs. NULL is allowed. */
void ofs_tree_verify_destroy(struct ofs_tree_verify *job);

/* The value of the attribute, and what follows its name: "" or ".K". */
int ofs_tree_verify_set(struct ofs_tree_verify *job, const char *value, size_t size);
int ofs_tree_verify_get(struct ofs_tree_verify *job, const char *which, struct ofs_buf *out);

/* ---- the tree's README.md (readme.c) */
int ofs_readme_write(struct ofs_tree *t, struct ofs_buf *out);

#endif

/* SPDX-License-Identifier: MIT */
/* The labels of files: the attributes that can be set, as user.offload.* on a mount. */
#pragma once

#include "tree/core/origin.h"
#include "tree/core/root.h"

#define OFS_TTL_UNSET 0

/*
 * Bytes of memory for the tags, titles, categories and origins of all files. Those of files beyond
 * this limit are read from the store each time.
 */
#define OFS_LABELS_BYTES_MAX ((size_t)64 << 20)

/* The labels of one file, as kept in memory. */
struct ofs_label {
	uint64_t ino;
	int64_t ttl; /* nanoseconds */
	bool important;
	bool brief; /* label.c: the texts are not kept, so all is read from the store each time */
	char *tags; /* separated by commas; NULL: none */
	char *category; /* NULL: that of its place */
	char *title; /* NULL: none */
	/* Its own mark (core/origin.h); NULL: none. It may be out of date in the working tier. */
	char *origin_task, *origin_category;
	bool is_dir; /* a directory has nothing but a mark */
	uint32_t reads; /* number of reads counted (expiry/promote.h) */
	struct ofs_map *tree; /* label.c: all labels of its tree; NULL: not sorted yet */
};

/* Returns the attribute's full name. */
const char *ofs_label_name(enum ofs_label_kind kind);

/* Returns the kind that `name`, without "user.offload.", denotes; OFS_LABELS if none. */
enum ofs_label_kind ofs_label_find(const char *name);

/*
 * Appends the canonical form of a value. -EINVAL: the value is not valid. If 0 is returned and
 * nothing appended, the attribute is to be removed.
 */
int ofs_label_normalize(enum ofs_label_kind kind, const void *value, size_t size,
			struct ofs_buf *out);

bool ofs_label_has_tag(const char *tags, const char *tag);

/* Appends the value as stored. Returns 0, -ENODATA or another -errno. */
int ofs_label_get(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, struct ofs_buf *out);

/* Returns the value as an allocated string; NULL if there is none. */
char *ofs_label_text(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind);

/* These set and remove a label in the store and in memory. `flags` are those of setxattr(2). */
int ofs_label_set(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, const void *value,
		  size_t size, int flags);
int ofs_label_remove(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind);

struct ofs_labels *ofs_labels_create(void);
void ofs_labels_destroy(struct ofs_labels *l);

/* Calls `fn` with the labels of a file (NULL: it has none). Returns 0 or -errno. */
int ofs_labels_with(struct ofs_tree *t, uint64_t ino,
		    void (*fn)(void *arg, const struct ofs_label *l), void *arg);
/*
 * Calls `fn` for the labels of each file that is, or was a moment ago, in a tree, in no particular
 * order. `fn` must not call anything on labels. Returns 0 or -errno.
 */
int ofs_labels_each(struct ofs_tree *t, const struct ofs_root *root,
		    void (*fn)(void *arg, const struct ofs_label *l), void *arg);

/* The number of reads counted for a file, and the time of the last on the age clock. */
struct ofs_reads {
	uint32_t n;
	int64_t last;
};

struct ofs_reads ofs_label_reads(struct ofs_tree *t, uint64_t ino);
int ofs_label_set_reads(struct ofs_tree *t, uint64_t ino, struct ofs_reads reads);

/* Loads the labels of an inode again after a mark was set. */
void ofs_labels_reload(struct ofs_tree *t, uint64_t ino);

/* Forgets all labels, since any of them may have changed. */
void ofs_labels_forget(struct ofs_tree *t);

/* Forgets the labels of a file that has lost its last name. */
void ofs_labels_drop(struct ofs_tree *t, uint64_t ino);

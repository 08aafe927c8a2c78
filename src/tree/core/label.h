/* SPDX-License-Identifier: MIT */
/* The attributes of files that can be set, as user.offload.* on a mount. */
#pragma once

#include "tree/core/origin.h"
#include "tree/core/root.h"

#define OFS_TTL_UNSET 0

/*
 * Bytes of memory for tags, titles, categories and origins of all files. Of files beyond that they
 * are read each time.
 */
#define OFS_LABELS_BYTES_MAX ((size_t)64 << 20)

/* The labels of one file, as kept in memory. */
struct ofs_label {
	uint64_t ino;
	int64_t ttl; /* nanoseconds */
	bool important;
	bool brief; /* label.c: the texts are not kept */
	char *tags; /* NULL: none; else separated by commas */
	char *category; /* NULL: as its place says */
	char *title; /* NULL: none */
	/* Its own mark (core/origin.h), which may be of another time where it is not kept; NULL: none. */
	char *origin_task, *origin_category;
	bool is_dir; /* which has nothing but a mark */
	uint32_t reads; /* that were counted (expiry/promote.h) */
	struct ofs_map *tree; /* label.c: those of its tree, among which it is; NULL: none so far */
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

bool ofs_label_has_tag(const char *tags, const char *tag);

/* As it was set; -ENODATA. */
int ofs_label_get(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, struct ofs_buf *out);

/* The same as a string, allocated; NULL where there is none. */
char *ofs_label_text(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind);

int ofs_label_set(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, const void *value,
		  size_t size, int flags);
int ofs_label_remove(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind);

struct ofs_labels *ofs_labels_create(void);
void ofs_labels_destroy(struct ofs_labels *l);

/* Calls `fn` with the labels of a file; NULL: none were set. 0 or -errno. */
int ofs_labels_with(struct ofs_tree *t, uint64_t ino,
		    void (*fn)(void *arg, const struct ofs_label *l), void *arg);
/*
 * Calls `fn` for all that lie in a tree, or did a moment ago, in no order; it must not come back to
 * the labels.
 */
int ofs_labels_each(struct ofs_tree *t, const struct ofs_root *root,
		    void (*fn)(void *arg, const struct ofs_label *l), void *arg);

/* How many reads of a file were counted, and when the last one, by the age clock. */
struct ofs_reads {
	uint32_t n;
	int64_t last;
};

struct ofs_reads ofs_label_reads(struct ofs_tree *t, uint64_t ino);
int ofs_label_set_reads(struct ofs_tree *t, uint64_t ino, struct ofs_reads reads);

/* Something was marked. */
void ofs_labels_reload(struct ofs_tree *t, uint64_t ino);

/* Anything may be another now. */
void ofs_labels_forget(struct ofs_tree *t);

/* Forgets a file that has lost its last name. */
void ofs_labels_drop(struct ofs_tree *t, uint64_t ino);

/* SPDX-License-Identifier: MIT */
/* The virtual files and directories, grouped by the source file that makes them. */
#pragma once

#include "tree/virtual/made.h"

/* ---- fixed.c: the files and directories that always exist */

/* -ENOENT: no such name, or `parent` is neither a fixed directory nor a tree's own. */
int ofs_fixed_lookup(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *ret);
/* -ESTALE: not a fixed node. */
int ofs_fixed_attr(struct ofs_tree *t, ofs_node node, struct ofs_attr *ret);
/* Appends the content of a file. -EISDIR: a directory; -ESTALE: not a fixed node. */
int ofs_fixed_text(struct ofs_tree *t, ofs_node node, struct ofs_buf *out);
/* Returns the parent; 0: not a fixed node. */
ofs_node ofs_fixed_parent(struct ofs_tree *t, ofs_node node);
/* Lists the entries of `dir` after `cookie`. Returns 1 if `fn` refused an entry, else 0. */
int ofs_fixed_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, ofs_readdir_fn fn, void *arg);
/* Whether `name` in `parent`, the directory of a tree, is a virtual entry. */
bool ofs_fixed_is_reserved(struct ofs_tree *t, ofs_node parent, const char *name);

/* ---- status.c: .offload/status.json and metrics */

/* Append a report on a tree, which may be some seconds old. Return 0 or -errno. */
int ofs_status_write_status(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);
int ofs_status_write_metrics(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);

/* ---- ledger_file.c: .offload/ledger */

/*
 * Appends the ledger of a tree and those in it: a header line, then one line per day, way, agent
 * and task, with tabs between the columns.
 */
int ofs_ledger_file_write(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);
/*
 * Adds "WAY\tAGENT\tTASK\tRESULTS\tOFFLOADED\tPOINTERS\tREAD" (the last three in tokens) to today's
 * sums of the tree `root`. -EINVAL: malformed.
 */
int ofs_ledger_file_add(struct ofs_tree *t, struct ofs_root *root, const void *value, size_t size);
/* Sets *ret to the sums over a tree and those in it. */
int ofs_ledger_file_sum(struct ofs_tree *t, struct ofs_root *root, struct ofs_ledger_entry *ret);

/* ---- log_file.c: .offload/log, and parts of it named by their positions */

/* Appends the newest lines. */
int ofs_log_file_write(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);
/* Looks up "log.FROM-TO" in .offload/: the lines that start in that range. -ENOENT: other names. */
int ofs_log_file_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
			struct ofs_entry *ret);
/* Appends "START END", the positions where the log of a tree starts and ends. */
int ofs_log_file_bounds(struct ofs_tree *t, const struct ofs_root *root, struct ofs_buf *out);

/* ---- search_node.c: names in search/, files with the answers to queries */

/*
 * Looks up the answer to the query `name`, in which "%2F" stands for '/'. -EINVAL: the query is
 * malformed; -EACCES: the caller (NULL: may do all) is neither root nor the owner of the tree.
 */
int ofs_search_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
		      const struct ofs_cred *cred, struct ofs_entry *ret);

/* ---- inventory_page.c: names in .offload/list/, pages of inventories (inventory.h) */

struct ofs_inventories *ofs_inventories_create(void);
void ofs_inventories_destroy(struct ofs_inventories *v);

/*
 * Looks up a page: a file with a JSON object per line. The first has the sums of all files
 * ("files", "bytes", "stored_bytes", "tokens"; "uncounted": files not in the sum of tokens) and
 * "next", the value of from: for the next page, or null. Then comes one per file: "path", "ref",
 * "size", "tokens", "stored_bytes", "tier", "category", "task", "origin_task", "origin_category",
 * "title", "tags", "important", "created", "modified", "used", "expires" (null: never) and "state"
 * (see ofs_lifetime_word()), or one per tier and category with groups:yes. A page with "next" alone
 * says that there is more work to do. -EINVAL: the name is malformed; -EACCES: as for a search;
 * -ENOENT: the path does not exist; -ESTALE: the file at the position is gone, and its place in the
 * order is lost.
 */
int ofs_inventory_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
			 const struct ofs_cred *cred, struct ofs_entry *ret);

/* ---- slice_node.c: slices as virtual files */

/*
 * Looks up `name` in `parent` as a slice of the base that its first part names. -ENOENT: it is not
 * a slice, or there is no such base; ret->keep_name is set even then.
 */
int ofs_slice_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
		     const struct ofs_cred *cred, bool here, struct ofs_entry *ret);
int ofs_slice_getattr(struct ofs_tree *t, const struct ofs_made *m, struct stat *ret);
ssize_t ofs_slice_read(struct ofs_tree *t, struct ofs_made *m, void *buf, size_t size,
		       uint64_t off, bool here);

/* ---- info.c: the text of F:info and F:summary */

/* Append what the caller (NULL: may do all) may know of the file. */
void ofs_info_format(struct ofs_tree *t, const struct ofs_attr *file, const struct ofs_cred *cred,
		     struct ofs_buf *out);
int ofs_summary_format(struct ofs_tree *t, const struct ofs_attr *file, const struct ofs_cred *cred,
		       struct ofs_buf *out);

/* ---- attributes.c */

/* ofs_tree_setxattr(), except for the attributes that create a file. */
int ofs_attributes_set(struct ofs_tree *t, ofs_node node, const char *name, const void *value,
		       size_t size, int flags);

/* ---- task_context.c: tasks/<task>/context.md, a recap of the steps of a task */

/* Whether `name` in `parent` is that of a recap; there may still be no steps, or a real file. */
bool ofs_task_context_is(struct ofs_tree *t, ofs_node parent, const char *name);

/*
 * Looks up the recap of the task with the directory `task`, as far as the caller (NULL: may do all)
 * may see it. -ENOENT: there are no steps; -EACCES: the caller may not list them.
 */
int ofs_task_context_lookup(struct ofs_tree *t, ofs_node task, const struct ofs_cred *cred,
			    struct ofs_entry *ret);

/* Whether the task has steps. */
bool ofs_task_context_exists(struct ofs_tree *t, ofs_node task);

/* ---- verify_job.c: verification, started and reported by user.offload.verify of the root */

struct ofs_verify_job *ofs_verify_job_create(struct ofs_tree *t);
/* Stops and waits for a running one. NULL is a no-op. */
void ofs_verify_job_destroy(struct ofs_verify_job *job);

/* Set and get the attribute. `which` is what follows its name: "", or ".K" for problem K. */
int ofs_verify_job_set(struct ofs_verify_job *job, const char *value, size_t size);
int ofs_verify_job_get(struct ofs_verify_job *job, const char *which, struct ofs_buf *out);

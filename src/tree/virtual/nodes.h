/* SPDX-License-Identifier: MIT */
/* The virtual files and directories, by the file that makes them. */
#pragma once

#include "tree/virtual/made.h"

/* ---- fixed.c: the files and directories that are always there */

/* -ENOENT: nothing of that name, or `parent` is not one of them, nor a tree's directory. */
int ofs_fixed_lookup(struct ofs_tree *t, ofs_node parent, const char *name, struct ofs_entry *ret);
int ofs_fixed_attr(struct ofs_tree *t, ofs_node node, struct ofs_attr *ret);
/* The content of a file; -EISDIR. */
int ofs_fixed_text(struct ofs_tree *t, ofs_node node, struct ofs_buf *out);
/* Its directory; 0: it is none of them. */
ofs_node ofs_fixed_parent(struct ofs_tree *t, ofs_node node);
/* Lists the entries of `dir` after `cookie`; 1 if `fn` refused one. */
int ofs_fixed_list(struct ofs_tree *t, ofs_node dir, uint64_t cookie, ofs_readdir_fn fn, void *arg);
/* `name` in `parent` is one of the virtual entries of a tree's directory. */
bool ofs_fixed_is_reserved(struct ofs_tree *t, ofs_node parent, const char *name);

/* ---- status.c: .offload/status.json and metrics */

/* Append the reports on a tree, which may be a second old. */
int ofs_status_write_status(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);
int ofs_status_write_metrics(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);

/* ---- ledger_file.c: .offload/ledger */

/*
 * Appends a line of names and then one for each day, way, agent and task, separated by tabs: of a
 * tree and those in it.
 */
int ofs_ledger_file_write(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);
/*
 * Adds "WAY\tAGENT\tTASK\tRESULTS\tOFFLOADED\tPOINTERS\tREAD" (the last three are tokens) to the
 * sums of today, in the tree `root`. -EINVAL: it is not of that form.
 */
int ofs_ledger_file_add(struct ofs_tree *t, struct ofs_root *root, const void *value, size_t size);
/* The sums of a tree and those in it. */
int ofs_ledger_file_sum(struct ofs_tree *t, struct ofs_root *root, struct ofs_ledger_entry *ret);

/* ---- log_file.c: .offload/log, and parts of it that are named by their positions */

/* Appends the newest lines. */
int ofs_log_file_write(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out);
/* "log.FROM-TO" in `.offload`: the lines that begin at these positions. -ENOENT: another name. */
int ofs_log_file_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
			struct ofs_entry *ret);
/* "START END": where the log of a tree begins and ends. */
int ofs_log_file_bounds(struct ofs_tree *t, const struct ofs_root *root, struct ofs_buf *out);

/* ---- search_node.c: names in search/, files with the answers to queries */

/*
 * A file with the answer to the query `name`, "%2F" for '/' in it. -EINVAL: the query is malformed;
 * -EACCES: the caller (NULL: may do all) is neither root nor the owner of the store.
 */
int ofs_search_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
		      const struct ofs_cred *cred, struct ofs_entry *ret);

/* ---- inventory_page.c: names in .offload/list/, pages of what inventory.h says */

struct ofs_inventories *ofs_inventories_create(void);
void ofs_inventories_destroy(struct ofs_inventories *v);

/*
 * A file of JSON objects, a line each: first the sums of all files ("files", "bytes",
 * "stored_bytes", "tokens", "uncounted": files whose tokens are not among those) with "next", the
 * value of from: for the next page or null; then a file each: "path", "ref", "size", "tokens",
 * "stored_bytes", "tier", "category", "task", "origin_task",
 * "origin_category", "title", "tags", "important", "created", "modified",
 * "used", "expires" (null: never) and "state" (as of ofs_lifetime_word()). -EINVAL: the name is
 * malformed; -EACCES: as of a search; -ENOENT: there is nothing of that path; -ESTALE: the file
 * that the position names has gone, and the order cannot tell what came after it.
 */
int ofs_inventory_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
			 const struct ofs_cred *cred, struct ofs_entry *ret);

/* ---- slice_node.c: slices as virtual files */

/*
 * Resolves `name` in `parent` as a slice of what `base` is, when it reads as one: -ENOENT if not,
 * or if there is no such base; ret->keep_name is set then too.
 */
int ofs_slice_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
		     const struct ofs_cred *cred, struct ofs_entry *ret);
int ofs_slice_getattr(struct ofs_tree *t, const struct ofs_made *m, struct stat *ret);
ssize_t ofs_slice_read(struct ofs_tree *t, struct ofs_made *m, void *buf, size_t size,
		       uint64_t off);

/* ---- info.c: the text of F:info and F:summary */

/* As the caller (NULL: may do all) may know it. */
void ofs_info_format(struct ofs_tree *t, const struct ofs_attr *file, const struct ofs_cred *cred,
		     struct ofs_buf *out);
int ofs_summary_format(struct ofs_tree *t, const struct ofs_attr *file, const struct ofs_cred *cred,
		       struct ofs_buf *out);

/* ---- attributes.c */

/* ofs_tree_setxattr(), but for what makes a file. */
int ofs_attributes_set(struct ofs_tree *t, ofs_node node, const char *name, const void *value,
		       size_t size, int flags);

/* ---- task_context.c: tasks/<task>/context.md, the steps of a task, retold */

/* The name is that of a recap, if `parent` has steps and no file of that name. */
bool ofs_task_context_is(struct ofs_tree *t, ofs_node parent, const char *name);

/*
 * The recap of the task whose directory `task` is, as the caller (NULL: may do all) may see it.
 * -ENOENT: there are no steps; -EACCES: he may not list them.
 */
int ofs_task_context_lookup(struct ofs_tree *t, ofs_node task, const struct ofs_cred *cred,
			    struct ofs_entry *ret);

/* The task has steps. */
bool ofs_task_context_exists(struct ofs_tree *t, ofs_node task);

/* ---- verify_job.c: verification, as user.offload.verify of the root starts and reports it */

struct ofs_verify_job *ofs_verify_job_create(struct ofs_tree *t);
/* Ends one that runs. NULL is allowed. */
void ofs_verify_job_destroy(struct ofs_verify_job *job);

/* The value of the attribute, and what follows its name: "" or ".K". */
int ofs_verify_job_set(struct ofs_verify_job *job, const char *value, size_t size);
int ofs_verify_job_get(struct ofs_verify_job *job, const char *which, struct ofs_buf *out);

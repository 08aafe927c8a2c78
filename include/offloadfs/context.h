/* SPDX-License-Identifier: MIT */
/**
 * Context engineering over a tree: turns tool results into one-line observations, histories into
 * short sections of a prompt, and lists of messages into shorter ones without losing anything.
 * Input and output are JSON as described in offload-reduce(1), offload-compact(1) and
 * offload-context(1), which use the same code.
 *
 * Nothing here needs a network or a model. The same input gives the same output as long as the
 * files that it refers to exist. The caller frees returned texts; each ends with a NUL that its
 * length does not count. Functions return 0, or -errno with the reason in `err` (may be NULL), and
 * set no output on failure. -EINVAL means that the input is not valid and that nothing was stored.
 * A context may be used by one thread at a time.
 */
#ifndef OFFLOADFS_CONTEXT_H
#define OFFLOADFS_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <offloadfs/error.h>
#include <offloadfs/export.h>

struct ofs_context;

/**
 * Opens the tree that `place` names: a mount point or a path in a mounted tree, a store, or a
 * working folder. If `place` is NULL, OFFLOAD_DIR, OFFLOAD_STORE and the current directory decide,
 * as for offload(1). The file context.ini in the store applies; -EINVAL if it has an error. The
 * tree is opened when it is first needed, and a missing store is created then. A store that is not
 * mounted belongs to this context alone until it is closed. The caller closes `ret`.
 */
OFS_EXPORT int ofs_context_open(const char *place, struct ofs_error *err, struct ofs_context **ret);

/** Closes the context and frees it; NULL is allowed. */
OFS_EXPORT void ofs_context_close(struct ofs_context *c);

/**
 * Reduces one call {"tool", "args", "result"} to a step and appends it to the history of `task`,
 * unless that is NULL. `len` and `ret_len` are in bytes.
 */
OFS_EXPORT int ofs_context_reduce(struct ofs_context *c, const char *json, size_t len,
				  const char *task, struct ofs_error *err, char **ret,
				  size_t *ret_len);

/** Writes the history section of a prompt from steps: JSON lines, an array, or {"steps": [...]}. */
OFS_EXPORT int ofs_context_compact(struct ofs_context *c, const char *json, size_t len,
				   struct ofs_error *err, char **ret, size_t *ret_len);

/**
 * Answers a request {"messages", "mode", ...}: compacts, compresses or restores its messages.
 * `json` is read in place and must not change during the call. Summaries are made by rule unless
 * context.ini names a summarizer.
 */
OFS_EXPORT int ofs_context_manage(struct ofs_context *c, const char *json, size_t len,
				  struct ofs_error *err, char **ret, size_t *ret_len);

/** Estimates the number of tokens of a UTF-8 text to within a few percent. Never fails. */
OFS_EXPORT uint64_t ofs_context_tokens(const char *text, size_t len);

#endif

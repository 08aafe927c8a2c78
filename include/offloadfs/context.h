/* SPDX-License-Identifier: MIT */
/**
 * The tools of context engineering over a tree: results of tools become one-line observations, histories short
 * sections of a prompt, and lists of messages shorter ones of which nothing is lost. JSON comes in and goes out; what
 * is in it is told by offload(1) (reduce, compact, context), whose commands are clients of the same code.
 *
 * Nothing here needs a network or a model, and the same input gives the same output as long as the
 * files are there that it points to. Texts that are returned are the caller's to free() and end with a NUL, which
 * their length does not count. Calls return 0 or -errno, with the reason in `err` (may be NULL), and return nothing then;
 * -EINVAL: the input is not what it should be, and nothing was stored. A context is used by one thread at a time.
 */
#ifndef OFFLOADFS_CONTEXT_H
#define OFFLOADFS_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <offloadfs/error.h>
#include <offloadfs/export.h>

struct ofs_context;

/**
 * Finds the tree that `place` means: a mountpoint or a path in a mounted tree, a store, or a folder that is worked
 * in; NULL: as the tool finds it, by OFFLOAD_DIR, OFFLOAD_STORE and the current directory. Where its store has a file
 * context.ini, that holds (-EINVAL: there is something wrong in it). The tree is opened when it is first needed, and
 * its store made where there is none. In a store that is not mounted the context is then alone until it is closed.
 */
OFS_EXPORT int ofs_context_open(const char *place, struct ofs_error *err, struct ofs_context **ret);

/** NULL is allowed. */
OFS_EXPORT void ofs_context_close(struct ofs_context *c);

/**
 * Reduces one call {"tool", "args", "result"} to a step. With a `task` the step becomes the next one of
 * its history; NULL: of none.
 */
OFS_EXPORT int ofs_context_reduce(struct ofs_context *c, const char *json, size_t len,
				  const char *task, struct ofs_error *err, char **ret,
				  size_t *ret_len);

/** Writes the history section of a prompt from steps: JSON lines, an array, or {"steps": [...]}. */
OFS_EXPORT int ofs_context_compact(struct ofs_context *c, const char *json, size_t len,
				   struct ofs_error *err, char **ret, size_t *ret_len);

/**
 * Answers a request {"messages", "mode", ...}: compacts, compresses or restores its messages. `json` is read in place
 * and must not change meanwhile. A summary is made by rule, unless context.ini names a summarizer.
 */
OFS_EXPORT int ofs_context_manage(struct ofs_context *c, const char *json, size_t len,
				  struct ofs_error *err, char **ret, size_t *ret_len);

/** How many tokens a tokenizer makes of a text in UTF-8, within a few percent. */
OFS_EXPORT uint64_t ofs_context_tokens(const char *text, size_t len);

#endif

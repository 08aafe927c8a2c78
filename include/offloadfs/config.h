/* SPDX-License-Identifier: MIT */
/**
 * The configuration of a tree: the keys of offloadfs-config(5), each with its value and the origin
 * of that value. Values come from the defaults, from a file (STORE/config.ini) and from options set
 * by name (`-o key=value` of the daemon). An option wins over the file, in whatever order they are
 * applied.
 *
 * A configuration may be used by one thread at a time.
 */
#ifndef OFFLOADFS_CONFIG_H
#define OFFLOADFS_CONFIG_H

#include <stdint.h>

#include <offloadfs/error.h>
#include <offloadfs/export.h>
#include <offloadfs/tree.h>

struct ofs_config;

/** Creates a configuration that holds the defaults. Never NULL; see ofs_config_destroy(). */
OFS_EXPORT struct ofs_config *ofs_config_create(void);

/** Frees the configuration; NULL is allowed. */
OFS_EXPORT void ofs_config_destroy(struct ofs_config *c);

/**
 * Reads the file `path`: lines KEY = VALUE, followed by sections such as [category NAME]. Values
 * set by options stay. Call this at most once for each configuration. Returns -EINVAL if the file
 * has an error, and changes nothing then; `err` (may be NULL) says "PATH:LINE: what is wrong, and
 * what would be right". Errors of reading, such as -ENOENT, also set `err`.
 */
OFS_EXPORT int ofs_config_load(struct ofs_config *c, const char *path, struct ofs_error *err);

/**
 * Reads config.ini of the store in the directory `store`, as ofs_config_load() does. The file may
 * be missing. Returns -EPERM if the caller does not own the store (see ofs_tree_open()).
 */
OFS_EXPORT int ofs_config_load_store(struct ofs_config *c, const char *store,
				     struct ofs_error *err);

/** Sets a key as an option does. Returns -EINVAL, with the reason in `err` (may be NULL). */
OFS_EXPORT int ofs_config_set(struct ofs_config *c, const char *name, const char *value,
			      struct ofs_error *err);

/**
 * Returns the value of a key in the unit of offloadfs-config(5); for a key whose values are words,
 * the index of the word, from 0. The key must exist.
 */
OFS_EXPORT uint64_t ofs_config_get(const struct ofs_config *c, const char *name);

/**
 * Sets those tree options that are keys of the configuration, and leaves the others alone. Strings
 * and arrays in `ret` are borrowed from `c`, and `embed_key` from the environment.
 */
OFS_EXPORT void ofs_config_apply(const struct ofs_config *c, struct ofs_tree_options *ret);

/**
 * Returns the configuration in effect as the text of a file from which ofs_config_load() reads the
 * same values. Comments on each key give its purpose, allowed values, default and origin. The text
 * ends with a newline; the caller frees it. Never NULL.
 */
OFS_EXPORT char *ofs_config_format(const struct ofs_config *c);

#endif

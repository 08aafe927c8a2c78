/* SPDX-License-Identifier: MIT */
/**
 * The configuration of a tree: the keys of offloadfs-config(5), each with its value and what set
 * it. Values come from the defaults, from a file (STORE/config.ini) and from options given by
 * name (`-o key=value` of the daemon); an option wins over the file, in whatever order they
 * come.
 *
 * A configuration is used by one thread at a time.
 */
#ifndef OFFLOADFS_CONFIG_H
#define OFFLOADFS_CONFIG_H

#include <stdint.h>

#include <offloadfs/error.h>
#include <offloadfs/export.h>
#include <offloadfs/tree.h>

struct ofs_config;

/** Creates a configuration with all defaults; free it with ofs_config_destroy(). Never NULL. */
OFS_EXPORT struct ofs_config *ofs_config_create(void);

/** Frees the configuration; NULL is allowed. */
OFS_EXPORT void ofs_config_destroy(struct ofs_config *c);

/**
 * Reads the file `path`: lines KEY = VALUE, then sections [category NAME] with a `ttl`. Values that
 * options have set stay. Call it once for each configuration. -EINVAL: the file has an error, and
 * nothing has changed; `err` (may be NULL) says "PATH:LINE: what is wrong, and what would be
 * right". Errors of reading, such as -ENOENT, come with a message, too.
 */
OFS_EXPORT int ofs_config_load(struct ofs_config *c, const char *path, struct ofs_error *err);

/**
 * The same for the file config.ini of the store in the directory `store`; it may be missing.
 * -EPERM: it is not the caller's store (see ofs_tree_open()).
 */
OFS_EXPORT int ofs_config_load_store(struct ofs_config *c, const char *store,
				     struct ofs_error *err);

/** Sets a key as an option does. -EINVAL, with the reason in `err` (may be NULL). */
OFS_EXPORT int ofs_config_set(struct ofs_config *c, const char *name, const char *value,
			      struct ofs_error *err);

/**
 * The value of a key, in the unit of offloadfs-config(5), or for a word its index from 0. The
 * key must exist.
 */
OFS_EXPORT uint64_t ofs_config_get(const struct ofs_config *c, const char *name);

/**
 * Sets those options of a tree that are keys of the configuration, and leaves the others alone.
 * `ret->lifetimes` is borrowed from `c`.
 */
OFS_EXPORT void ofs_config_apply(const struct ofs_config *c, struct ofs_tree_options *ret);

/**
 * Writes the configuration in effect as a file that ofs_config_load() understands and that gives
 * the same values: each key with comments on its purpose, allowed values, default and what set it.
 * The text ends with a newline; the caller frees it. Never NULL.
 */
OFS_EXPORT char *ofs_config_format(const struct ofs_config *c);

#endif

/* SPDX-License-Identifier: MIT */
/**
 * The configuration of a tree: one table of keys, a value for each, and what set it. Values come
 * from the defaults, from a file (STORE/config.ini) and from options given by name (`-o key=value`
 * of the daemon); an option wins over the file, in whatever order they are taken in.
 *
 * A configuration is used by one thread at a time.
 */
#ifndef OFFLOADFS_CONFIG_H
#define OFFLOADFS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <offloadfs/error.h>
#include <offloadfs/export.h>
#include <offloadfs/tree.h>

/** What a number counts, and the suffixes that may follow it. */
struct ofs_config_unit {
	const char *name; /**< in the plural: "milliseconds" */
	const char *placeholder; /**< in a usage text: "MS" */
	/** How many of the unit each suffix stands for; ended by a NULL suffix. Case is ignored. */
	struct {
		const char *suffix;
		uint64_t factor;
	} suffixes[5];
};

/** A key of the table: a number of some unit, or one of a few words. */
struct ofs_config_key {
	const char *name;
	const struct ofs_config_unit *unit; /**< NULL: a choice */
	/** For a choice: the words, ended by NULL; the value is the place of one, from 0. */
	const char *const *words;
	uint64_t min;
	uint64_t max;
	uint64_t preset; /**< the default */
	const char *zero; /**< what may be written for 0 ("never"); NULL: nothing */
	const char *text; /**< what it is for: a sentence without its full stop */
};

/** The keys in the order of the table, the first is number 0; NULL behind the last one. */
OFS_EXPORT const struct ofs_config_key *ofs_config_key(size_t number);

/** Whether there is a key of that name. */
OFS_EXPORT bool ofs_config_has(const char *name);

/** The key that `name` is likely a misspelling of; NULL: none is close to it. */
OFS_EXPORT const char *ofs_config_nearest(const char *name);

struct ofs_config;

/** All defaults. Never NULL. */
OFS_EXPORT struct ofs_config *ofs_config_create(void);

/** NULL is allowed. */
OFS_EXPORT void ofs_config_destroy(struct ofs_config *c);

/**
 * Takes in the file `path`, lines of the form KEY = VALUE; values that options have set stay.
 * Once for each configuration. -EINVAL: something in it is wrong, and nothing was taken in; `err`
 * (may be NULL) says "PATH:LINE: what is wrong, and what would be right". -ENOENT and what reading
 * says otherwise, with words in `err`, too.
 */
OFS_EXPORT int ofs_config_load(struct ofs_config *c, const char *path, struct ofs_error *err);

/** The same for the file config.ini of the store in the directory `store`; it may be missing. */
OFS_EXPORT int ofs_config_load_store(struct ofs_config *c, const char *store,
				     struct ofs_error *err);

/** Sets a key as an option does. -EINVAL, with the reason in `err` (may be NULL). */
OFS_EXPORT int ofs_config_set(struct ofs_config *c, const char *name, const char *value,
			      struct ofs_error *err);

/** The value of a key, in its unit or as the place of its word. `name` must be in the table. */
OFS_EXPORT uint64_t ofs_config_get(const struct ofs_config *c, const char *name);

/** Sets those options of a tree that are keys of the table, and leaves the others alone. */
OFS_EXPORT void ofs_config_apply(const struct ofs_config *c, struct ofs_tree_options *ret);

/**
 * Writes down the configuration in effect as a file that ofs_config_load() understands and that
 * gives the same values: each key with comments that tell what it is for, what is allowed, its
 * default and what set it. `ret` is the caller's to free; it ends with a newline. 0 or -ENOMEM.
 */
OFS_EXPORT int ofs_config_format(const struct ofs_config *c, char **ret);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Files of settings: lines KEY = VALUE, perhaps in sections, as tables of keys describe them. A ';'
 * or '#' at the start of a line, and a ';' after a blank, start a comment.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/quantity.h"

struct ofs_ini_section {
	const char *name;
	/*
	 * The section is written [NAME X], once for each X, which this function checks: -EINVAL
	 * with the reason in `err`. NULL: the section is written [NAME].
	 */
	int (*check)(const char *x, struct ofs_error *err);
	/*
	 * A key in [NAME X] means the same as the key `alias`X before the first section, where
	 * there is one. NULL: no such rule.
	 */
	const char *alias;
};

enum ofs_ini_type {
	OFS_INI_NUMBER,
	OFS_INI_WORD, /* one of a few */
	OFS_INI_TEXT, /* UTF-8 */
};

struct ofs_ini_key {
	unsigned int section; /* its place in the table of sections; 0: before the first one */
	const char *name;
	enum ofs_ini_type type;
	struct ofs_quantity number;
	const char *const *words; /* ended by NULL; the value is the place of one, from 0 */
	/* Checks a text. -EINVAL: `must` says what it must be. NULL: any text will do. */
	int (*check)(const char *text, struct ofs_error *must);
	uint64_t preset; /* of a number or word */
	const char *text; /* what it is for: a sentence without its full stop */
	const char *value; /* of a text, in help: "FILE"; NULL: "TEXT" */
	size_t at; /* for the table's owner: where the value goes */
	bool user_only; /* not where ofs_ini_table.user_file is set */
};

struct ofs_ini_table {
	const struct ofs_ini_section *sections; /* the first is the lines before any */
	unsigned int n_sections;
	const struct ofs_ini_key *keys;
	unsigned int n_keys;
	/* The user's own file, where the one that is read is not: NULL: it is. */
	const char *user_file;
};

struct ofs_ini_entry {
	const struct ofs_ini_key *key; /* NULL: a section [NAME X] starts */
	const char *x; /* of [NAME X]; NULL: the section has none */
	const char *text; /* the value as it is written, without blanks around it */
	uint64_t number; /* the value of a number or word */
	unsigned int line; /* from 1 */
};

/*
 * Reads the regular file `path`, in UTF-8 with or without a byte order mark, and calls `take` for
 * its entries in order, unless something is wrong with any of them: then -EINVAL, and `err` (may be
 * NULL) says "PATH:LINE: what is wrong, and what would be right". Other errors of reading, as
 * -ENOENT, come with a message as well. Unless `dirfd` is AT_FDCWD, the last name of `path` is
 * looked for there, and not through a symbolic link.
 */
int ofs_ini_load(int dirfd, const char *path, const struct ofs_ini_table *table,
		 void (*take)(void *arg, const struct ofs_ini_entry *entry), void *arg,
		 struct ofs_error *err);

/* The key of that name in a section; NULL: none. */
const struct ofs_ini_key *ofs_ini_find(const struct ofs_ini_table *table, unsigned int section,
				       const char *name);

/* The key that `name` is likely a misspelling of; NULL: none is close to it. */
const char *ofs_ini_nearest(const struct ofs_ini_table *table, unsigned int section,
			    const char *name);

/* What stands for a value in help: "TIME"; of a key of type word "WORD". */
const char *ofs_ini_placeholder(const struct ofs_ini_key *key);

/* Reads a value. -EINVAL: `must` (may be NULL) says what it must be: "one of on, off". */
int ofs_ini_parse(const struct ofs_ini_key *key, const char *text, uint64_t *ret,
		  struct ofs_error *must);

/* The `must` of ofs_ini_parse(). */
void ofs_ini_describe(const struct ofs_ini_key *key, struct ofs_error *ret);

/* Says in `err` that there is no key `name` in a section, and which there are. Returns -EINVAL. */
int ofs_ini_unknown(const struct ofs_ini_table *table, unsigned int section, const char *name,
		    struct ofs_error *err);

/* A word from such a file, fit to stand within a message of one line. */
struct ofs_word_shown {
	char text[64];
};
struct ofs_word_shown ofs_word_show(const char *text);

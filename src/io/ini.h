/* SPDX-License-Identifier: MIT */
/*
 * Files of settings: lines KEY = VALUE, optionally in sections, as described by tables of keys. A
 * comment starts with ';' or '#' at the start of a line, or with ';' after a blank.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/quantity.h"

struct ofs_ini_section {
	const char *name;
	/*
	 * Checks X of sections [NAME X], of which there is one for each X; -EINVAL with the reason
	 * in *err. NULL for a section [NAME].
	 */
	int (*check)(const char *x, struct ofs_error *err);
	/*
	 * Makes a key in [NAME X] an alias of the key `alias`X before the first section, if there
	 * is one. May be NULL.
	 */
	const char *alias;
};

enum ofs_ini_type {
	OFS_INI_NUMBER,
	OFS_INI_WORD, /* one of a list of words */
	OFS_INI_TEXT, /* UTF-8 */
};

struct ofs_ini_key {
	unsigned int section; /* index of its section; 0: before the first one */
	const char *name;
	enum ofs_ini_type type;
	struct ofs_quantity number;
	const char *const *words; /* ends with NULL; the value is an index, from 0 */
	/* Checks a text; -EINVAL with what it must be in *must. NULL: any text will do. */
	int (*check)(const char *text, struct ofs_error *must);
	uint64_t preset; /* default of a number or a word */
	const char *text; /* description: a sentence without its full stop */
	const char *value; /* placeholder of a text in help: "FILE"; NULL for "TEXT" */
	size_t at; /* for the owner of the table: offset of the value */
	bool user_only; /* refused if ofs_ini_table.user_file is set */
};

struct ofs_ini_table {
	/* the first one stands for the lines before any section */
	const struct ofs_ini_section *sections;
	unsigned int n_sections;
	const struct ofs_ini_key *keys;
	unsigned int n_keys;
	/* Path of the user's own file if another file is read; NULL if it is the one read. */
	const char *user_file;
};

struct ofs_ini_entry {
	const struct ofs_ini_key *key; /* NULL at the start of a section [NAME X] */
	unsigned int section; /* of the line */
	const char *x; /* X of [NAME X]; NULL in other sections */
	const char *text; /* value as written, without surrounding blanks */
	uint64_t number; /* value of a number or a word */
	unsigned int line; /* line number, from 1 */
};

/*
 * Reads the regular file `path`, in UTF-8 with or without a byte order mark, and calls `take` for
 * its entries in order. If any entry is wrong, does not call `take`, returns -EINVAL and sets *err
 * (`err` may be NULL) to "PATH:LINE: what is wrong, and what would be right". Other errors, such as
 * -ENOENT, set a message, too. Unless `dirfd` is AT_FDCWD, the last component of `path` is opened
 * there and must not be a symbolic link.
 */
int ofs_ini_load(int dirfd, const char *path, const struct ofs_ini_table *table,
		 void (*take)(void *arg, const struct ofs_ini_entry *entry), void *arg,
		 struct ofs_error *err);

/* Returns the key of that name in a section, or NULL. */
const struct ofs_ini_key *ofs_ini_find(const struct ofs_ini_table *table, unsigned int section,
				       const char *name);

/* Returns the name of the key that `name` probably misspells, or NULL. */
const char *ofs_ini_nearest(const struct ofs_ini_table *table, unsigned int section,
			    const char *name);

/* Returns the placeholder of a value in help: "TIME", or "WORD" for a word. */
const char *ofs_ini_placeholder(const struct ofs_ini_key *key);

/* Parses a value. -EINVAL: *must (`must` may be NULL) says what it must be: "one of on, off". */
int ofs_ini_parse(const struct ofs_ini_key *key, const char *text, uint64_t *ret,
		  struct ofs_error *must);

/* Sets *ret to the `must` of ofs_ini_parse(). */
void ofs_ini_describe(const struct ofs_ini_key *key, struct ofs_error *ret);

/* Returns -EINVAL and sets *err: no key `name` is in the section, and which keys there are. */
int ofs_ini_unknown(const struct ofs_ini_table *table, unsigned int section, const char *name,
		    struct ofs_error *err);

/* A word from such a file, shortened, redacted and made printable for a message. */
struct ofs_word_shown {
	char text[64];
};
struct ofs_word_shown ofs_word_show(const char *text);

/* SPDX-License-Identifier: MIT */
/* What must hold in the index, as SQL; check.c goes through it. */
#ifndef OFS_INDEX_RULES_H
#define OFS_INDEX_RULES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * `find` gives rows of an inode (0: none) and a line of text; ?1 is the directory for lost files.
 * `repair` may be several statements; NULL: what is found can only be told.
 */
struct ofs_rule {
	const char *of; /* what it looks at */
	const char *find;
	const char *repair;
	bool tree; /* it concerns the b-trees themselves; the text may be several lines */
	bool lost; /* the repair needs a directory for lost files */
};

extern const struct ofs_rule ofs_rules[]; /* in the order in which they are looked at */
extern const size_t ofs_rules_count;

/* Gives a connection the functions that the rules call. An SQLite code. */
int ofs_rules_add_functions(sqlite3 *db);

#endif

/* SPDX-License-Identifier: MIT */
/* The invariants of the index in SQL, which index_check.c checks. */
#pragma once

#include <sqlite3.h>

#include "base/util.h"

/*
 * `find` returns rows of an inode (0: none) and a line of text; ?1 is the directory for lost files.
 * `repair` may be several statements; NULL: findings can only be reported.
 */
struct ofs_rule {
	const char *of; /* the subject, for messages */
	const char *find;
	const char *repair;
	bool tree; /* checks a b-tree, and its text may have several lines */
	bool lost; /* the repair needs a directory for lost files */
};

extern const struct ofs_rule ofs_rules[]; /* in the order of the checks */
extern const size_t ofs_rules_count;

/* Adds the SQL functions that the rules call. Returns an SQLite code. */
int ofs_rules_add_functions(sqlite3 *db);

/* SPDX-License-Identifier: MIT */
/* The names of an inode. */
#ifndef OFS_STORE_INODE_NAMES_H
#define OFS_STORE_INODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ofs_store;
struct ofs_inode;

struct ofs_name {
	uint64_t dir;
	char *name;
};

struct ofs_names {
	struct ofs_name *list; /* by directory and name, each once */
	size_t n;
	size_t cap;
};

void ofs_names_finish(struct ofs_names *l);

/*
 * The only name of an inode that has one, through its parent, into the empty `ret`; `lock` held. 1:
 * it has several, or that one is elsewhere: they have to be gathered.
 */
int ofs_names_sole(struct ofs_store *s, const struct ofs_inode *n, struct ofs_names *ret);

/*
 * All names into the empty `ret`, with no lock held; only ofs_names_are_all() tells whether that is
 * still so. -ENOENT.
 */
int ofs_names_gather(struct ofs_store *s, uint64_t ino, struct ofs_names *ret);

/* Whether these are the names of an inode now, and all of them; `lock` held. */
bool ofs_names_are_all(struct ofs_store *s, const struct ofs_inode *n, const struct ofs_names *l);

#endif

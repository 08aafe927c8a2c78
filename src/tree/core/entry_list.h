/* SPDX-License-Identifier: MIT */
/* A list of names, each under a number, in order of the numbers. */
#pragma once

#include "base/buf.h"

struct ofs_list_entry {
	uint64_t key; /* the inode of a file, or a hash of the name */
	size_t name; /* offset in `names` */
};

struct ofs_entry_list {
	struct ofs_list_entry *entries; /* by key once it is settled */
	size_t n, cap;
	struct ofs_buf names;
};

void ofs_entry_list_finish(struct ofs_entry_list *l);

/* The key of an entry that is a name alone. */
uint64_t ofs_entry_list_key(const char *name);

void ofs_entry_list_add(struct ofs_entry_list *l, uint64_t key, const char *name);

/* Brings the entries into order, each key once: with the name that was added first. */
void ofs_entry_list_settle(struct ofs_entry_list *l);

/* The same, and leaves only the last `n`. */
void ofs_entry_list_keep_last(struct ofs_entry_list *l, size_t n);

static inline const char *ofs_entry_list_name(const struct ofs_entry_list *l, size_t i)
{
	return (const char *)l->names.data + l->entries[i].name;
}

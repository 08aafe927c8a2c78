/* SPDX-License-Identifier: MIT */
/* A list of names, each with a number as its key, sorted by key. */
#pragma once

#include "base/buf.h"

struct ofs_list_entry {
	uint64_t key; /* the inode of a file, or a hash of the name */
	size_t name; /* offset in `names` */
};

struct ofs_entry_list {
	struct ofs_list_entry *entries; /* sorted by key once the list is settled */
	size_t n, cap;
	struct ofs_buf names;
};

void ofs_entry_list_finish(struct ofs_entry_list *l);

/* Returns the key of an entry that consists of a name alone. */
uint64_t ofs_entry_list_key(const char *name);

void ofs_entry_list_add(struct ofs_entry_list *l, uint64_t key, const char *name);

/* Sorts the entries and leaves one for each key: the one with the name added first. */
void ofs_entry_list_settle(struct ofs_entry_list *l);

/* The same, but leaves only the last `n` entries. */
void ofs_entry_list_keep_last(struct ofs_entry_list *l, size_t n);

static inline const char *ofs_entry_list_name(const struct ofs_entry_list *l, size_t i)
{
	return (const char *)l->names.data + l->entries[i].name;
}

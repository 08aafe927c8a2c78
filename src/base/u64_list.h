/* SPDX-License-Identifier: MIT */
/* A growing list of 64-bit numbers: inodes, chunks, frames. */
#pragma once

#include "base/util.h"

/* Zero-initialised, the list is empty. */
struct ofs_u64_list {
	uint64_t *at;
	size_t n;
	size_t cap;
};

void ofs_u64_list_add(struct ofs_u64_list *l, uint64_t number);

/* ofs_u64_list_add() as a callback: `list` is a struct ofs_u64_list. Returns 0. */
int ofs_u64_list_collect(void *list, uint64_t number);

/* Sorts the numbers and removes duplicates. */
void ofs_u64_list_sort_unique(struct ofs_u64_list *l);

/* Returns the index of the first number above `number` in a sorted list, or l->n. */
size_t ofs_u64_list_seek(const struct ofs_u64_list *l, uint64_t number);

/* Frees the list and leaves it empty. Usable with OFS_CLEANUP. */
void ofs_u64_list_finish(struct ofs_u64_list *l);

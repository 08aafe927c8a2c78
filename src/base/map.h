/* SPDX-License-Identifier: MIT */
/* A hash map from 64-bit numbers to pointers. Not thread-safe: guarded by the owner's lock. */
#pragma once

#include "base/util.h"

struct ofs_map_slot {
	uint64_t key;
	void *value; /* NULL: free slot */
};

struct ofs_map {
	struct ofs_map_slot *slots;
	size_t mask; /* number of slots - 1; 0 while nothing is allocated */
	size_t count;
};

#define OFS_MAP_INIT       \
	{                  \
		NULL, 0, 0 \
	}

void ofs_map_finish(struct ofs_map *m);

/* Returns the value of `key`, or NULL. */
void *ofs_map_get(const struct ofs_map *m, uint64_t key);

/* Sets the value of `key`, which must not be NULL, and replaces any old one. */
void ofs_map_put(struct ofs_map *m, uint64_t key, void *value);

/* Removes `key` and returns its value, or NULL if it was absent. */
void *ofs_map_remove(struct ofs_map *m, uint64_t key);

/*
 * Iterates over the values: start with *pos = 0; returns NULL at the end. No key may be added or
 * removed during the iteration.
 */
void *ofs_map_next(const struct ofs_map *m, size_t *pos);

/* SPDX-License-Identifier: MIT */
/* A hash map from 64-bit numbers to pointers. Not thread-safe: the owner's lock guards it. */
#pragma once

#include "base/util.h"

struct ofs_map_slot {
	uint64_t key;
	void *value; /* NULL: free slot */
};

struct ofs_map {
	struct ofs_map_slot *slots;
	size_t mask; /* slots - 1, or 0 while nothing is allocated */
	size_t count;
};

#define OFS_MAP_INIT       \
	{                  \
		NULL, 0, 0 \
	}

void ofs_map_finish(struct ofs_map *m);

/* The value of `key`, or NULL. */
void *ofs_map_get(const struct ofs_map *m, uint64_t key);

/* Sets `key` to `value` (never NULL), replacing what was there. */
void ofs_map_put(struct ofs_map *m, uint64_t key, void *value);

/* Removes `key` and returns its value, or NULL when it was not there. */
void *ofs_map_remove(struct ofs_map *m, uint64_t key);

/*
 * Iteration: start with *pos = 0; returns NULL at the end. The map must not gain or lose keys
 * meanwhile.
 */
void *ofs_map_next(const struct ofs_map *m, size_t *pos);

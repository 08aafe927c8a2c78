/* SPDX-License-Identifier: MIT */
#include "base/map.h"

/* Linear probing. A removal shifts later entries back, so no tombstones are needed. */

static size_t map_home(const struct ofs_map *m, uint64_t key)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & m->mask;
}

void ofs_map_finish(struct ofs_map *m)
{
	free(m->slots);
	*m = (struct ofs_map)OFS_MAP_INIT;
}

void *ofs_map_get(const struct ofs_map *m, uint64_t key)
{
	if (!m->slots)
		return NULL;
	for (size_t i = map_home(m, key); m->slots[i].value; i = (i + 1) & m->mask)
		if (m->slots[i].key == key)
			return m->slots[i].value;
	return NULL;
}

#define SLOTS_MIN 16
#define SLOTS_KEPT 1024 /* a map this small does not shrink */

static void map_resize(struct ofs_map *m, size_t slots)
{
	struct ofs_map other = { .mask = slots - 1 };

	other.slots = ofs_alloc(slots * sizeof(*other.slots));
	for (size_t i = 0; m->slots && i <= m->mask; i++)
		if (m->slots[i].value)
			ofs_map_put(&other, m->slots[i].key, m->slots[i].value);
	free(m->slots);
	*m = other;
}

void ofs_map_put(struct ofs_map *m, uint64_t key, void *value)
{
	size_t i;

	if (!m->slots || (m->count + 1) * 4 > (m->mask + 1) * 3)
		map_resize(m, m->slots ? (m->mask + 1) * 2 : SLOTS_MIN);
	for (i = map_home(m, key); m->slots[i].value; i = (i + 1) & m->mask)
		if (m->slots[i].key == key) {
			m->slots[i].value = value;
			return;
		}
	m->slots[i] = (struct ofs_map_slot){ key, value };
	m->count++;
}

void *ofs_map_remove(struct ofs_map *m, uint64_t key)
{
	size_t i, j;
	void *value;

	if (!m->slots)
		return NULL;
	for (i = map_home(m, key); m->slots[i].value; i = (i + 1) & m->mask)
		if (m->slots[i].key == key)
			break;
	value = m->slots[i].value;
	if (!value)
		return NULL;
	for (j = (i + 1) & m->mask; m->slots[j].value; j = (j + 1) & m->mask) {
		size_t home = map_home(m, m->slots[j].key);

		/* Slot j may move to i unless its home lies cyclically in (i, j]. */
		if (i <= j ? (home <= i || home > j) : (home <= i && home > j)) {
			m->slots[i] = m->slots[j];
			i = j;
		}
	}
	m->slots[i].value = NULL;
	m->count--;
	/* Shrinks at an eighth, so that the map does not soon grow again. */
	if (m->mask >= SLOTS_KEPT && m->count < (m->mask + 1) / 8)
		map_resize(m, (m->mask + 1) / 2);
	return value;
}

void *ofs_map_next(const struct ofs_map *m, size_t *pos)
{
	while (m->slots && *pos <= m->mask) {
		void *value = m->slots[(*pos)++].value;

		if (value)
			return value;
	}
	return NULL;
}

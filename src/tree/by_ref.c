/* SPDX-License-Identifier: MIT */
/*
 * A name in refs/ is known to who looked it up and not to who removes the file's last name elsewhere:
 * it would keep the file. So the tree remembers which files were found that way.
 */
#include "base/alloc.h"
#include "tree/internal.h"

void ofs_by_ref_add(struct ofs_tree *t, uint64_t ino)
{
	pthread_mutex_lock(&t->by_ref_lock);
	ofs_map_put(&t->by_ref, ino, t);
	pthread_mutex_unlock(&t->by_ref_lock);
}

void ofs_by_ref_forget(struct ofs_tree *t, uint64_t ino, uint64_t n)
{
	pthread_mutex_lock(&t->by_ref_lock);
	if (ofs_store_forget(t->store, ino, n) == 0)
		ofs_map_remove(&t->by_ref, ino);
	pthread_mutex_unlock(&t->by_ref_lock);
}

static bool is_by_ref(struct ofs_tree *t, uint64_t ino)
{
	bool found;

	pthread_mutex_lock(&t->by_ref_lock);
	found = ofs_map_get(&t->by_ref, ino) != NULL;
	pthread_mutex_unlock(&t->by_ref_lock);
	return found;
}

void ofs_by_ref_unlinked(struct ofs_tree *t, uint64_t ino)
{
	char ref[OFS_REF_SIZE];

	if (!ino || !t->events.release || !is_by_ref(t, ino))
		return;
	ofs_ref_format(ino, ref);
	t->events.release(t->events.arg, ino, OFS_NODE_REFS, ref);
}

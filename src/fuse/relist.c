/* SPDX-License-Identifier: MIT */
#include "fuse/relist.h"

#include "base/thread.h"

/* Asking for the attributes of one file takes at least as long as listing this many. */
#define ENTRIES_A_MESSAGE 4

/* A slot holds the directory that was listed last of those that map to it. */
struct slot {
	ofs_node dir;
	size_t listed; /* entries; 0: the listing was dropped */
	size_t read; /* files read since then */
	size_t asked; /* files whose attributes were asked for since then */
};

struct ofs_relist {
	pthread_mutex_t lock; /* guards what follows */
	struct slot slots[OFS_RELIST_MAX];
};

struct ofs_relist *ofs_relist_create(void)
{
	struct ofs_relist *r = ofs_alloc(sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void ofs_relist_destroy(struct ofs_relist *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct slot *slot_of(struct ofs_relist *r, ofs_node dir)
{
	return &r->slots[dir % OFS_RELIST_MAX];
}

void ofs_relist_listed(struct ofs_relist *r, ofs_node dir, size_t n, bool first)
{
	struct slot *s = slot_of(r, dir);

	OFS_LOCKED(&r->lock);
	if (s->dir != dir || first)
		*s = (struct slot){ .dir = dir };
	s->listed += n;
}

void ofs_relist_read(struct ofs_relist *r, ofs_node dir)
{
	struct slot *s = slot_of(r, dir);

	OFS_LOCKED(&r->lock);
	s->read += s->dir == dir;
}

/* Returns true if listing the directory again costs no more than asking for `n` files. */
static bool is_worth(const struct slot *s, size_t n)
{
	return s->listed && n * ENTRIES_A_MESSAGE >= s->listed;
}

size_t ofs_relist_asked(struct ofs_relist *r, ofs_node dir, ofs_node ret[OFS_RELIST_MAX])
{
	struct slot *s = slot_of(r, dir);
	size_t n = 0;

	OFS_LOCKED(&r->lock);
	if (s->dir != dir || !is_worth(s, ++s->asked) || !is_worth(s, s->read))
		return 0;
	for (s = r->slots; s < r->slots + OFS_RELIST_MAX; s++) {
		if (!is_worth(s, s->read))
			continue;
		ret[n++] = s->dir;
		s->listed = 0;
	}
	return n;
}

/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint moves what memory and journal know into the index, in one transaction with the
 * journal position that it reaches.
 *
 * Order, and what would break otherwise:
 *   1. packs are synced before the index names their frames (else: content lost by power failure)
 *   2. the journal is synced before the index claims to include it (else: drafts in the index that
 *      point to nothing)
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "store/cycle.h"
#include "store/ledger.h"
#include "store/number.h"
#include "store/store_state.h"

struct block_change {
	uint64_t block;
	uint64_t chunk;
};

/* A dirty inode as the checkpoint took it. */
struct taken {
	struct ofs_index_inode row;
	bool gone;
	uint64_t cut;
	struct block_change *blocks;
	size_t nblocks, cap_blocks;
	bool drafts_changed;
	struct ofs_index_draft *drafts;
	size_t ndrafts;
	struct ofs_index_dirent *entries; /* their names are owned; `ino` 0: removed */
	size_t nentries, cap_entries;
	bool xattrs_changed;
	struct ofs_buf xattrs;
};

struct checkpoint {
	struct taken *list;
	size_t n;
	struct ofs_u64_list marks;
	const struct ofs_tombstone **tombstones; /* the store's, which stay while `cycle` is held */
	size_t ntombstones;
	struct ofs_ledger_row **ledger;
	size_t nledger;
	uint64_t epoch;
	struct ofs_index_meta meta;
};

static void checkpoint_finish(struct checkpoint *cp)
{
	size_t i, j;

	for (i = 0; i < cp->n; i++) {
		struct taken *t = &cp->list[i];

		for (j = 0; j < t->nentries; j++)
			free((char *)t->entries[j].name);
		free(t->row.target);
		free(t->blocks);
		free(t->drafts);
		free(t->entries);
		ofs_buf_finish(&t->xattrs);
	}
	free(cp->list);
	free(cp->tombstones);
	for (i = 0; i < cp->nledger; i++)
		free(cp->ledger[i]);
	free(cp->ledger);
	ofs_u64_list_finish(&cp->marks);
}

static void take_entry(struct taken *t, const char *name, const struct ofs_dirent *e)
{
	*ofs_append(t->entries, t->nentries, t->cap_entries) =
		(struct ofs_index_dirent){ ofs_strdup(name), e->ino, e->type, e->cookie };
}

static void take_dir(struct taken *t, const struct ofs_dir *d, uint64_t committed)
{
	static const struct ofs_dirent removed;
	const struct ofs_removed *r;
	size_t i;

	if (d->epoch <= committed)
		return;
	/* Removals first: a removed name may have come back. */
	for (r = d->removed; r; r = r->next)
		take_entry(t, r->name, &removed);
	for (i = 0; i < d->norder; i++)
		if (d->order[i].entry && d->order[i].entry->epoch > committed)
			take_entry(t, d->order[i].entry->name, d->order[i].entry);
}

static void take_content(struct taken *t, const struct ofs_content_map *c, uint64_t ino,
			 uint64_t committed)
{
	size_t i;

	t->cut = c->cut;
	for (i = 0; i < c->nblocks; i++) {
		if (c->blocks[i].epoch <= committed && c->blocks[i].index < c->cut)
			continue;
		*ofs_append(t->blocks, t->nblocks, t->cap_blocks) =
			(struct block_change){ c->blocks[i].index, c->blocks[i].chunk.id };
	}
	t->drafts_changed = c->drafts_epoch > committed;
	if (!t->drafts_changed || !c->nextents)
		return;
	t->drafts = ofs_alloc(c->nextents * sizeof(*t->drafts));
	for (i = 0; i < c->nextents; i++)
		t->drafts[t->ndrafts++] = (struct ofs_index_draft){
			.ino = ino,
			.off = c->extents[i].off,
			.len = c->extents[i].len,
			.data_pos = c->extents[i].data.pos,
			.data_len = c->extents[i].data.len,
			.data_off = c->extents[i].data_off,
		};
}

static void take_inode(struct taken *t, const struct ofs_inode *n, uint64_t committed)
{
	t->row = n->row;
	/* A new row starts without a charge; setting its blocks adds to it. */
	t->row.stored = 0;
	t->row.target = n->row.target ? ofs_strdup(n->row.target) : NULL;
	t->gone = n->gone;
	t->cut = UINT64_MAX;
	if (n->dir)
		take_dir(t, n->dir, committed);
	if (n->gone)
		return;
	take_content(t, &n->content, n->row.ino, committed);
	t->xattrs_changed = n->xattrs_epoch > committed;
	if (t->xattrs_changed)
		ofs_buf_append(&t->xattrs, n->xattrs.data, n->xattrs.len);
}

/* Copies everything that is dirty and begins the next epoch; `lock` held. */
static void checkpoint_take(struct ofs_store *s, struct checkpoint *cp)
{
	const struct ofs_tombstone *t;
	size_t i, pos = 0;

	cp->epoch = s->epoch++;
	cp->meta.checkpoint = ofs_journal_end(s->journal);
	cp->meta.next_ino = ofs_store_clear_number(s);
	cp->meta.scrubbed = s->scrubbed;
	cp->meta.counts = s->counts;
	ofs_age_take(s, &cp->meta);
	cp->tombstones = ofs_alloc(s->tombstones.count * sizeof(*cp->tombstones));
	while ((t = ofs_map_next(&s->tombstones, &pos)))
		cp->tombstones[cp->ntombstones++] = t;
	cp->ledger = ofs_ledger_take(s, &cp->nledger);
	for (i = 0; i < s->nmoves; i++)
		ofs_u64_list_add(&cp->marks, s->moves[i].ino);
	cp->list = ofs_alloc(s->dirty.n * sizeof(*cp->list));
	for (i = 0; i < s->dirty.n; i++)
		take_inode(&cp->list[cp->n++], s->dirty.list[i], s->committed);
}

static int write_taken(struct ofs_index *ix, const struct taken *t)
{
	uint64_t ino = t->row.ino;
	size_t i;
	int r = 0;

	for (i = 0; i < t->nentries && r == 0; i++) {
		const struct ofs_index_dirent *e = &t->entries[i];

		r = e->ino ? ofs_index_put_dirent(ix, ino, e)
			   : ofs_index_delete_dirent(ix, ino, e->name);
	}
	if (r < 0)
		return r;
	if (t->gone)
		return ofs_index_delete_inode(ix, ino);
	r = ofs_index_put_inode(ix, &t->row);
	if (r == 0 && t->cut != UINT64_MAX)
		r = ofs_index_truncate_blocks(ix, ino, t->cut);
	for (i = 0; i < t->nblocks && r == 0; i++)
		r = ofs_index_set_block(ix, ino, t->blocks[i].block, t->blocks[i].chunk);
	if (r == 0 && t->drafts_changed)
		r = ofs_index_set_drafts(ix, ino, t->drafts, t->ndrafts);
	if (r == 0 && t->xattrs_changed)
		r = ofs_index_set_xattrs(ix, ino, t->xattrs.data, t->xattrs.len);
	return r;
}

static int checkpoint_write(struct ofs_store *s, struct checkpoint *cp)
{
	size_t i;
	int r;

	r = ofs_index_begin(s->index);
	if (r < 0)
		return r;
	/* Before the inodes: deleting an inode deletes its mark. */
	for (i = 0; i < cp->marks.n && r == 0; i++)
		r = ofs_index_put_mark(s->index, cp->marks.at[i]);
	for (i = 0; i < cp->n && r == 0; i++)
		r = write_taken(s->index, &cp->list[i]);
	for (i = 0; i < cp->ntombstones && r == 0; i++) {
		const struct ofs_tombstone *t = cp->tombstones[i];

		r = ofs_index_put_tombstone(s->index, t->ino, t->removed, t->what, t->len);
	}
	for (i = 0; i < cp->nledger && r == 0; i++)
		r = ofs_index_put_ledger(s->index, cp->ledger[i]->id, &cp->ledger[i]->entry);
	/* By now every chunk that memory refers to has its reference in the index. */
	if (r == 0 && cp->meta.unused_from)
		r = ofs_index_delete_unused(s->index, cp->meta.unused_from);
	cp->meta.unused_from = 0;
	if (r == 0)
		r = ofs_index_put_meta(s->index, &cp->meta);
	return ofs_index_end(s->index, r);
}

/*
 * Brings memory up to a committed checkpoint: inodes that did not change again are clean, and those
 * that are gone leave memory.
 */
static void checkpoint_settle(struct ofs_store *s, const struct checkpoint *cp)
{
	size_t i, n = 0;

	s->committed = cp->epoch;
	ofs_age_kept(s, &cp->meta);
	for (i = 0; i < cp->ntombstones; i++)
		free(ofs_map_remove(&s->tombstones, cp->tombstones[i]->ino));
	for (i = 0; i < cp->nledger; i++)
		ofs_ledger_forget(s, cp->ledger[i]->id, cp->epoch);
	for (i = 0; i < s->dirty.n; i++) {
		struct ofs_inode *in = s->dirty.list[i];

		if (in->dir)
			ofs_dir_committed(in->dir, cp->epoch);
		if (in->content.cut_epoch <= cp->epoch)
			in->content.cut = UINT64_MAX;
		ofs_content_map_committed(&in->content, cp->epoch);
		if (in->epoch > cp->epoch) {
			s->dirty.list[n++] = in;
			continue;
		}
		in->on_dirty_list = false;
		if (in->gone && !in->on_draft_list)
			ofs_store_free_inode(s, in);
	}
	s->dirty.n = n;
	for (i = 0, n = 0; i < s->nmoves; i++)
		if (s->moves[i].epoch > cp->epoch)
			s->moves[n++] = s->moves[i];
	s->nmoves = n;
	s->dirty_since = s->dirty.n || s->ledger.count ? ofs_clock_monotonic() : 0;
	s->weight.kept = 0;
	ofs_store_evict(s);
}

/* Takes inodes that are sealed or gone off the list of drafts. */
static void forget_drafts(struct ofs_store *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->drafts.n; i++) {
		struct ofs_inode *in = s->drafts.list[i];

		in->on_draft_list = in->on_draft_list && !in->gone;
		if (in->on_draft_list)
			s->drafts.list[n++] = in;
	}
	s->drafts.n = n;
}

/* Updates what a file is charged, which the index decides. */
static int refresh_stored(void *arg, uint64_t ino)
{
	struct ofs_store *s = arg;
	struct ofs_inode *n;
	uint64_t stored;

	if (ofs_index_get_stored(s->index, ino, &stored) < 0)
		return 0;
	OFS_LOCKED(&s->lock);
	n = ofs_map_get(&s->inodes, ino);
	if (n)
		n->row.stored = stored;
	if (s->attr_changed && ofs_store_refs(s, ino))
		ofs_u64_list_add(&s->changed, ino);
	return 0;
}

void ofs_store_refresh_charges(struct ofs_store *s)
{
	ofs_index_take_recharged(s->index, refresh_stored, s);
}

void ofs_store_tell(struct ofs_store *s)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list changed = { 0 }, sealed = { 0 };

	pthread_mutex_lock(&s->lock);
	changed = ofs_steal(s->changed);
	sealed = ofs_steal(s->sealed_files);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < changed.n; i++)
		s->attr_changed(s->events_arg, changed.at[i]);
	for (size_t i = 0; i < sealed.n; i++)
		s->sealed(s->events_arg, sealed.at[i] / 2, sealed.at[i] % 2);
}

bool ofs_store_is_dirty(struct ofs_store *s)
{
	OFS_LOCKED(&s->lock);

	return s->dirty.n || s->nmoves || s->ledger.count;
}

int ofs_store_checkpoint(struct ofs_store *s, struct ofs_seal_batch *batch)
{
	OFS_CLEANUP(checkpoint_finish) struct checkpoint cp = { 0 };
	uint64_t index = 0;
	size_t i;
	int r;

	if (s->follow)
		return -EROFS;
	/* The packs' tail stays as it is in the index: only a commit of synced frames moves it. */
	r = ofs_index_get_meta(s->index, &cp.meta);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	if (batch)
		ofs_seal_install(batch);
	forget_drafts(s);
	checkpoint_take(s, &cp);
	pthread_mutex_unlock(&s->lock);

	r = ofs_journal_settle(s->journal);
	if (r == 0)
		r = checkpoint_write(s, &cp);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	checkpoint_settle(s, &cp);
	pthread_mutex_unlock(&s->lock);
	for (i = 0; i < cp.n; i++) {
		const struct taken *t = &cp.list[i];

		if (!t->gone && (t->nblocks || t->drafts_changed || t->cut != UINT64_MAX))
			refresh_stored(s, t->row.ino);
	}
	ofs_store_refresh_charges(s);
	r = ofs_store_trim(s, false);
	ofs_index_disk_usage(s->index, &index);
	pthread_mutex_lock(&s->lock);
	s->room.index = index;
	pthread_cond_broadcast(&s->room.made);
	pthread_mutex_unlock(&s->lock);
	return r;
}

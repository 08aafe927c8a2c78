/* SPDX-License-Identifier: MIT */
/*
 * Following. Records are applied one by one, as if they had been logged here. To begin again, the
 * state that index and log describe together is built beside the one in use, with no lock held, and
 * then takes its place.
 */
#include "store/follow.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "store/cycle.h"
#include "store/ledger.h"
#include "store/record.h"
#include "store/replay.h"
#include "store/replication.h"
#include "store/store_state.h"

int ofs_follow_open_index(struct ofs_store *s, struct ofs_error *err, struct ofs_index_meta *meta,
			  struct ofs_index **ret)
{
	OFS_FREE char *file = ofs_format("%s/index.db", s->path ? s->path : ".");
	struct ofs_index *ix;
	int r = ofs_index_open_fixed(file, err, &ix);

	if (r < 0)
		return r;
	r = ofs_index_get_meta(ix, meta);
	if (r < 0) {
		ofs_index_close(ix);
		return ofs_error_set(err, -r, "cannot read '%s': %s", file, strerror(-r));
	}
	*ret = ix;
	return 0;
}

/* ---- the log */

static uint64_t ino_at(struct ofs_store *s, uint64_t dir, const char *name)
{
	const struct ofs_dirent *e = NULL;
	struct ofs_inode *n;

	if (ofs_store_dir(s, dir, &n) == 0)
		e = ofs_dir_find(n->dir, name);
	return e ? e->ino : 0;
}

/* Applies a record and says which inodes it concerns; `lock` held. */
static int apply(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r,
		 const struct ofs_journal_data *data, struct ofs_followed *ret)
{
	const struct ofs_inode *n;
	uint64_t loses = 0;
	int e;

	*ret = (struct ofs_followed){ .record = r, .ino = r->ino };
	if (r->type == OFS_RECORD_RENAME)
		ret->ino = ino_at(s, r->dir, r->name);
	if (r->type == OFS_RECORD_RENAME)
		loses = ret->other = ino_at(s, r->newdir, r->text);
	else if (r->type == OFS_RECORD_UNLINK || r->type == OFS_RECORD_EXPIRE)
		loses = ret->ino = ino_at(s, r->dir, r->name);
	e = ofs_store_apply(s, lsn, r, data);
	n = ofs_map_get(&s->inodes, loses);
	if (e == 0 && n && !n->row.nlink && ofs_store_refs(s, loses))
		ret->left = loses;
	s->changes++;
	s->name_changes += r->type == OFS_RECORD_RENAME || r->type == OFS_RECORD_LINK ||
			   r->type == OFS_RECORD_SETXATTR || r->type == OFS_RECORD_REMOVEXATTR;
	return e;
}

static int follow_record(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
			 const struct ofs_journal_data *data)
{
	struct ofs_store *s = arg;
	struct ofs_followed what;
	struct ofs_record r;
	int e = ofs_record_decode(record->type, record->body, record->body_len, &r);

	if (e < 0)
		return e;
	pthread_mutex_lock(&s->lock);
	ofs_store_evict(s);
	e = apply(s, lsn, &r, data, &what);
	pthread_mutex_unlock(&s->lock);
	if (e == 0 && s->followed)
		s->followed(s->events_arg, &what);
	return e;
}

int ofs_store_follow(struct ofs_store *s, ofs_lsn to, struct ofs_error *err)
{
	const struct ofs_journal_reader reader = { .record = follow_record, .arg = s };
	struct ofs_error why = { "" };
	int r = ofs_journal_advance(s->journal, to, &reader, &why);

	if (r < 0 && why.text[0])
		ofs_error_set(err, -r, "%s", why.text);
	else if (r < 0)
		ofs_error_set(err, -r, "the record at position %llu cannot be applied: %s",
			      (unsigned long long)ofs_journal_end(s->journal), strerror(-r));
	return r;
}

int ofs_store_log_needed(struct ofs_store *s, ofs_lsn *ret)
{
	struct ofs_index_meta meta;
	int r = ofs_index_get_meta(s->index, &meta);

	if (r < 0)
		return r;
	*ret = meta.checkpoint;
	OFS_LOCKED(&s->lock);
	for (size_t i = 0; i < s->drafts.n; i++)
		*ret = OFS_MIN(*ret, ofs_content_map_oldest(&s->drafts.list[i]->content));
	return 0;
}

/* ---- beginning again */

/* The names of held inodes before a state is skipped to. */
struct held {
	struct ofs_u64_list inos; /* sorted */
	struct ofs_names names;
	struct ofs_u64_list of; /* the inode of each name */
};

static void held_finish(struct held *h)
{
	ofs_u64_list_finish(&h->inos);
	ofs_u64_list_finish(&h->of);
	ofs_names_finish(&h->names);
}

static void held_add(struct held *h, uint64_t ino, uint64_t dir, const char *name)
{
	*ofs_append(h->names.list, h->names.n, h->names.cap) =
		(struct ofs_name){ dir, name ? ofs_strdup(name) : NULL };
	ofs_u64_list_add(&h->of, ino);
}

static int note_name(void *arg, uint64_t dir, const char *name)
{
	struct held *h = arg;

	held_add(h, h->inos.at[h->inos.n - 1], dir, name);
	return 0;
}

/* Gathers the names of all held inodes, and loads these into the next state. No lock is held. */
static void gather_held(struct ofs_store *s, struct ofs_store *next, struct held *h)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list all = { 0 };
	struct ofs_inode *n;

	pthread_mutex_lock(&s->lock);
	ofs_tally_list(&s->refs, &all);
	pthread_mutex_unlock(&s->lock);
	ofs_u64_list_sort_unique(&all);
	for (size_t i = 0; i < all.n; i++) {
		ofs_u64_list_add(&h->inos, all.at[i]);
		if (ofs_store_names(s, all.at[i], note_name, h) < 0)
			held_add(h, all.at[i], 0, NULL);
		ofs_store_inode(next, all.at[i], &n);
	}
}

/* Adds the inodes that are held only since then; `lock` held. */
static void gather_late(struct ofs_store *s, const struct ofs_u64_list *all, struct held *h)
{
	size_t known = h->inos.n;

	for (size_t i = 0; i < all->n; i++) {
		OFS_CLEANUP(ofs_names_finish) struct ofs_names names = { 0 };
		uint64_t ino = all->at[i];
		struct ofs_inode *n;
		size_t at = OFS_BISECT(k, known, h->inos.at[k] < ino);

		if (at < known && h->inos.at[at] == ino)
			continue;
		if (ofs_store_inode(s, ino, &n) == 0)
			ofs_names_sole(s, n, &names);
		held_add(h, ino, names.n ? names.list[0].dir : 0,
			 names.n ? names.list[0].name : NULL);
	}
}

static void tell_newer(struct ofs_store *s, const struct held *h)
{
	for (size_t i = 0; i < h->names.n && s->followed; i++)
		s->followed(s->events_arg, &(struct ofs_followed){ .ino = h->of.at[i],
								   .dir = h->names.list[i].dir,
								   .name = h->names.list[i].name });
	if (s->followed)
		s->followed(s->events_arg, &(struct ofs_followed){ .ino = 0 });
}

static void next_destroy(struct ofs_store *next)
{
	struct ofs_tombstone *t;
	size_t pos = 0;

	if (!next)
		return;
	ofs_journal_close(next->journal);
	ofs_index_close(next->index);
	ofs_store_free_inodes(next);
	while ((t = ofs_map_next(&next->tombstones, &pos)))
		free(t);
	ofs_map_finish(&next->tombstones);
	ofs_ledger_finish(next);
	free(next->dirty.list);
	free(next->drafts.list);
	free(next->moves);
	pthread_cond_destroy(&next->sealer.wake);
	free(next);
}

#define VERSIONS_MEANWHILE (UINT64_C(1) << 32)

/* Builds the state that index.db and the log describe: a private store with the files of `s`. */
static int next_create(struct ofs_store *s, struct ofs_index_meta *meta, struct ofs_error *err,
		       struct ofs_store **ret)
{
	struct ofs_store *next = ofs_alloc(sizeof(*next));
	ofs_lsn end = ofs_journal_end(s->journal);
	int r = ofs_follow_open_index(s, err, meta, &next->index);

	ofs_cond_init(&next->sealer.wake);
	next->read_only = next->follow = next->damage.read_only = true;
	next->dirfd = s->dirfd;
	next->journal_fd = s->journal_fd;
	next->epoch = 1;
	next->age = s->age;
	/* Meanwhile `s` gives out more versions. */
	pthread_mutex_lock(&s->lock);
	next->next_version = s->next_version + VERSIONS_MEANWHILE;
	pthread_mutex_unlock(&s->lock);
	memcpy(next->uuid, s->uuid, sizeof(next->uuid));
	if (r == 0 && memcmp(meta->uuid, s->uuid, sizeof(s->uuid)) != 0)
		r = ofs_error_set(err, EINVAL, "the index in '%s' belongs to another store",
				  s->path);
	if (r == 0) {
		ofs_age_kept(next, meta);
		r = ofs_store_replay(next, s->path, meta, err);
	}
	if (r == 0 && ofs_journal_end(next->journal) < end)
		r = ofs_error_set(err, EUCLEAN,
				  "the log in '%s' ends at position %llu, but was already applied "
				  "up to %llu",
				  s->path, (unsigned long long)ofs_journal_end(next->journal),
				  (unsigned long long)end);
	if (r < 0)
		next_destroy(next);
	else
		*ret = next;
	return r;
}

/* Keeps what memory has found out about unchanged content. */
static void keep_knowledge(struct ofs_inode *n, const struct ofs_inode *was)
{
	n->version = was->version;
	n->seen = was->seen;
	if (!n->row.has_sha && was->row.has_sha) {
		n->row.has_sha = true;
		memcpy(n->row.sha, was->row.sha, sizeof(n->row.sha));
		n->row.lines = was->row.lines;
	}
	if (n->row.tokens < 0)
		n->row.tokens = was->row.tokens;
}

/*
 * Keeps what is known of contents, all of which are the same. The versions of held inodes that are
 * not in the memory of `next` are remembered until they are.
 */
static void keep_contents(struct ofs_store *s, struct ofs_store *next,
			  const struct ofs_u64_list *held)
{
	struct ofs_inode *n;
	size_t pos = 0;

	while ((n = ofs_map_next(&next->inodes, &pos))) {
		const struct ofs_inode *was = ofs_map_get(&s->inodes, n->row.ino);

		if (was)
			keep_knowledge(n, was);
	}
	for (size_t i = 0; i < held->n; i++) {
		n = ofs_map_get(&s->inodes, held->at[i]);
		if (n && !ofs_map_get(&next->inodes, held->at[i]))
			ofs_map_put(&s->versions, held->at[i], (void *)(uintptr_t)n->version);
	}
}

/* Loads all of an inode, as far as it can be read. */
static struct ofs_inode *load_whole(struct ofs_store *s, uint64_t ino)
{
	struct ofs_inode *n;

	if (ofs_store_xattrs(s, ino, &n) < 0 && ofs_store_inode(s, ino, &n) < 0)
		return NULL;
	if (S_ISREG(n->row.mode))
		ofs_store_file(s, ino, &n);
	return n;
}

/* Carries over an inode that only its holders still know. */
static void carry(struct ofs_store *s, struct ofs_store *next, uint64_t ino)
{
	struct ofs_inode *n = load_whole(s, ino);

	if (!n)
		return;
	ofs_map_remove(&s->inodes, ino);
	ofs_map_put(&next->inodes, ino, n);
	n->row.nlink = 0;
	n->row.parent = 0;
	n->epoch = 0;
	n->content.loaded = n->xattrs_loaded = true;
	n->on_dirty_list = n->on_draft_list = false;
	if (n->content.nextents)
		ofs_store_add_draft(next, n);
	if (S_ISDIR(n->row.mode)) {
		ofs_dir_destroy(n->dir);
		n->dir = ofs_dir_create();
	}
}

/* Carries over held inodes that the next state does not have, or only without a name. */
static void keep_held(struct ofs_store *s, struct ofs_store *next, const struct ofs_u64_list *held,
		      bool newer)
{
	for (size_t i = 0; i < held->n; i++) {
		const struct ofs_inode *was = ofs_map_get(&s->inodes, held->at[i]);
		struct ofs_inode *n;

		/* An inode that is not in memory has a name. */
		if (!newer && (!was || was->row.nlink))
			continue;
		if (ofs_store_inode(next, held->at[i], &n) == -ENOENT)
			carry(s, next, held->at[i]);
	}
}

#define SWAP(member)                                    \
	do {                                            \
		__typeof__(s->member) was_ = s->member; \
		s->member = next->member;               \
		next->member = was_;                    \
	} while (0)

/* Exchanges the states of the two stores; `lock` held. */
static void swap_state(struct ofs_store *s, struct ofs_store *next)
{
	struct ofs_region *region;
	size_t pos = 0;

	SWAP(inodes);
	SWAP(weight);
	SWAP(dirty);
	SWAP(drafts);
	SWAP(moves);
	SWAP(nmoves);
	SWAP(cap_moves);
	SWAP(epoch);
	SWAP(committed);
	SWAP(counts);
	SWAP(tombstones);
	SWAP(ledger);
	SWAP(dirty_since);
	s->next_version = next->next_version;
	s->next_ino = next->next_ino;
	s->next_chunk = next->next_chunk;
	s->age.kept_age = next->age.kept_age;
	s->age.kept_wall = next->age.kept_wall;
	ofs_index_swap(s->index, next->index);
	ofs_journal_swap(s->journal, next->journal);
	/* Loaded directories do not know their regions any more, which are counted anew. */
	while ((region = ofs_map_next(&s->regions, &pos))) {
		region->counted = false;
		region->disturbed = true;
	}
	s->region_moves++;
}

/* Notes files that are sealed now, since they take another amount of space. */
static void note_sealed(struct ofs_store *s, const struct ofs_store *was)
{
	for (size_t i = 0; i < was->drafts.n && s->attr_changed; i++) {
		uint64_t ino = was->drafts.list[i]->row.ino;
		const struct ofs_inode *n = ofs_map_get(&s->inodes, ino);

		if (ofs_store_refs(s, ino) && !(n && n->on_draft_list))
			ofs_u64_list_add(&s->changed, ino);
	}
}

/* Replaces the state of `s` by the next one; the former is in `next` afterwards. */
static void install(struct ofs_store *s, struct ofs_store *next, const struct ofs_index_meta *meta,
		    bool newer, struct held *h)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list held = { 0 };

	OFS_LOCKED(&s->cycle);
	pthread_rwlock_wrlock(&s->reclaim);
	pthread_mutex_lock(&s->lock);
	ofs_tally_list(&s->refs, &held);
	if (newer)
		gather_late(s, &held, h);
	keep_held(s, next, &held, newer);
	ofs_map_finish(&s->versions);
	if (!newer)
		keep_contents(s, next, &held);
	swap_state(s, next);
	if (newer) {
		s->changes++;
		s->name_changes++;
	}
	note_sealed(s, next);
	pthread_mutex_unlock(&s->lock);
	pthread_rwlock_unlock(&s->reclaim);
	ofs_packset_follow(s->packs, meta->pack, meta->pack_size);
	ofs_away_settle(s);
}

int ofs_store_reload(struct ofs_store *s, bool *ret_newer, struct ofs_error *err)
{
	OFS_CLEANUP(held_finish) struct held held = { .inos = { 0 } };
	struct ofs_index_meta meta;
	struct ofs_store *next;
	int r = next_create(s, &meta, err, &next);
	bool newer;

	if (r < 0)
		return r;
	newer = ofs_journal_end(next->journal) > ofs_journal_end(s->journal);
	if (newer)
		gather_held(s, next, &held);
	install(s, next, &meta, newer, &held);
	next_destroy(next);
	ofs_store_tell(s);
	if (newer)
		tell_newer(s, &held);
	*ret_newer = newer;
	return 0;
}

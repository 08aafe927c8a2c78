/* SPDX-License-Identifier: MIT */
#include "store/replay.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/number.h"
#include "store/record.h"
#include "store/store_state.h"

struct draft_list {
	struct ofs_index_draft *list;
	size_t n, cap;
};

static int note_draft(void *arg, const struct ofs_index_draft *d)
{
	struct draft_list *l = arg;

	*ofs_append(l->list, l->n, l->cap) = *d;
	return 0;
}

int ofs_store_load_drafts(struct ofs_store *s)
{
	struct draft_list drafts = { 0 };
	size_t i;
	int r;

	r = ofs_index_list_drafts(s->index, note_draft, &drafts);
	for (i = 0; i < drafts.n && r == 0; i++) {
		const struct ofs_index_draft *d = &drafts.list[i];
		struct ofs_extent e = {
			.off = d->off,
			.len = d->len,
			.data = { d->data_pos, d->data_len },
			.data_off = d->data_off,
		};
		struct ofs_inode *n;

		r = d->off > OFS_CONTENT_END || d->len > OFS_CONTENT_END + 1 - d->off
			    ? -EUCLEAN
			    : ofs_store_file(s, d->ino, &n);
		if (r < 0)
			break;
		ofs_content_map_cover(&n->content, &e, 0);
		n->unsealed = n->unsealed || e.off < n->row.size;
		n->resealed = n->content.nblocks;
		if (!n->on_draft_list)
			n->written_at = ofs_clock_monotonic() -
					OFS_MAX(ofs_clock_wall() - n->row.ctime, INT64_C(0));
		ofs_store_add_draft(s, n);
	}
	free(drafts.list);
	return r;
}

static int replay_record(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
			 const struct ofs_journal_data *data)
{
	struct ofs_store *s = arg;
	struct ofs_record r;
	int e;

	e = ofs_record_decode(record->type, record->body, record->body_len, &r);
	if (e == 0)
		e = ofs_store_apply(s, lsn, &r, data);
	/* The record changes something lost, whose inode number must not be given again. */
	if (s->damage.lost && e < 0 && e != -ENOMEM && e != -EIO) {
		s->damage.refused++;
		ofs_store_note_number(s, r.ino);
		return 0;
	}
	if (e < 0)
		ofs_log(LOG_ERR, "journal record %u at %llu cannot be replayed: %s", record->type,
			(unsigned long long)lsn, strerror(-e));
	return e;
}

/*
 * Reserves the inode numbers of whatever was created in lost bytes: names elsewhere may still stand
 * for them.
 */
static int replay_damage(void *arg, const struct ofs_journal_damage *found)
{
	struct ofs_store *s = arg;
	int r = ofs_damage_note(&s->damage, s->dirfd, s->journal_fd, found);

	if (found->kind >= OFS_JOURNAL_LOST)
		s->next_ino += (found->end - found->pos) / OFS_JOURNAL_RECORD_MIN + 1;
	/* The log is cut here: no later start finds the damage again. */
	if (r == 0 && found->kind > OFS_JOURNAL_LOST && !s->read_only)
		r = ofs_damage_write(&s->damage, s->dirfd);
	if (r < 0)
		ofs_log(LOG_ERR, "the damaged journal cannot be copied to quarantine/: %s",
			strerror(-r));
	return r;
}

int ofs_store_drop_orphans(struct ofs_store *s)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list orphans = { 0 };
	struct ofs_inode *n;
	size_t i;
	int r;

	r = ofs_index_list_orphans(s->index, ofs_u64_list_collect, &orphans);
	for (i = 0; r == 0 && i < orphans.n; i++)
		if (ofs_store_inode(s, orphans.at[i], &n) == 0)
			n->row.nlink = 0;
	for (i = 0; r == 0 && (n = ofs_map_next(&s->inodes, &i));)
		if (!n->row.nlink && !n->gone)
			ofs_store_drop_inode(s, n);
	return r;
}

static int make_root(struct ofs_store *s)
{
	struct ofs_inode *n;
	int r;

	r = ofs_store_inode(s, OFS_ROOT_INO, &n);
	if (r != -ENOENT)
		return r;
	n = ofs_store_add_inode(s, OFS_ROOT_INO);
	n->row.mode = S_IFDIR | 0755;
	n->row.nlink = 2;
	n->row.uid = geteuid();
	n->row.gid = getegid();
	n->row.atime = n->row.mtime = n->row.ctime = n->row.btime = ofs_clock_wall();
	ofs_store_changed(s, n, n->row.ctime);
	n->dir = ofs_dir_create();
	ofs_store_count(s, n, true);
	ofs_store_touch(s, n);
	return 0;
}

int ofs_store_replay(struct ofs_store *s, const char *path, const struct ofs_index_meta *meta,
		     struct ofs_error *err)
{
	struct ofs_error why = { "" };
	const struct ofs_journal_reader reader = { .record = replay_record,
						   .damaged = replay_damage,
						   .arg = s,
						   .read_only = s->read_only,
						   .strict = s->follow };
	int r;

	s->next_ino = meta->next_ino;
	s->next_chunk = meta->next_chunk;
	s->scrubbed = meta->scrubbed;
	s->counts = meta->counts;
	r = make_root(s);
	if (r == 0)
		r = ofs_store_load_drafts(s);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read the index of '%s': %s", path,
				     strerror(-r));
	s->replaying = true;
	r = ofs_journal_open(s->journal_fd, s->uuid, meta->checkpoint, &reader, &why, &s->journal);
	/* A follower's log never ends. */
	s->replaying = s->follow;
	if (r < 0)
		return ofs_error_set(err, -r, "the journal of '%s' cannot be replayed: %s", path,
				     why.text[0] ? why.text : strerror(-r));
	return 0;
}
